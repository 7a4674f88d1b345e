"""`bucketcast scan`: what a bucket holds, and what in it has many versions or many folders."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click
from click.core import ParameterSource

from bucketcast.display import printable, size
from bucketcast.pipeline.aws import Runs, new_id
from bucketcast.pipeline.command import jobs
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, counted, shared

_WIDTH: Final = 79
_PREFIXES: Final = 5
COLUMNS = ("KIND", "STATE", "SINCE", "KEY", "COUNT", "BYTES")
_PAST_COLUMNS = ("TAKEN", "SOURCE", "PREFIX", "OBJECTS", "BYTES", "FINDINGS", "REPORT")


@click.command()
@click.argument("bucket", type=params.bucket_name)
@jobs.options("scan", without=frozenset({"dry_run"}))
@click.option(
    "--dry-run", is_flag=True, help="Only report: send no event, and remember no finding."
)
@jobs.no_wait_option
@click.option(
    "--list", "past", is_flag=True, help="Do not scan: list the scans of the last 30 days."
)
@shared
def command(
    out: Output, /, *, bucket: str, dry_run: bool, no_wait: bool, past: bool, **values: str
) -> None:
    """Tell what a bucket holds, and find what has too many versions or folders.

    Each finding is sent as an event s3:Scanner:KIND to the targets whose rules ask for it
    (`bucketcast event add BUCKET ARN --event scanner`): once when it is new, and again only when it
    got worse. The report has all findings in Parquet. Options that are not given are those of
    [scan.BUCKET] in bucketcast.toml.

    \b
    Example:
      bucketcast scan uploads
      bucketcast scan uploads --source s3://inventories/uploads/daily
      bucketcast scan uploads --list
    """  # noqa: D301 - click reads the character
    runs = Runs(*out.deployed())
    if past:
        scans = sorted(runs.scans(bucket), key=lambda scan: (scan["taken"], scan["run"]))
        rows = [_past_row(scan) for scan in scans]
        out.table({"bucket": bucket, "scans": scans}, _PAST_COLUMNS, rows, f"no scans of {bucket}")
        return
    source_of = click.get_current_context().get_parameter_source  # "" is a value, too
    configured = {
        key: text
        for key, text in runs.configured_scan(bucket).items()
        if source_of(key) is ParameterSource.DEFAULT
    }
    if configured:
        texts = ", ".join(f"{key} = {text}" for key, text in configured.items())
        out.note(f"of [scan.{bucket}]: {texts}")
    options = {"bucket": bucket, **values, **configured, "dry_run": "on" if dry_run else ""}
    run = f"{bucket}/{new_id()}"
    result = jobs.run_job(out, runs, "scan", options, no_wait=no_wait, run=run)
    if result is None:
        return
    rows = [row(finding) for finding in result["findings"]]
    out.table(result, COLUMNS, rows, f"no findings in {bucket}")
    if not out.json:
        for line in usage_lines(result["usage"]):
            out.line(line)
        total = sum(sum(states.values()) for states in result["numbers"].values())
        jobs.note_truncation(out, len(rows), total, "findings")
        if rows:
            out.line(_totals(result["numbers"]))
        out.line(f"{counted(result['events'], 'event')} sent")
        out.line(f"report: {result['report']}")
        out.line(f"  aws s3 cp {result['report']} report.html")
    out.notes(result.get("notes", ()))


def _past_row(scan: Mapping[str, Any]) -> tuple[str, ...]:
    total = next(row for row in scan["usage"] if row["dimension"] == "total")
    findings = sum(sum(states.values()) for states in scan["numbers"].values())
    cleared = sum(states.get("cleared", 0) for states in scan["numbers"].values())
    return (
        f"{scan['taken'][: len('2026-01-01T00:00')]}Z",
        scan["source"],
        "?" if scan["prefix"] is None else scan["prefix"],
        _count(total["objects"]),
        "" if total["bytes"] is None else size(total["bytes"]),
        _count(findings - cleared),
        scan["report"],
    )


def usage_lines(usage: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a table of the total, storage classes, uploads and the heaviest prefixes."""
    named = {"total": "total", "uploads": "incomplete uploads"}
    shown = [row for row in usage if row["dimension"] in ("total", "storage_class", "uploads")]
    shown += [row for row in usage if row["dimension"] == "prefix"][:_PREFIXES]
    rows = [
        (
            named.get(row["dimension"], printable(row["name"])),
            *(_count(row[column]) for column in ("objects", "noncurrent", "delete_markers")),
            "" if row["bytes"] is None else size(row["bytes"]),
        )
        for row in shown
    ]
    rows.insert(0, ("USAGE", "OBJECTS", "NONCURRENT", "MARKERS", "BYTES"))
    widths = [max(map(len, column)) + 2 for column in list(zip(*rows, strict=True))[1:]]
    first = _WIDTH - sum(widths)
    for name, *numbers in rows:
        cut = name if len(name) <= first else f"…{name[1 - first :]}"
        aligned = (number.rjust(width) for number, width in zip(numbers, widths, strict=True))
        yield cut.ljust(first) + "".join(aligned)


def _totals(numbers: Mapping[str, Mapping[str, int]]) -> str:
    """Return `ManyVersions: 1 new, 2 same; BigPrefix: 1 cleared`."""
    return "; ".join(
        f"{kind}: " + ", ".join(f"{number:,} {state}" for state, number in states.items())
        for kind, states in numbers.items()
    )


def row(finding: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a finding's cells of the table."""
    return (
        finding["kind"],
        finding["state"],
        finding["since"][: len("2026-01-01")],
        finding["key"],
        _count(finding["count"]),
        _count(finding["bytes"]),
    )


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
