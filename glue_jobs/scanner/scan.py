"""One scan of a bucket: count, compare with earlier alerts, report, alert.

The order makes a rerun safe (`state`): everything is written before the new state becomes current,
and only then sent.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from bucketcast.settings.pipeline import Scan
from glue_jobs import listing, outbox, progress, rules
from glue_jobs.listing.schema import Listing
from glue_jobs.run import Run
from glue_jobs.scanner import alert_states, alerts, folders, lease, report, rule_match, versions
from glue_jobs.scanner.state import Generation, StateStore

_BY_VERSIONS: Final = ("ManyVersions", "LargeVersions")
_BY_SIZES: Final = ("LargeVersions",)
_NO_VERSIONS: Final = (
    "The source lists no versions, so that they were not counted: ManyVersions and LargeVersions "
    "stay as they were."
)
_NO_SIZES: Final = "The source lists no sizes: LargeVersions stay as they were."


def scan(spark: SparkSession, settings: Scan, run: Run) -> None:
    """Scan a bucket: send alerts to the ingress queue, write a report and a result.

    Raises:
        BucketcastError: the source, the state table or the state cannot be used; another run
            scans this bucket, or was first; or SQS refused events, which the next scan sends
            before it begins.
    """
    run.report("reading the listing")
    found = listing.read(spark, settings.bucket, settings.source, prefix=settings.prefix)
    objects = found.objects.select("key", "size")
    if settings.source == "listing":
        # Otherwise each pass would list the bucket anew, and find it changed.
        objects.persist(StorageLevel.DISK_ONLY)
    home = f"{settings.state.rstrip('/')}/{settings.bucket}"
    store, at = StateStore(home), datetime.now(UTC)
    with lease.acquired(settings.bucket, settings.table, run.folder):
        before = store.current()
        late = _send(spark, before, run, "the last scan's events")
        with progress.reported(spark, run, "counting"):
            states = _compared(objects, found, before.alert_states(spark), settings, at)
            new = store.write(states, at)
        judged = new.alert_states(spark)
        numbers = _numbers(judged)
        notes = [*_unseen(found), *_unmatched(numbers, settings)]
        scanned = report.Scanned(settings, at, numbers, notes)
        with progress.reported(spark, run, "writing the report"):
            summary = report.write(judged, found, scanned, run.path("report"))
        run.report("writing the events down")
        new = replace(new, events=_spooled(judged, new, numbers, settings, at))
        store.commit(new, replaces=before)
        sent = _send(spark, new, run, "sending")
        store.sweep(before)
    run.ends({**summary, "events": late + sent})


def _compared(
    objects: DataFrame, found: Listing, before: DataFrame, settings: Scan, at: datetime
) -> DataFrame:
    """Compare today's findings with earlier ones, as far as this scan covers them.

    It sees folders above its prefix only in part, and without versions it counts none.
    """
    crowded = folders.findings(objects, many=settings.alert_excess_folders)
    many = None
    if found.versions:
        large = settings.alert_versions_size if found.sizes else None
        many = versions.findings(objects, many=settings.alert_excess_versions, large=large)
    inside = sql.col("key").startswith(settings.prefix)
    blind = () if found.versions and found.sizes else _BY_SIZES if found.versions else _BY_VERSIONS
    return alert_states.compared(
        alert_states.found(many, crowded).where(inside),
        before,
        at=at,
        rules=alert_states.Rules(settings.alert_worse, settings.alert_cooldown),
        covered=inside & ~sql.col("kind").isin(*blind),
        matched=_matched(settings, at),
    )


def _matched(settings: Scan, at: datetime) -> Column:
    """Return whether a rule matches a finding's event."""
    return rule_match.matched(settings.bucket, rules.of(settings.bucket, settings.table), at)


def _unseen(found: Listing) -> Iterator[str]:
    if not found.versions:
        yield _NO_VERSIONS
    elif not found.sizes:
        yield _NO_SIZES


def _unmatched(numbers: Mapping[str, Mapping[str, int]], settings: Scan) -> Iterator[str]:
    unmatched = {kind: states.get(alert_states.UNMATCHED, 0) for kind, states in numbers.items()}
    if number := sum(unmatched.values()):
        names = ", ".join(f"s3:Scanner:{kind}" for kind, n in sorted(unmatched.items()) if n)
        yield (
            f"no rule of {settings.bucket} takes {number:,} of the findings ({names}), so nobody "
            "was alerted; the first scan after there is one alerts them: "
            f"bucketcast event add {settings.bucket} ARN --event scanner"
        )


def _numbers(judged: DataFrame) -> Mapping[str, Mapping[str, int]]:
    """Count the findings by kind and state."""
    numbers: dict[str, dict[str, int]] = defaultdict(dict)
    for row in judged.where("state is not null").groupBy("kind", "state").count().collect():
        numbers[row.kind][row.state] = row["count"]
    return numbers


def _spooled(
    judged: DataFrame,
    new: Generation,
    numbers: Mapping[str, Mapping[str, int]],
    settings: Scan,
    at: datetime,
) -> int:
    """Spool the alerts; return how many events they are."""
    number = sum(
        states.get(state, 0) for states in numbers.values() for state in alert_states.ALERTED
    )
    if not number:
        return 0
    due = judged.where(sql.col("state").isin(*alert_states.ALERTED))
    return outbox.spool(
        alerts.messages(due, number, bucket=settings.bucket, at=at, queue=settings.ingress),
        new.outbox,
    )


def _send(spark: SparkSession, generation: Generation, run: Run, stage: str) -> int:
    """Send the rest of a generation's events; return how many were sent now."""
    if not generation.events:
        return 0
    report_progress: Any = partial(run.report, stage, unit="events")
    return outbox.send(spark, generation.outbox, on_progress=report_progress)
