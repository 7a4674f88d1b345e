"""`bucketcast config`: is the configuration right, and what does it amount to."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from bucketcast import targets
from bucketcast.cli import page
from bucketcast.cli.screen import Screen, shared
from bucketcast.config import (
    NOT_FOR_THE_FUNCTION,
    AlarmOptions,
    Bucket,
    Deployment,
    DeployOptions,
    EntryOptions,
    IngestOptions,
    PipelineOptions,
    RemovedOptions,
    RuntimeOptions,
    ScanConfig,
    ScanOptions,
    Source,
    TargetConfig,
    TopicOptions,
    load,
)
from bucketcast.options import REFERENCE, Option, options_of

_COLUMNS = ("TABLE", "KEY", "VALUE", "")
_SYNC_EVENTS = (
    "the next event of a target goes only after the last was confirmed (default off) "
    "MINIO_API_SYNC_EVENTS"
)
_CONTROL = "the S3 notification API behind a function URL, for mc and the SDKs (default off)"
_KMS_KEYS = (
    "ARNs of the KMS keys of your own by which secrets, Inventory reports and listed buckets are "
    "encrypted: who reads those may decrypt by them (default none)"
)
_NESTED = (
    "functions, alarms, rules and schedules in stacks of their own, for what is too large for one: "
    "about 30 targets, or 90 buckets (default off)"
)
_OBJECT_FACTS = (
    "whether ingest may look at objects, for their metadata, tags, content type and storage class, "
    "and for what mirrors are to show once a version went: of the buckets in this file (on), or of "
    "all (default off; all for a local deploy)"
)
_PEM_BEGIN = "-----BEGIN "


class _WithEveryOption(click.Command):
    """A command whose help ends with every option of every kind, from their declarations."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        with formatter.section("At the top of the file"):
            formatter.write_dl(
                [
                    ("sync_events (on|off)", _SYNC_EVENTS),
                    ("object_facts (off|on|all)", _OBJECT_FACTS),
                    ("control (on|off)", _CONTROL),
                    ("kms_keys (list)", _KMS_KEYS),
                    ("nested (on|off)", _NESTED),
                ]
            )
        _section(formatter, "[bucket.NAME]", options_of(Bucket))
        _section(formatter, "[ingest]", options_of(IngestOptions))
        _section(formatter, "[entry]", options_of(EntryOptions))
        _section(formatter, "[entry.NAME]", options_of(Source))
        _section(formatter, "[alarms]", options_of(AlarmOptions))
        _section(formatter, "[removed]", options_of(RemovedOptions))
        for kind in targets.kinds():
            declared: Any = targets.load(kind).Settings
            variables = f"MINIO_NOTIFY_{kind.upper()}_"
            _section(formatter, f"[notify_{kind}.ID]", page.own_first(declared), variables)
        _section(formatter, "[notify_KIND.ID.deploy]", options_of(DeployOptions))
        _section(formatter, "[runtime]", options_of(RuntimeOptions))
        _section(formatter, "[topics]", options_of(TopicOptions))
        _section(formatter, "[pipeline]", options_of(PipelineOptions))
        _section(formatter, "[scan.BUCKET]", options_of(ScanOptions))


def _section(
    formatter: click.HelpFormatter, title: str, options: Mapping[str, Option], variables: str = ""
) -> None:
    rows = [
        (
            f"{key} ({known.type})",
            page.sentence(known) + (f" {variables}{known.variable}_ID" if variables else ""),
        )
        for key, known in options.items()
    ]
    with formatter.section(title):
        formatter.write_dl(rows)


@click.command(cls=_WithEveryOption)
@click.argument("kind", required=False, type=click.Choice(targets.kinds()))
@click.option(
    "--file",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default="bucketcast.toml",
    show_default=True,
    help="The configuration.",
)
@click.option(
    "--local/--aws",
    default=False,
    help="What it is for; only a local deploy takes secrets in plain text. [default: --aws]",
)
@click.option("--markdown", is_flag=True, help="Print the documentation page of KIND instead.")
@shared
@click.pass_obj
def command(screen: Screen, kind: str | None, *, path: Path, local: bool, markdown: bool) -> None:
    """Check the configuration and show what it amounts to, of one KIND or of all.

    Mistakes are listed all at once, one a line, and the exit code is 2. Variables of the
    environment, MINIO_NOTIFY_<KIND>_<KEY>[_<ID>] and MINIO_API_SYNC_EVENTS, override the file, as
    they do in a deploy. Secrets are not shown.

    \b
    Example:
      bucketcast config webhook --file bucketcast.toml --local
    """  # noqa: D301 - click reads the character
    if markdown:
        if kind is None:
            raise click.UsageError("--markdown needs a KIND")
        screen.answer({"kind": kind, "page": page.of(kind)}, *page.of(kind).splitlines())
        return
    deployment = load(path, os.environ, local=local)
    for note in deployment.notes:
        if not screen.json:
            screen.note(f"note: {note}")
    chosen = tuple(each for each in deployment.targets if kind in (None, each.kind))
    screen.table(
        _document(path, deployment, chosen),
        _COLUMNS,
        list(_rows(deployment, chosen, whole=kind is None)),
        f"no target of kind {kind} is configured" if kind else "nothing is configured",
    )


