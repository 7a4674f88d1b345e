"""The events that mend what differs: newer than all that the target knows, older than what comes.

Each carries the newest sequencer that the target knows of its path, and a time behind the newest
that it knows. So it replaces the row, and also beats removals and puts that only the guard knows.
The next thing that really happens to the object has a greater sequencer, and wins.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from pyspark.sql import DataFrame

from bucketcast.envelope import Delivery
from bucketcast.event import Event
from glue_jobs import events
from glue_jobs.backfill.messages import packed
from glue_jobs.backfill.receiver import Receiver
from glue_jobs.events import Object
from glue_jobs.outbox import MESSAGES, Message
from glue_jobs.reconcile.compare import What
from glue_jobs.reconcile.look import Difference


def messages(differences: DataFrame, bucket: str, to: Receiver, since: int, most: int) -> DataFrame:
    """Rows of `MESSAGES` that mend `look.DIFFERENCES`, all but what is not drift.

    `since` is when it was compared, in Unix ms, and `most` is how many events a message may hold.
    """
    rows = drift(differences).rdd.mapPartitions(partial(_messages, bucket, to, since, most))
    return differences.sparkSession.createDataFrame(rows, MESSAGES, verifySchema=False)


def drift(differences: DataFrame) -> DataFrame:
    """What is drift of `look.DIFFERENCES`: neither what is changing nor what no rule speaks of."""
    return differences.where(differences.what.isin([str(each) for each in What]))


def _messages(
    bucket: str, to: Receiver, since: int, most: int, rows: Iterable[Sequence[object]]
) -> Iterator[Message]:
    found = (Difference(*row) for row in rows)  # type: ignore[arg-type]  # a row of DIFFERENCES
    return packed((Delivery(each.rule, mending(bucket, each)) for each in found), to, since, most)


def mending(bucket: str, one: Difference) -> Event:
    """The event after which the row says what the bucket has."""
    sequencer, after = _behind(one.known_sequencer or events.OLDEST, one.known_time)
    if one.what == What.EXTRA:
        return events.removed(bucket, one.key, sequencer=sequencer, time=after)
    found = Object(
        bucket, one.key, one.version_id, one.size, one.etag, one.modified, one.storage_class
    )
    put = events.created(found, sequencer=sequencer)
    return events.created(found, sequencer=sequencer, time=max(put.time, after))


def _behind(sequencer: str, at: str) -> tuple[str, str]:
    """The next order; a date that there is not, in a damaged row, counts as none."""
    try:
        return events.just_after((sequencer, at))
    except (ValueError, OverflowError):
        return sequencer, events.EPOCH
