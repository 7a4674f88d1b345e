"""`bucketcast event apply`: replace the rules of buckets by those of a file, e.g. from git."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from bucketcast.errors import ConfigErrors
from bucketcast.notifications.aws import checks
from bucketcast.rules import Rule, listing
from bucketcast.state.rules import Rules
from bucketcast.terminal.output import Output, counted, shared, yes_option


class _Change(NamedTuple):
    """The change of a bucket's rules, by id."""

    bucket: str
    added: Mapping[str, Rule]
    removed: Mapping[str, Rule]

    @property
    def activated(self) -> list[Rule]:
        """The added rules that are not disabled."""
        return [rule for rule in self.added.values() if not rule.disabled]


@click.command()
@click.argument(
    "file", type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True)
)
@click.option("--prune", is_flag=True, help="Also remove the rules of buckets not in FILE.")
@click.option("--dry-run", is_flag=True, help="Show the changes, and make none.")
@yes_option("Do not ask before rules are removed.")
@shared
def apply(out: Output, *, file: Path, prune: bool, dry_run: bool, yes: bool) -> None:
    """Make the rules of each bucket in FILE exactly those of FILE.

    FILE has the output of `bucketcast event ls --json`; - is standard input. Buckets that it does
    not name keep their rules. The whole file is checked before anything changes; all rules of a
    bucket change at once.

    \b
    Example:
      bucketcast event ls --json > rules.json
      bucketcast event apply rules.json --dry-run
      bucketcast event apply rules.json
    """  # noqa: D301 - click reads the character
    with click.open_file(str(file), "rb") as opened:
        wanted = listing.read(opened.read(), str(file))
    deployment, aws = out.deployed()
    rules = Rules(deployment.state_table, aws.dynamodb)
    if prune:
        wanted |= {bucket: [] for bucket in rules.buckets() if bucket not in wanted}
    changes = [change for change in _changes(wanted, rules) if change.added or change.removed]
    active = [change for change in changes if change.activated]
    found = [checks.connection(change.bucket, deployment, aws) for change in active]
    errors = [
        error
        for change, (_, parts) in zip(active, found, strict=True)
        for error in checks.problems(
            change.activated, wanted[change.bucket], parts, deployment, aws
        )
    ]
    if errors:
        raise ConfigErrors(errors)
    lines = [line for change in changes for line in _lines(change)]
    removed = sum(len(change.removed) for change in changes)
    if not dry_run:
        if removed and not yes:
            out.confirm(f"Remove {counted(removed, 'rule')}?", *lines)
        for change in changes:
            rules.change(change.bucket, _edit(change))
    notes = [
        note
        for change, (why, _) in zip(active, found, strict=True)
        for note in checks.notes(change.activated, why, deployment)
    ]
    out.notes(notes)
    added = sum(len(change.added) for change in changes)
    would = "would be " if dry_run else ""
    summary = f"{counted(added, 'rule')} {would}added, {removed:,} {would}removed"
    document = {
        "dry_run": dry_run,
        "added": _documents(changes, lambda change: change.added),
        "removed": _documents(changes, lambda change: change.removed),
        "notes": notes,
    }
    out.answer(document, *lines, summary)


def _changes(wanted: listing.Rules, rules: Rules) -> list[_Change]:
    changes = []
    for bucket in sorted(wanted):
        after = {rule.id: rule for rule in wanted[bucket]}
        before = {rule.id: rule for rule in rules.of(bucket)}
        same = {
            id_
            for id_ in after.keys() & before.keys()
            if after[id_].disabled == before[id_].disabled
        }
        added = {id_: rule for id_, rule in after.items() if id_ not in same}
        removed = {id_: rule for id_, rule in before.items() if id_ not in same}
        changes.append(_Change(bucket, added, removed))
    return changes


def _edit(change: _Change) -> Callable[[list[Rule]], list[Rule]]:
    """Return the edit that applies a change and keeps simultaneous changes of others."""

    def edit(stored: list[Rule]) -> list[Rule]:
        kept = [rule for rule in stored if rule.id not in change.removed]
        known = {rule.id for rule in kept}
        return [*kept, *(rule for id_, rule in change.added.items() if id_ not in known)]

    return edit


def _lines(change: _Change) -> list[str]:
    signed = [("-", change.removed), ("+", change.added)]
    return [
        f"{sign} {change.bucket} {listing.line(rule)} {listing.state(rule)}".rstrip()
        for sign, rules in signed
        for rule in rules.values()
    ]


def _documents(
    changes: list[_Change], part: Callable[[_Change], Mapping[str, Rule]]
) -> list[dict[str, Any]]:
    return [
        {"bucket": change.bucket, **listing.document(rule)}
        for change in changes
        for rule in part(change).values()
    ]
