"""`bucketcast config`: check the configuration and show the effective one."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from bucketcast import targets
from bucketcast.cli import page, params
from bucketcast.cli.output import Output, shared
from bucketcast.config import (
    NOT_FOR_THE_FUNCTION,
    SOURCE_TABLES,
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
    TrailOptions,
    load,
)
from bucketcast.settings.options import REFERENCE, Option, options_of

_COLUMNS = ("TABLE", "KEY", "VALUE", "")
_SYNC_EVENTS = (
    "send one event at a time per target, each only after the previous was confirmed (default off) "
    "MINIO_API_SYNC_EVENTS"
)
_CONTROL = "serve the S3 notification API at a function URL, for mc and the SDKs (default off)"
_KMS_KEY = (
    "ARN of the customer managed KMS key that queues, tables, logs, functions' variables and the "
    "pipeline's bucket are encrypted with (default AWS's own)"
)
_KMS_KEYS = (
    "ARNs of the customer managed KMS keys that encrypt secrets, Inventory reports and buckets; "
    "functions and jobs get the right to decrypt with them (default none)"
)
_NESTED = (
    "put functions, alarms and schedules into nested stacks; needed from about 30 targets or 90 "
    "buckets (default off)"
)
_DASHBOARD = (
    "make a CloudWatch dashboard of the stack; an account's first three of at most 50 metrics are "
    "free, others $3.00 a month (default on)"
)
_TRACING = "let X-Ray sample the functions' calls, $5.00 per million recorded (default off)"
_LOG_RETENTION_DAYS = (
    "days that CloudWatch keeps the functions' logs, one of its steps (default 30)"
)
_OBJECT_FACTS = (
    "whether ingest may read an object's metadata, tags, content type and storage class from S3, "
    "and the current version for mirrors after a version was deleted: for the buckets in this file "
    "(on) or for all (default off; all in a local deploy)"
)
_PEM_BEGIN = "-----BEGIN "


class _WithEveryOption(click.Command):
    """A command whose help ends with every configuration key, from their declarations."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        with formatter.section("Top-level keys"):
            formatter.write_dl(
                [
                    ("sync_events (on|off)", _SYNC_EVENTS),
                    ("object_facts (off|on|all)", _OBJECT_FACTS),
                    ("control (on|off)", _CONTROL),
                    ("kms_key (text)", _KMS_KEY),
                    ("kms_keys (list)", _KMS_KEYS),
                    ("nested (on|off)", _NESTED),
                    ("dashboard (on|off)", _DASHBOARD),
                    ("tracing (on|off)", _TRACING),
                    ("log_retention_days (number)", _LOG_RETENTION_DAYS),
                ]
            )
        _section(formatter, "[bucket.NAME]", options_of(Bucket))
        _section(formatter, "[trail]", options_of(TrailOptions))
        for name, table in SOURCE_TABLES.items():
            _section(formatter, f"[source.{name}]", options_of(table))  # type: ignore[arg-type]  # classes are hashable
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
@params.config_file
@click.option(
    "--local/--aws",
    default=False,
    help="Kind of deploy; only a local one accepts plain-text secrets. [default: --aws]",
)
@click.option("--markdown", is_flag=True, help="Print the documentation page of KIND instead.")
@shared
def command(out: Output, kind: str | None, *, path: Path, local: bool, markdown: bool) -> None:
    """Check the configuration and show the effective settings, of one KIND or of all.

    All errors are listed at once, one per line, with exit code 2. Environment variables
    (MINIO_NOTIFY_<KIND>_<KEY>[_<ID>], MINIO_API_SYNC_EVENTS) override the file, as they do in a
    deploy. Secrets are not shown.

    \b
    Example:
      bucketcast config webhook --file bucketcast.toml --local
    """  # noqa: D301 - click reads the character
    if markdown:
        if kind is None:
            raise click.UsageError("--markdown needs a KIND")
        out.answer({"kind": kind, "page": page.of(kind)}, *page.of(kind).splitlines())
        return
    deployment = load(path, os.environ, local=local)
    out.notes(deployment.notes)
    chosen = tuple(each for each in deployment.targets if kind in (None, each.kind))
    out.table(
        _document(path, deployment, chosen),
        _COLUMNS,
        list(_rows(deployment, chosen, whole=kind is None)),
        f"no target of kind {kind} is configured" if kind else "the configuration is empty",
    )


