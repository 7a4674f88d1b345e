"""`bucketcast doctor`: what is wrong with the deployment, and what to do."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import click
from msgspec.structs import asdict

from bucketcast.aws.clients import Aws
from bucketcast.config import load
from bucketcast.deployment import Deployed
from bucketcast.destination import short_name
from bucketcast.diagnose.aws import before_deploy as before
from bucketcast.diagnose.aws import buckets, queues, report_unread, targets
from bucketcast.finding import Finding
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared

WAIT_SECONDS = 60
_COLUMNS = ("", "STATUS", "CHECK", "SUBJECT", "FOUND")
_ORDER = ("error", "warn", "ok")
_Check = Callable[[Deployed, Aws], Iterator[Finding]]
_AREAS: Final[Mapping[str, _Check]] = {
    "targets": targets.findings,
    "queues": queues.findings,
    "buckets": buckets.findings,
    "rules": buckets.rule_findings,
}
"""The most urgent first."""


@click.command()
@click.option("--all", "show_all", is_flag=True, help="Also show checks that are in order.")
@params.wait("Time that a target's function has to check its target.", WAIT_SECONDS)
@click.option(
    "--before-deploy",
    is_flag=True,
    help="Check instead what a deploy of the configuration would be refused for after minutes.",
)
@params.config_file
@shared
def command(out: Output, *, show_all: bool, wait: int, before_deploy: bool, path: Path) -> int:
    """Find what is wrong with the deployment, and say what to do.

    Checks dead letters, who may write to the ingress queue, how buckets are connected,
    and rules whose target does not exist. Each target's own function then checks its target in
    steps: settings with their secrets, DNS, TCP, TLS with the certificate's expiry, login, and
    access to the table, topic, index or exchange. It writes nothing, and changes nothing. Exit code
    1 if there is an error, 0 if there are warnings only.

    \b
    Example:
      bucketcast doctor
      bucketcast doctor --all --json
      bucketcast doctor --before-deploy --file production.toml
    """  # noqa: D301 - click reads the character
    findings: list[Finding] = []
    if before_deploy:
        config = load(path, os.environ, local=False)
        findings += before.findings(config, out.stack, out.aws())
    else:
        deployment, aws = out.deployed(read_seconds=wait)
        for area, check in _AREAS.items():
            out.note(f"checking {area} …")
            findings += report_unread(area, "AWS", check(deployment, aws))
    findings = _by_subject(findings)
    failed = any(finding.status == "error" for finding in findings)
    listed = [finding for finding in findings if show_all or finding.status != "ok"]
    _show(out, out.stack, listed, len(findings))
    return int(failed)


def _by_subject(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings of each subject together, and of all the most urgent ones first."""
    by_status = sorted(findings, key=lambda finding: _ORDER.index(finding.status))
    subjects: dict[str, list[Finding]] = {}
    for finding in by_status:
        subjects.setdefault(finding.subject, []).append(finding)
    return [finding for group in subjects.values() for finding in group]


def _show(out: Output, stack: str, findings: Sequence[Finding], count: int) -> None:
    document = {
        "stack": stack,
        "checks": count,
        "findings": [asdict(finding) for finding in findings],
    }
    rows = [
        (str(number), finding.status, finding.check, short_name(finding.subject), finding.found)
        for number, finding in enumerate(findings, 1)
    ]
    out.table(document, _COLUMNS, rows, f"nothing is wrong: {count} checks")
    if out.json:
        return
    for number, finding in enumerate(findings, 1):
        if finding.hint:
            out.line(f"{number}. {short_name(finding.subject)}: {finding.hint}")
        if finding.command:
            out.line(f"     {finding.command}")
