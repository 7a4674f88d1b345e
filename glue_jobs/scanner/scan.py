"""One scan of a bucket: count, compare with what was told, explain, tell.

The order is what makes a rerun safe (`memory`): all is written down before the new state counts,
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

from bucketcast.jobs import Scan
from glue_jobs import listing, outbox, progress, rules
from glue_jobs.listing.schema import Listing
from glue_jobs.run import Run
from glue_jobs.scanner import alerts, edges, folders, lease, matched, report, versions
from glue_jobs.scanner.memory import Generation, Memory

_BY_VERSIONS: Final = ("ManyVersions", "LargeVersions")
_BY_SIZES: Final = ("LargeVersions",)
_NO_VERSIONS: Final = (
    "The source lists no versions, so that they were not counted: ManyVersions and LargeVersions "
    "stay as they were."
)
_NO_SIZES: Final = (
    "The source lists no sizes: LargeVersions stay as they were, and what a finding costs is not "
    "known."
)


def scan(spark: SparkSession, given: Scan, run: Run) -> None:
    """Scan a bucket: events to the ingress queue, a report and a result to the run's folder.

    Raises:
        BadListingError: the source cannot be used; nothing was sent or changed.
        BusyError: another run scans this bucket.
        ForgottenError: the state cannot be used, or another scan was first.
        OutboxError: SQS refused events; the next scan sends them before it begins.
    """
    run.says("reading the listing")
    found = listing.read(spark, given.bucket, given.source, prefix=given.prefix)
    if given.source == "listing":
        # Each look would list the bucket anew, and find it changed.
        found.objects.persist(StorageLevel.DISK_ONLY)
    home = f"{given.state.rstrip('/')}/{given.bucket}"
    memory, at = Memory(home), datetime.now(UTC)
    with lease.held(f"{home}/lease.json", run.folder):
        before = memory.current()
        late = _send(spark, before, run, "the last scan's events")
        with progress.told(spark, run, "counting"):
            new = memory.begun(_compared(found, before.edges(spark), given, at), at)
        judged = new.edges(spark)
        numbers = _numbers(judged)
        notes = [*_unseen(found), *_unmatched(numbers, given)]
        scanned = report.Scanned(given, at, numbers, notes)
        with progress.told(spark, run, "explaining"):
            told = report.write(judged, found, scanned, run.path("report"))
        run.says("writing the events down")
        new = replace(new, events=_spooled(judged, new, numbers, given, at))
        memory.counts(new, instead_of=before)
        sent = _send(spark, new, run, "sending")
        memory.sweep(before)
    run.ends({**told, "events": late + sent})


def _compared(found: Listing, before: DataFrame, given: Scan, at: datetime) -> DataFrame:
    """Today's findings beside yesterday's, as far as this scan could see.

    What is above the prefix it sees only a part of, and without versions it does not count them.
    """
    objects = found.objects
    crowded = folders.findings(objects, many=given.alert_excess_folders)
    many = None
    if found.versions:
        large = given.alert_versions_size if found.sizes else None
        many = versions.findings(objects, many=given.alert_excess_versions, large=large)
    inside = sql.col("key").startswith(given.prefix)
    blind = () if found.versions and found.sizes else _BY_SIZES if found.versions else _BY_VERSIONS
    return edges.compared(
        edges.found(many, crowded).where(inside),
        before,
        at=at,
        rules=edges.Rules(given.alert_worse, given.alert_cooldown),
        looked=inside & ~sql.col("kind").isin(*blind),
        taken=_taken(given, at),
    )


def _taken(given: Scan, at: datetime) -> Column | None:
    """Whether a rule takes a finding's event; None where nobody says where the rules are."""
    return (
        matched.taken(given.bucket, rules.of(given.bucket, given.rules), at)
        if given.rules
        else None
    )


def _unseen(found: Listing) -> Iterator[str]:
    if not found.versions:
        yield _NO_VERSIONS
    elif not found.sizes:
        yield _NO_SIZES


def _unmatched(numbers: Mapping[str, Mapping[str, int]], given: Scan) -> Iterator[str]:
    nobodys = {kind: states.get(edges.UNMATCHED, 0) for kind, states in numbers.items()}
    if number := sum(nobodys.values()):
        names = ", ".join(f"s3:Scanner:{kind}" for kind, found in sorted(nobodys.items()) if found)
        yield (
            f"no rule of {given.bucket} takes {number:,} of the findings ({names}), so they were "
            "sent to nobody; the first scan after there is one tells them: "
            f"bucketcast event add {given.bucket} ARN --event scanner"
        )


def _numbers(judged: DataFrame) -> Mapping[str, Mapping[str, int]]:
    """How many findings there are, by kind and state."""
    numbers: dict[str, dict[str, int]] = defaultdict(dict)
    for row in judged.where("state is not null").groupBy("kind", "state").count().collect():
        numbers[row.kind][row.state] = row["count"]
    return numbers


def _spooled(
    judged: DataFrame,
    new: Generation,
    numbers: Mapping[str, Mapping[str, int]],
    given: Scan,
    at: datetime,
) -> int:
    """Write the alerts down as messages; how many events they hold."""
    told = sum(states.get(state, 0) for states in numbers.values() for state in edges.TOLD)
    if not told:
        return 0
    tells = judged.where(sql.col("state").isin(*edges.TOLD))
    return outbox.spool(
        alerts.messages(tells, told, bucket=given.bucket, at=at, queue=given.ingress), new.outbox
    )


def _send(spark: SparkSession, generation: Generation, run: Run, stage: str) -> int:
    """Send what is left of a generation's events; how many went now."""
    if not generation.events:
        return 0
    says: Any = partial(run.says, stage, unit="events")
    return outbox.send(spark, generation.outbox, says=says)
