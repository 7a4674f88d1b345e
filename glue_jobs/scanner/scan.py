"""One scan of a bucket: count, compare with earlier alerts, report, alert.

The order makes a rerun safe (`state`): everything is written before the new state becomes current,
and only then sent.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from bucketcast.event.scanner import KINDS
from bucketcast.settings.pipeline import Scan
from bucketcast.state.usage import Usages
from glue_jobs import files, lease, listing
from glue_jobs.aws import client, read_rules, state_table_errors
from glue_jobs.columns import save
from glue_jobs.listing.schema import Listing
from glue_jobs.outbox import chunks, sender
from glue_jobs.run import Run
from glue_jobs.scanner import (
    alert_states,
    alerts,
    counting,
    coverage,
    report,
    rule_match,
    sums,
    uploads,
    usage,
)
from glue_jobs.scanner.state import Generation, StateStore

_NO_CLASSES: Final = {
    "size": "The source lists no sizes, so bytes and classes of sizes are not known.",
    "storage_class": "The source lists no storage classes, so what is in each is not known.",
    "last_modified": "The source lists no times, so classes of ages are not known.",
}


def scan(spark: SparkSession, settings: Scan, run: Run) -> None:
    """Scan a bucket: send alerts to the ingress queue, write a report and a result.

    Raises:
        BucketcastError: the source, the state table or the state cannot be used; a newer source was
            scanned; another run scans this bucket, or was first; SQS refused events, which the
            next scan sends before it begins.
    """
    run.report("reading the listing")
    content = listing.read(spark, settings.bucket, settings.source, prefix=settings.prefix)
    objects = content.objects.select(*sums.COLUMNS)
    home = f"{settings.state.rstrip('/')}/{settings.bucket}"
    store, at = StateStore(home), datetime.now(UTC)
    with lease.hold(settings.bucket, settings.table, run.folder, f"scans {settings.bucket}"):
        before = store.current()
        late = _send(spark, before, run, "the last scan's events")
        now = coverage.cover(content, settings.prefix)
        later = coverage.later(before.coverage, now, content.name)
        saved = run.path("listing")
        if settings.source == "listing":
            with run.report_tasks(spark, "listing"):
                objects = save(objects, saved)
        with run.report_tasks(spark, "counting"):
            covered = coverage.covered(now) & ~coverage.covered(later)
            thresholds = _thresholds(content, settings)
            summed = sums.sum_up(objects, content.taken, thresholds)
            findings = counting.find(objects, summed, thresholds).where(covered)
            incomplete, upload_notes = uploads.count(settings.bucket, [each.prefix for each in now])
            used = [*usage.rows(summed, content), *incomplete]
            states = _compare(
                findings, before.alert_states(spark), covered, settings, at, content.taken
            )
            new = store.write(states, at, coverage.add(before.coverage, now))
            files.remove(saved)
        states = new.alert_states(spark)
        numbers = _count_states(states)
        notes = [
            *content.notes,
            *_source_notes(content),
            *_unmatched_notes(numbers, settings),
            *upload_notes,
        ]
        prefix = ", ".join(each.prefix for each in now)
        scanned = report.Scanned(settings, at, numbers, used, notes, prefix)
        with run.report_tasks(spark, "writing the report"):
            summary = report.write(states, content, scanned, run.path("report"))
        run.report("spooling the events")
        new = replace(new, events=_spool(states, new, numbers, settings, at))
        store.commit(new, replaces=before)
        sent = _send(spark, new, run, "sending")
        store.sweep(before, new)
        if [each.prefix for each in now] == [""]:  # metrics are of whole buckets
            _store_usage(settings, used, content.taken)
    run.set_result({**summary, "events": late + sent})


def _thresholds(content: Listing, settings: Scan) -> sums.Thresholds:
    shown = [KINDS[name] for name in coverage.kinds(content)]
    return sums.Thresholds(**{kind.limits: getattr(settings, kind.option) for kind in shown})


def _compare(
    findings: DataFrame,
    before: DataFrame,
    covered: Column,
    settings: Scan,
    at: datetime,
    taken: datetime,
) -> DataFrame:
    rules = read_rules(settings.bucket, settings.table)
    return alert_states.compare(
        findings,
        before,
        at=at,
        taken=taken,
        policy=alert_states.AlertPolicy(settings.alert_worse, settings.alert_cooldown),
        covered=covered,
        matched=rule_match.is_matched(settings.bucket, rules, at),
    )


def _source_notes(content: Listing) -> Iterator[str]:
    if missing := [name for name in KINDS if name not in coverage.kinds(content)]:
        column = "sizes" if content.versions else "versions"
        yield f"The source lists no {column}: {' and '.join(missing)} stay as they were."
    for column in sorted(content.lacking & _NO_CLASSES.keys()):
        yield _NO_CLASSES[column]


def _unmatched_notes(numbers: Mapping[str, Mapping[str, int]], settings: Scan) -> Iterator[str]:
    unmatched = {kind: states.get(alert_states.UNMATCHED, 0) for kind, states in numbers.items()}
    if number := sum(unmatched.values()):
        names = ", ".join(KINDS[kind].event for kind, n in sorted(unmatched.items()) if n)
        yield (
            f"no rule of {settings.bucket} matches {number:,} of the findings ({names}), so no "
            "alerts were sent for them; the first scan after a rule is added sends them: "
            f"bucketcast event add {settings.bucket} ARN --event scanner"
        )


def _count_states(states: DataFrame) -> Mapping[str, Mapping[str, int]]:
    """Count the findings by kind and state."""
    numbers: dict[str, dict[str, int]] = defaultdict(dict)
    for row in states.where("state is not null").groupBy("kind", "state").count().collect():
        numbers[row.kind][row.state] = row["count"]
    return numbers


def _spool(
    states: DataFrame,
    new: Generation,
    numbers: Mapping[str, Mapping[str, int]],
    settings: Scan,
    at: datetime,
) -> int:
    """Spool the alerts; return the number of their events."""
    number = sum(
        counts.get(state, 0) for counts in numbers.values() for state in alert_states.ALERTED
    )
    if not number:
        return 0
    due = states.where(sql.col("state").isin(*alert_states.ALERTED))
    pack = partial(alerts.pack_alerts, number, settings.bucket, at, settings.ingress)
    return chunks.spool(due, pack, new.outbox)


def _send(spark: SparkSession, generation: Generation, run: Run, stage: str) -> int:
    """Send the rest of a generation's events; return the number sent now."""
    if not generation.events:
        return 0
    report_progress: Any = partial(run.report, stage, unit="events")
    return sender.send(spark, generation.outbox, on_progress=report_progress)


def _store_usage(settings: Scan, used: Sequence[usage.Usage], taken: datetime) -> None:
    """Store the usage of a whole bucket, as of the time of its source, for the gateway's metrics.

    Raises:
        BucketcastError: DynamoDB refused.
    """
    with state_table_errors(settings.table):
        usages = Usages(settings.table, client("dynamodb"))
        usages.put(settings.bucket, usage.summarise(used), taken.timestamp())