def _document(path: Path, config: Deployment, chosen: tuple[TargetConfig, ...]) -> dict[str, Any]:
    return {
        "file": str(path),
        "sync_events": config.sync_events,
        "object_facts": config.object_facts,
        "control": config.control,
        "kms_keys": list(config.kms_keys),
        "ingest": {"reserved_concurrency": config.reserved},
        "nested": config.nested,
        "buckets": {
            name: {key: getattr(bucket, key) for key in options_of(Bucket)}
            for name, bucket in config.buckets.items()
        },
        "entry": dict(_entry(config)) or None,
        "alarms": dict(_alarms(config)) or None,
        "removed": {"discard": list(config.discard)} if config.discard else None,
        "targets": [
            {
                "arn": str(target.arn),
                "kind": target.kind,
                "id": target.id,
                "enabled": target.enabled,
                "settings": {key: text for key, text, _ in _settings(target)},
                "deploy": {key: getattr(target.deploy, key) for key in options_of(DeployOptions)},
            }
            for target in chosen
        ],
        "runtime": dict(_runtime(config)),
        "topics": dict(_topics(config)),
        "pipeline": dict(_pipeline(config)) or None,
        "scans": {bucket: dict(_scan(scan)) for bucket, scan in config.scans.items()},
        "notes": list(config.notes),
    }


def _rows(
    config: Deployment, chosen: tuple[TargetConfig, ...], *, whole: bool
) -> Iterator[tuple[str, str, str, str]]:
    if whole:
        yield from ((*row, "") for row in _own_rows(config))
    for target in chosen:
        where = f"notify_{target.kind}.{target.id}"
        yield where, "", str(target.arn), "(its ARN)"
        if not target.enabled:
            yield where, "enable", "off", "(its events wait)"
        for key, text, note in _settings(target):
            yield where, key, _short(text), note
        for key in options_of(DeployOptions):
            yield f"{where}.deploy", key, _shown(getattr(target.deploy, key)), ""


def _own_rows(config: Deployment) -> Iterator[tuple[str, str, str]]:
    """Table, key and value of all that is no target."""
    yield "", "sync_events", _shown(config.sync_events)
    yield "", "object_facts", config.object_facts
    yield "", "control", _shown(config.control)
    if config.kms_keys:
        yield "", "kms_keys", _shown(config.kms_keys)
    yield "", "nested", _shown(config.nested)
    for name, bucket in config.buckets.items():
        for key in options_of(Bucket):
            yield f"bucket.{name}", key, _shown(getattr(bucket, key))
    yield "ingest", "reserved_concurrency", _shown(config.reserved)
    yield from _entry_rows(config)
    for key, text in _alarms(config):
        yield "alarms", key, text
    yield from (("runtime", key, _shown(value)) for key, value in _runtime(config))
    yield from (("topics", key, _shown(value)) for key, value in _topics(config))
    if config.discard:
        yield "removed", "discard", _shown(config.discard)
    for key, value in _pipeline(config):
        yield "pipeline", key, _shown(value)
    for name, scan in config.scans.items():
        for key, text in _scan(scan):
            yield f"scan.{name}", key, text


def _entry_rows(config: Deployment) -> Iterator[tuple[str, str, str]]:
    held = dict(_entry(config))
    for name, source in held.pop("sources", {}).items():
        for key, value in source.items():
            yield f"entry.{name}", key, _shown(value)
    for key, value in held.items():
        yield "entry", key, _shown(value)


def _alarms(config: Deployment) -> Iterator[tuple[str, str]]:
    """Who is told."""
    if config.alarms:
        for key in options_of(AlarmOptions):
            if text := getattr(config.alarms, key):
                yield key, text


def _runtime(config: Deployment) -> Iterator[tuple[str, Any]]:
    for key in options_of(RuntimeOptions):
        yield key, getattr(config.runtime, key)


def _topics(config: Deployment) -> Iterator[tuple[str, Any]]:
    for key in options_of(TopicOptions):
        yield key, getattr(config.topics, key)


def _pipeline(config: Deployment) -> Iterator[tuple[str, Any]]:
    if config.pipeline:
        for key in options_of(PipelineOptions):
            yield key, getattr(config.pipeline, key)


def _scan(scan: ScanConfig) -> Iterator[tuple[str, str]]:
    """Only what the table has; the rest is the job's own default."""
    yield from scan.options.items()
    if scan.schedule:
        yield "schedule", scan.schedule
    if scan.on_inventory:
        yield "on", "inventory"


def _settings(target: TargetConfig) -> Iterator[tuple[str, str, str]]:
    """Key, value and a remark for each option; of a secret at most its reference is seen."""
    declared: Any = targets.load(target.kind).Settings
    for key, known in page.own_first(declared).items():
        if key in NOT_FOR_THE_FUNCTION:
            continue
        text = target.settings.get(key)
        if text is None:
            yield key, known.default, "(default)"
        elif text.removeprefix(REFERENCE) in target.plain_secrets:
            yield key, "***", ""
        else:
            yield key, text, ""


def _entry(config: Deployment) -> Iterator[tuple[str, Any]]:
    """What the HTTP entry may take, and from whom; a token in plain text is not shown."""
    if config.entry:
        yield "reserved_concurrency", config.entry.reserved_concurrency
        hidden = {REFERENCE + name for name in config.entry.plain_secrets}
        yield (
            "sources",
            {
                each.name: {
                    "token": "***" if each.token in hidden else each.token,
                    "dialect": each.dialect,
                    "buckets": list(each.buckets),
                }
                for each in config.entry.sources
            },
        )


def _short(text: str) -> str:
    return f"{text.splitlines()[0]} ..." if text.startswith(_PEM_BEGIN) else text


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return f"{value:g}s"
    return "" if value is None else str(value)
