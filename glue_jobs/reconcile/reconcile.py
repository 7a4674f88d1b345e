"""Compare a mirror with its bucket, and repair it if requested."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from pyspark.sql import DataFrame, SparkSession

from bucketcast.settings.pipeline import Reconcile
from glue_jobs import events, listing, outbox, progress
from glue_jobs.aws import client
from glue_jobs.backfill.destination import Destination, destination, unknown
from glue_jobs.backfill.messages import at_once
from glue_jobs.listing.schema import Listing
from glue_jobs.reconcile import compare, mirror, recheck, repair
from glue_jobs.reconcile.compare import What
from glue_jobs.reconcile.recheck import CHANGING, UNCOVERED, Difference
from glue_jobs.run import Run

SAMPLE: Final = 1_000
"""How many differences the result has; all of them are in the report."""
_WAITING: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


def reconcile(spark: SparkSession, settings: Reconcile, run: Run) -> None:
    """Compare, recheck and report; with `mode = repair` send corrective events.

    The result has the count of each kind of difference, whether that is `drift`, how many events
    were `sent`, and the first differences. All are in the run's folder `differences`, as rows of
    `recheck.DIFFERENCES`.

    Raises:
        BucketcastError: the target, its rules, the bucket's content or S3 cannot be read.
    """
    began = datetime.now(UTC).replace(microsecond=0)  # as exact as LastModified
    config = mirror.find(settings.target, settings.targets)
    to = destination(settings)
    context = recheck.Context(config, settings.bucket, to.rules, events.unix_ms(began))
    run.report(f"listing {settings.bucket}")
    content = listing.read(spark, settings.bucket, settings.source, prefix=settings.prefix)
    run.report(f"reading {config.arn}")
    stored = mirror.rows(spark, config, settings.bucket, settings.prefix)
    rows = _saved(stored, run.path("rows"))
    differ = compare.suspects(events.objects(content.objects), rows)
    with progress.reported(spark, run, "comparing"):
        suspects = _saved(differ, run.path("suspects"))
    waiting = _waiting(to.queue)
    run.report(f"looking again at {suspects.count()} objects")
    found = _saved(recheck.again(suspects, context), run.path("differences"))
    repairs = settings.mode == "repair"
    sent = _repair(found, to, settings, run, context.began) if repairs else 0
    result = _result(found, waiting)
    run.ends(
        {
            "bucket": settings.bucket,
            "target": config.arn,
            "mode": settings.mode,
            "source": content.name,
            "rows": rows.count(),
            **result,
            "sent": sent,
            "report": run.path("differences"),
            "differences": _sample(repair.drift(found), settings.bucket),
            "notes": [*unknown(to.rules), *_notes(result, content, began)],
        }
    )


def _saved(frame: DataFrame, url: str) -> DataFrame:
    """Save the rows, so that Spark reads neither the target nor S3 again for them."""
    frame.write.mode("overwrite").parquet(url)
    return frame.sparkSession.read.schema(frame.schema).parquet(url)


def _result(found: DataFrame, waiting: int | None) -> dict[str, Any]:
    """Return the count of each kind, whether there is drift, and how many messages wait."""
    counts = {str(what): int(many) for what, many in found.groupBy("what").count().collect()}
    kinds = (*map(str, What), CHANGING, UNCOVERED)
    result: dict[str, Any] = {kind: counts.get(kind, 0) for kind in kinds}
    return {**result, "drift": any(result[what] for what in map(str, What)), "waiting": waiting}


def _repair(found: DataFrame, to: Destination, settings: Reconcile, run: Run, began: int) -> int:
    """Send the events that repair the differences; return how many SQS accepted now."""
    folder = run.path("outbox")
    run.report("writing events")
    most = at_once(settings.rate)
    outbox.spool(repair.messages(found, settings.bucket, to, began, most), folder)
    return outbox.send(found.sparkSession, folder, rate=settings.rate, on_progress=run.sent)


def _waiting(queue: str) -> int | None:
    """Return how many messages the target's queue has; None if it cannot be read."""
    try:
        found = client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=list(_WAITING))
    except (BotoCoreError, ClientError):
        return None
    return sum(map(int, found["Attributes"].values()))


def _notes(result: Mapping[str, Any], content: Listing, began: datetime) -> Iterator[str]:
    """Yield notes that qualify the counts."""
    if result["waiting"] is None:
        yield "the target's queue could not be looked at: events in it may explain differences"
    elif result["waiting"]:
        yield (
            f"{result['waiting']} messages wait in the target's queue and may explain differences: "
            "look again when it is empty"
        )
    if result[CHANGING]:
        yield f"{result[CHANGING]} changed while this ran: their events may be in flight"
    if result[UNCOVERED]:
        yield f"{result[UNCOVERED]} differ that no rule matches: no event will ever repair them"
    if content.taken < began:
        yield (
            f"the bucket's content is of {content.taken:%Y-%m-%d %H:%M} UTC: of what agreed then "
            "nothing later is known"
        )


def _sample(found: DataFrame, bucket: str) -> list[dict[str, Any]]:
    rows = found.orderBy("key").limit(SAMPLE).collect()
    return [_shown(Difference(*row), bucket) for row in rows]


def _shown(one: Difference, bucket: str) -> dict[str, Any]:
    """Return a difference for display: the bucket's object, and the row."""
    theirs = None if one.size is None else (one.etag, one.size, _iso(one.modified))
    ours = None if one.row_time is None else (one.row_etag, one.row_size, one.row_time)
    names = ("etag", "size", "time")
    return {
        "path": f"{bucket}/{one.key}",
        "what": one.what,
        "object": theirs and dict(zip(names, theirs, strict=True)),
        "row": ours and dict(zip(names, ours, strict=True)),
    }


def _iso(modified: int | None) -> str:
    at = datetime.fromtimestamp((modified or 0) / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
