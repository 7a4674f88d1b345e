"""Corrective events: newer than the target's merged state, older than future events.

Each carries the newest sequencer in the path's merged state, and a time just after the newest one.
So it replaces the row, and also wins over removals and puts that only the guard has. The next real
event of the object has a greater sequencer, and wins.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from pyspark.sql import DataFrame

from bucketcast.delivery.envelope import Delivery
from bucketcast.event import Event
from bucketcast.mirror.synthetic import EPOCH, OLDEST, Object, created, just_after, removed
from glue_jobs.backfill.destination import Destination
from glue_jobs.backfill.messages import pack_deliveries
from glue_jobs.outbox.chunks import Message
from glue_jobs.reconcile.compare import Drift
from glue_jobs.reconcile.recheck import Difference


def repairable(differences: DataFrame) -> DataFrame:
    """Return the differences that are drift: neither `changing` nor `uncovered`."""
    return differences.where(differences.what.isin([str(kind) for kind in Drift]))


def pack_repairs(
    bucket: str, to: Destination, since: int, max_events: int, rows: Iterable[Any]
) -> Iterator[Message]:
    """Yield messages that repair the drift in rows of `recheck.DIFFERENCES`.

    `since` is the comparison's time in Unix ms, and `max_events` is a message's limit.
    """
    differences = (Difference(*row) for row in rows)
    deliveries = (Delivery(row.rule, corrective_event(bucket, row)) for row in differences)
    return pack_deliveries(deliveries, to, since, max_events)


def corrective_event(bucket: str, difference: Difference) -> Event:
    """Return the event after which the row agrees with the bucket."""
    sequencer, time = _next_order(difference.known_sequencer or OLDEST, difference.known_time)
    if difference.what == Drift.EXTRA:
        return removed(Object(bucket, difference.key), sequencer=sequencer, time=time)
    current = Object(
        bucket,
        difference.key,
        difference.version_id,
        difference.size,
        difference.etag,
        difference.modified,
        difference.storage_class,
    )
    put = created(current, sequencer=sequencer)
    return created(current, sequencer=sequencer, time=max(put.time, time))


def _next_order(sequencer: str, at: str) -> tuple[str, str]:
    """Return the next order key; an invalid date, in a damaged row, counts as none."""
    try:
        return just_after((sequencer, at))
    except (ValueError, OverflowError):
        return sequencer, EPOCH
