"""A mirror compared with its bucket, and mended where that is asked for."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from pyspark.sql import DataFrame, SparkSession

from bucketcast.jobs import Reconcile
from glue_jobs import events, listing, outbox, progress
from glue_jobs.aws import client
from glue_jobs.backfill.messages import at_once
from glue_jobs.backfill.receiver import Receiver, receiver, unknown
from glue_jobs.listing.schema import Listing
from glue_jobs.reconcile import compare, look, mirror, repair
from glue_jobs.reconcile.compare import What
from glue_jobs.reconcile.look import CHANGING, UNCOVERED, Difference
from glue_jobs.run import Run

SAMPLE: Final = 1_000
"""So many differences stand in the result; all of them are in the report."""
_WAITING: Final = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


def reconcile(spark: SparkSession, given: Reconcile, run: Run) -> None:
    """Compare, look again, report; with `mode = repair` send the events that mend.

    The run ends with the count of each kind of difference, whether that is `drift`, how many
    events were `sent`, and the first of what is drift. All is in the run's folder `differences`,
    rows of `look.DIFFERENCES`.

    Raises:
        BucketcastError: the target, its rules, the bucket's content or S3 cannot be read.
    """
    began = datetime.now(UTC).replace(microsecond=0)  # as exact as LastModified
    place = mirror.find(given.target, given.targets)
    to = receiver(given)
    looker = look.Looker(place, given.bucket, to.rules, _unix_ms(began))
    run.says(f"listing {given.bucket}")
    content = listing.read(spark, given.bucket, given.source, prefix=given.prefix)
    run.says(f"reading {place.arn}")
    held = mirror.rows(spark, place, given.bucket, given.prefix)
    rows = _kept(held, run.path("rows"))
    differ = compare.suspects(events.objects(content.objects), rows)
    with progress.told(spark, run, "comparing"):
        suspects = _kept(differ, run.path("suspects"))
    waiting = _waiting(to.queue)
    run.says(f"looking again at {suspects.count()} objects")
    found = _kept(look.again(suspects, looker), run.path("differences"))
    mends = given.mode == "repair"
    sent = _mend(found, to, given, run, looker.began) if mends else 0
    told = _told(found, waiting)
    run.ends(
        {
            "bucket": given.bucket,
            "target": place.arn,
            "mode": given.mode,
            "source": content.name,
            "rows": rows.count(),
            **told,
            "sent": sent,
            "report": run.path("differences"),
            "differences": _sample(repair.drift(found), given.bucket),
            "notes": [*unknown(to.rules), *_notes(told, content, began)],
        }
    )


def _kept(frame: DataFrame, url: str) -> DataFrame:
    """The rows, written down: neither target nor S3 is asked again, whatever Spark does again."""
    frame.write.mode("overwrite").parquet(url)
    return frame.sparkSession.read.schema(frame.schema).parquet(url)


def _told(found: DataFrame, waiting: int | None) -> dict[str, Any]:
    """How much of each there is; whether that is drift; and how many messages still wait."""
    counts = {str(what): int(many) for what, many in found.groupBy("what").count().collect()}
    kinds = (*map(str, What), CHANGING, UNCOVERED)
    told: dict[str, Any] = {kind: counts.get(kind, 0) for kind in kinds}
    return {**told, "drift": any(told[what] for what in map(str, What)), "waiting": waiting}


def _mend(found: DataFrame, to: Receiver, given: Reconcile, run: Run, began: int) -> int:
    """Send the events that mend the differences; how many SQS took now."""
    folder = run.path("outbox")
    run.says("writing events")
    most = at_once(given.rate)
    outbox.spool(repair.messages(found, given.bucket, to, began, most), folder)
    return outbox.send(found.sparkSession, folder, rate=given.rate, says=run.sends)


def _unix_ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _waiting(queue: str) -> int | None:
    """How many messages the target's queue has; None where that cannot be seen."""
    try:
        found = client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=list(_WAITING))
    except (BotoCoreError, ClientError):
        return None
    return sum(map(int, found["Attributes"].values()))


def _notes(told: Mapping[str, Any], content: Listing, began: datetime) -> Iterator[str]:
    """What else whoever reads the counts should know."""
    if told["waiting"] is None:
        yield "the target's queue could not be looked at: events in it may explain differences"
    elif told["waiting"]:
        yield (
            f"{told['waiting']} messages wait in the target's queue, and may explain differences: "
            "look again when it is empty"
        )
    if told[CHANGING]:
        yield f"{told[CHANGING]} changed while this ran: their events may be under way"
    if told[UNCOVERED]:
        yield f"{told[UNCOVERED]} differ that no rule speaks of: no event will ever mend them"
    if content.taken < began:
        yield (
            f"the bucket's content is of {content.taken:%Y-%m-%d %H:%M} UTC: of what agreed then "
            "nothing later is known"
        )


def _sample(found: DataFrame, bucket: str) -> list[dict[str, Any]]:
    rows = found.orderBy("key").limit(SAMPLE).collect()
    return [_shown(Difference(*row), bucket) for row in rows]


def _shown(one: Difference, bucket: str) -> dict[str, Any]:
    """A difference for people: what the bucket has, and what the row says."""
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
