"""Compare a mirror with its bucket, and repair it if requested."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from bucketcast.delivery.queue import SQS_ERRORS, Queue
from bucketcast.mirror.synthetic import time_of
from bucketcast.settings.pipeline import Reconcile
from glue_jobs import listing
from glue_jobs.aws import client
from glue_jobs.backfill.destination import Destination, find_destination, origin_notes
from glue_jobs.backfill.messages import events_per_message
from glue_jobs.columns import save
from glue_jobs.listing.schema import Listing, current_objects, unix_ms
from glue_jobs.outbox import chunks, sender
from glue_jobs.reconcile import mirror, repair
from glue_jobs.reconcile.compare import Drift, suspects
from glue_jobs.reconcile.recheck import (
    CHANGING,
    UNCOVERED,
    Context,
    Difference,
    read_states,
    recheck,
)
from glue_jobs.run import Run

SAMPLE: Final = 1_000
"""The most differences in the result; all of them are in the report."""


def reconcile(spark: SparkSession, settings: Reconcile, run: Run) -> None:
    """Compare, recheck and report; with `repair` send corrective events.

    The result has the count of each kind of difference, `drift` (true or false), the number of
    events `sent`, and the first differences. All are in the run's folder `differences`, as rows of
    `recheck.DIFFERENCES`.

    Raises:
        BucketcastError: the target, its rules, the bucket's content or S3 cannot be read; or the
            queue does not answer.
    """
    began = datetime.now(UTC).replace(microsecond=0)  # as exact as LastModified
    config = mirror.parse(settings.target, settings.mirror)
    to = find_destination(settings)
    context = Context(config, settings.bucket, to.rules, unix_ms(began))
    run.report(f"listing {settings.bucket}")
    content = listing.read(spark, settings.bucket, settings.source, prefix=settings.prefix)
    run.report(f"reading {config.arn}")
    stored = mirror.read_rows(spark, config, settings.bucket, settings.prefix)
    rows = save(stored, run.temporary("rows"))
    with run.report_tasks(spark, "comparing"):
        differing = suspects(current_objects(content.objects), rows, content.prefix)
        keys = save(differing, run.temporary("suspects"))
    waiting = _count_waiting(to.queue)
    run.report(f"checking {keys.count()} objects again")
    states = save(read_states(keys, context), run.temporary("states"))
    differences = save(recheck(states, context), run.path("differences"))
    sent = _repair(differences, to, settings, run, context.began) if settings.repair else 0
    result = _result(differences, waiting)
    run.set_result(
        {
            "bucket": settings.bucket,
            "target": config.arn,
            "mode": "repair" if settings.repair else "check",
            "source": content.name,
            "rows": rows.count(),
            **result,
            "sent": sent,
            "report": run.path("differences"),
            "differences": _sample(repair.repairable(differences), settings.bucket),
            "notes": [
                *content.notes,
                *content.filter_notes,
                *origin_notes(to.rules),
                *_notes(result, content, began),
            ],
        }
    )


def _result(differences: DataFrame, waiting: int | None) -> dict[str, Any]:
    """Return the count of each kind, `drift` if any is repairable, and the waiting messages."""
    rows = differences.groupBy("what").count().collect()
    counts = {str(kind): int(count) for kind, count in rows}
    kinds = (*map(str, Drift), CHANGING, UNCOVERED)
    result: dict[str, Any] = {kind: counts.get(kind, 0) for kind in kinds}
    return {**result, "drift": any(result[kind] for kind in map(str, Drift)), "waiting": waiting}


def _repair(
    differences: DataFrame, to: Destination, settings: Reconcile, run: Run, began: int
) -> int:
    """Send the events that repair the differences; return the number that SQS accepted now."""
    folder = run.path("outbox")
    run.report("spooling the events")
    max_events = events_per_message(settings.rate)
    pack = partial(repair.pack_repairs, settings.bucket, to, began, max_events)
    total = chunks.spool(repair.repairable(differences), pack, folder)
    spark = differences.sparkSession
    report: Any = partial(run.report, "sending", unit="events")
    return sender.send(spark, folder, to.queue, total, rate=settings.rate, on_progress=report)


def _count_waiting(queue: str) -> int | None:
    """Return the number of messages in the target's queue; None if it cannot be read."""
    try:
        return Queue(queue, client("sqs")).depth.all
    except SQS_ERRORS:
        return None


def _notes(result: Mapping[str, Any], content: Listing, began: datetime) -> Iterator[str]:
    """Yield notes that qualify the counts."""
    if result["waiting"] is None:
        yield "the target's queue could not be read: events in it may explain differences"
    elif result["waiting"]:
        yield (
            f"{result['waiting']} messages wait in the target's queue and may explain differences: "
            "run it again when the queue is empty"
        )
    if result[CHANGING]:
        yield f"{result[CHANGING]} changed while this ran: their events may be in flight"
    if result[UNCOVERED]:
        yield f"{result[UNCOVERED]} differ and no rule matches them: no event will ever repair them"
    if content.taken < began:
        yield (
            f"the bucket's content is of {content.taken:%Y-%m-%d %H:%M} UTC: later changes of "
            "objects that agreed then were not compared"
        )


def _sample(differences: DataFrame, bucket: str) -> list[dict[str, Any]]:
    rows = differences.orderBy("key").limit(SAMPLE).collect()
    return [_document(Difference(*row), bucket) for row in rows]


def _document(difference: Difference, bucket: str) -> dict[str, Any]:
    """Return a difference for the result: the bucket's object, and the row."""
    current = row = None
    if difference.size is not None:
        time = time_of(difference.modified)
        current = {"etag": difference.etag, "size": difference.size, "time": time}
    if difference.row_time is not None:
        time = difference.row_time
        row = {"etag": difference.row_etag, "size": difference.row_size, "time": time}
    return {
        "path": f"{bucket}/{difference.key}",
        "what": difference.what,
        "object": current,
        "row": row,
    }
