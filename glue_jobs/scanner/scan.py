"""One scan of a bucket: count, compare with earlier alerts, report, alert.

The order makes a rerun safe (`state`): everything is written before the new state becomes current,
and only then sent.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import product
from typing import Any, Final, NamedTuple

from msgspec.structs import replace
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as sql

from bucketcast.event.scanner import KINDS
from bucketcast.settings.pipeline import Scan
from glue_jobs import files, lease, listing
from glue_jobs.aws import read_rules
from glue_jobs.columns import save
from glue_jobs.listing.schema import Listing, unix_ms
from glue_jobs.outbox import checkpoints, chunks, sender
from glue_jobs.run import Run
from glue_jobs.scanner import (
    alert_states,
    counting,
    coverage,
    report,
    sums,
    uploads,
    usage,
)
from glue_jobs.scanner.alerts import Alerts
from glue_jobs.scanner.coverage import Coverage
from glue_jobs.scanner.report.page import Page
from glue_jobs.scanner.state import Generation, StateStore

_NO_CLASSES: Final = {
    "size": "The source lists no sizes, so bytes and classes of sizes are not known.",
    "storage_class": "The source lists no storage classes, so what is in each is not known.",
    "last_modified": "The source lists no times, so classes of ages are not known.",
}
_EVENTS: Final = "events"


class _Sent(NamedTuple):
    """What was sent now, notes about the rest, and the ARNs that rules named then."""

    events: int = 0
    notes: Sequence[str] = ()
    named: Collection[str] = ()


def scan(spark: SparkSession, settings: Scan, run: Run) -> None:
    """Scan a bucket: send alerts to the ingress queue, write a report and a result.

    Raises:
        BucketcastError: the source, the state table or the state cannot be used; another run scans
            this bucket, or was first; SQS refused events, which the next scan sends before it
            begins.
    """
    run.report("reading the listing")
    content = listing.read(spark, settings.bucket, settings.source, prefix=settings.prefix)
    store = StateStore(f"{settings.state.rstrip('/')}/{settings.bucket}")
    if settings.dry_run:
        own = StateStore(run.temporary("state"))
        *_, summary = _compare(content, store.current(), _Sent(), own, settings, run)
        run.set_result({**summary, "events": 0})
        return
    with lease.hold(settings.bucket, settings.table, run.folder, f"scans {settings.bucket}"):
        before = store.current()
        late = _send(spark, before, settings, run, "the last scan's events")
        new, alerts, summary = _compare(content, before, late, store, settings, run)
        if new.events:
            run.report("spooling the events")
            due = new.alert_states(spark).where(sql.size("to") > 0)
            spooled = chunks.spool(due, lambda rows: alerts().pack(rows), new.outbox)
            new = replace(new, events=spooled)
        store.commit(new, etag=before.etag)
        sent = _send(spark, new, settings, run, "sending")
        with suppress(files.FileError):  # the next scan removes what is left
            store.sweep(before, new)
    notes = [*summary["notes"], *sent.notes]
    run.set_result({**summary, "events": late.events + sent.events, "notes": notes})


def _compare(
    content: Listing,
    before: Generation,
    late: _Sent,
    store: StateStore,
    settings: Scan,
    run: Run,
) -> tuple[Generation, Callable[[], Alerts], dict[str, Any]]:
    """Write the report and the next generation, which is not current yet.

    Return that, with the number of its alerts, what makes their messages, and the result so far.
    """
    spark, at = content.objects.sparkSession, datetime.now(UTC)
    content, filters = coverage.check_filter(content, before.filters, unix_ms(at))
    now = coverage.cover(content, settings)
    later = tuple(each for each in before.coverage if each.taken > now.taken)
    objects = content.objects.select(*sums.COLUMNS)
    if settings.source == "listing":
        with run.report_tasks(spark, "listing"):
            objects = save(objects, run.temporary("listing"))
    with run.report_tasks(spark, "counting"):
        findings, used, upload_notes = _count(objects, content, now, settings)
        comparison = alert_states.Comparison(
            unix_ms(at), settings.alert_worse, settings.alert_cooldown, now, late.named, later
        )
        alerts = partial(Alerts, settings.bucket, read_rules(settings.bucket, settings.table), at)
        states = alert_states.compare(findings, before.alert_states(spark), comparison, alerts)
        counts = Observation()
        new = store.write(states.observe(counts, *_counts()), at)
    notes = [*late.notes, *content.notes, *_source_notes(content, now, later), *upload_notes]
    with run.report_tasks(spark, "writing the report"):
        numbers, events = _read_numbers(counts)
        page = Page(settings, content, now.prefix, at, numbers, used, notes)
        summary = report.write(new.alert_states(spark), page, run.path("report"))
    seen = coverage.add(before.coverage, now)
    return replace(new, events=events, coverage=seen, filters=filters), alerts, summary


def _count(
    objects: DataFrame, content: Listing, now: Coverage, settings: Scan
) -> tuple[DataFrame, list[usage.Usage], list[str]]:
    """Return the findings, what the bucket holds, and notes about that."""
    limits = {KINDS[kind].limits: each for kind, each in now.thresholds.items()}
    thresholds = sums.Thresholds(**limits)
    summed = sums.sum_up(objects, content.taken, thresholds)
    findings = counting.find(objects, summed, thresholds)
    incomplete, notes = uploads.count(settings.bucket, now.prefix or settings.prefix)
    return findings, [*usage.rows(summed, content), *incomplete], notes


def _source_notes(content: Listing, now: Coverage, later: Sequence[Coverage]) -> Iterator[str]:
    if missing := [name for name in KINDS if name not in now.thresholds]:
        column = "sizes" if content.versions else "versions"
        yield f"The source lists no {column}: {' and '.join(missing)} stay as they were."
    for column in sorted(content.lacking & _NO_CLASSES.keys()):
        yield _NO_CLASSES[column]
    if any(each.includes(now) for each in later):
        yield (
            f"{content.name} is older than the source of an earlier scan: alerts stay as they were."
        )


def _counts() -> Iterator[Column]:
    """Yield what is counted of `ALERT_STATES` as they are written, for `_read_numbers`."""
    yield sql.sum(sql.size("to")).alias(_EVENTS)
    for kind, state in product(KINDS, alert_states.STATES):
        found = (sql.col("kind") == kind) & (sql.col("state") == state)
        yield sql.count_if(found).alias(f"{kind} {state}")


def _read_numbers(counts: Observation) -> tuple[dict[str, dict[str, int]], int]:
    """Return the numbers of findings by kind and state, and of the events to send."""
    numbers: dict[str, dict[str, int]] = defaultdict(dict)
    for name, number in counts.get.items():
        kind, _, state = name.partition(" ")
        if state and number:
            numbers[kind][state] = number
    return numbers, counts.get[_EVENTS] or 0


def _send(
    spark: SparkSession, generation: Generation, settings: Scan, run: Run, stage: str
) -> _Sent:
    """Send the rest of a generation's events.

    What is for a destination that no rule names any more is not sent.
    """
    named = {rule.arn for rule in read_rules(settings.bucket, settings.table)}
    if not generation.events:
        return _Sent(named=named)
    report_progress: Any = partial(run.report, stage, unit="events")
    folder, total = generation.outbox, generation.events
    sent = sender.send(
        spark, folder, settings.ingress, total, to=named, on_progress=report_progress
    )
    left = total - checkpoints.count_events(folder)
    note = f"Events that were not sent, as no rule names their target now: {left:,}."
    return _Sent(sent, [note] if left else [], named)