def _document(path: Path, config: Deployment, chosen: tuple[TargetConfig, ...]) -> dict[str, Any]:
    return {
        "file": str(path),
        "sync_events": config.sync_events,
        "object_facts": config.object_facts,
        "control": config.control,
        "kms_key": config.kms_key or None,
        "kms_keys": list(config.kms_keys),
        "ingest": {"reserved_concurrency": config.reserved, "window": config.ingest_window},
        "nested": config.nested,
        "dashboard": config.dashboard,
        "tracing": config.tracing,
        "log_retention_days": config.log_retention_days,
        "buckets": {
            name: {key: getattr(bucket, key) for key in options_of(Bucket)}
            for name, bucket in config.buckets.items()
        },
        "trail": {
            "name": config.trail,
            "manage_selectors": config.trail_selectors,
            "bucket_events": config.bucket_events,
        },
        "source": {table: {key: list(found)} for table, key, found in _sources(config)},
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
            yield where, "enable", "off", "(events are queued, not sent)"
        for key, text, note in _settings(target):
            yield where, key, _short(text), note
        for key in options_of(DeployOptions):
            yield f"{where}.deploy", key, _shown(getattr(target.deploy, key)), ""


def _sources(config: Deployment) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    yield "s3", "accounts", config.source.s3_accounts
    yield "sns", "topics", config.source.sns_topics
    yield "eventbridge", "accounts", config.source.bus_accounts


def _source_rows(config: Deployment) -> Iterator[tuple[str, str, str]]:
    for table, key, found in _sources(config):
        if found:
            yield f"source.{table}", key, _shown(found)


def _own_rows(config: Deployment) -> Iterator[tuple[str, str, str]]:
    """Yield table, key and value of everything but targets."""
    yield "", "sync_events", _shown(config.sync_events)
    yield "", "object_facts", config.object_facts
    yield "", "control", _shown(config.control)
    given = {"kms_key": config.kms_key, "kms_keys": config.kms_keys}
    yield from (("", key, _shown(value)) for key, value in given.items() if value)
    yield "", "nested", _shown(config.nested)
    yield "", "dashboard", _shown(config.dashboard)
    yield "", "tracing", _shown(config.tracing)
    yield "", "log_retention_days", _shown(config.log_retention_days)
    for name, bucket in config.buckets.items():
        for key in options_of(Bucket):
            yield f"bucket.{name}", key, _shown(getattr(bucket, key))
    if config.trail:
        yield "trail", "name", config.trail
        yield "trail", "manage_selectors", _shown(config.trail_selectors)
    yield "trail", "bucket_events", _shown(config.bucket_events)
    yield from _source_rows(config)
    yield "ingest", "reserved_concurrency", _shown(config.reserved)
    yield "ingest", "window", f"{config.ingest_window}s"
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
    entry = dict(_entry(config))
    for name, source in entry.pop("sources", {}).items():
        for key, value in source.items():
            yield f"entry.{name}", key, _shown(value)
    for key, value in entry.items():
        yield "entry", key, _shown(value)


def _alarms(config: Deployment) -> Iterator[tuple[str, str]]:
    """Yield the configured receiver of alarms."""
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
    """Yield the keys that are set; the job has defaults for the rest."""
    yield from scan.options.items()
    if scan.schedule:
        yield "schedule", scan.schedule
    if scan.on_inventory:
        yield "on", "inventory"


def _settings(target: TargetConfig) -> Iterator[tuple[str, str, str]]:
    """Yield key, value and a remark for each option; a secret shows only its reference."""
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
    """Yield the settings of the HTTP entry; plain-text tokens are not shown."""
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
