"""Corrective events: newer than the target's merged state, older than future events.

Each carries the newest sequencer in the path's merged state, and a time just after the newest one.
So it replaces the row, and also wins over removals and puts that only the guard has. The next real
event of the object has a greater sequencer, and wins.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from pyspark.sql import DataFrame

from bucketcast.delivery.envelope import Delivery
from bucketcast.event import Event
from glue_jobs import events
from glue_jobs.backfill.destination import Destination
from glue_jobs.backfill.messages import packed
from glue_jobs.events import Object
from glue_jobs.outbox import MESSAGES, Message
from glue_jobs.reconcile.compare import What
from glue_jobs.reconcile.recheck import Difference


def messages(
    differences: DataFrame, bucket: str, to: Destination, since: int, most: int
) -> DataFrame:
    """Return rows of `MESSAGES` that repair the drift in `recheck.DIFFERENCES`.

    `since` is the comparison's time in Unix ms, and `most` is how many events a message may hold.
    """
    rows = drift(differences).rdd.mapPartitions(partial(_messages, bucket, to, since, most))
    return differences.sparkSession.createDataFrame(rows, MESSAGES, verifySchema=False)


def drift(differences: DataFrame) -> DataFrame:
    """Return the drift: neither what is changing nor what no rule covers."""
    return differences.where(differences.what.isin([str(each) for each in What]))


def _messages(
    bucket: str, to: Destination, since: int, most: int, rows: Iterable[Sequence[object]]
) -> Iterator[Message]:
    found = (Difference(*row) for row in rows)  # type: ignore[arg-type]  # a row of DIFFERENCES
    return packed(
        (Delivery(each.rule, corrective(bucket, each)) for each in found), to, since, most
    )


def corrective(bucket: str, one: Difference) -> Event:
    """Return the event after which the row agrees with the bucket."""
    sequencer, after = _behind(one.known_sequencer or events.OLDEST, one.known_time)
    if one.what == What.EXTRA:
        return events.removed(bucket, one.key, sequencer=sequencer, time=after)
    found = Object(
        bucket, one.key, one.version_id, one.size, one.etag, one.modified, one.storage_class
    )
    put = events.created(found, sequencer=sequencer)
    return events.created(found, sequencer=sequencer, time=max(put.time, after))


def _behind(sequencer: str, at: str) -> tuple[str, str]:
    """Return the next order key; an invalid date, in a damaged row, counts as none."""
    try:
        return events.just_after((sequencer, at))
    except (ValueError, OverflowError):
        return sequencer, events.EPOCH
