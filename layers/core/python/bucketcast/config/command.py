"""`bucketcast config`: check the configuration and show the effective one."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from bucketcast import targets
from bucketcast.config import load
from bucketcast.config.bucket import Bucket
from bucketcast.config.function import Deploy
from bucketcast.config.model import TABLES, Deployment
from bucketcast.config.pipeline import ScanConfig, ScanOptions
from bucketcast.config.stack import StackOptions
from bucketcast.config.target import NOT_FOR_THE_FUNCTION, TargetConfig
from bucketcast.settings.options import options_of, own_first
from bucketcast.settings.types import REFERENCE
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared

_COLUMNS = ("TABLE", "KEY", "VALUE", "")
_DURATIONS = ("timeout", "window")
_KIND = f"{__name__}.kind"
_PEM_BEGIN = "-----BEGIN "


class _WithEveryOption(click.Command):
    """A command whose help ends with the configuration keys of a KIND, or all, as declared."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # --help comes before the arguments, wherever it stands.
        ctx.meta[_KIND] = next((word for word in args if word in targets.kinds()), "")
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        kind = ctx.meta.get(_KIND)
        for title, declared, variables in sections():
            if kind and title != f"[notify_{kind}.ID]":
                continue
            rows = []
            for key, option in own_first(declared).items():
                rows.append((f"{key} ({option.type})", option.sentence))
                if variables:  # on a line of its own, where it is not broken
                    rows.append((f"  {variables.format(option.variable)}", ""))
            with formatter.section(title):
                formatter.write_dl(rows)


@click.command(cls=_WithEveryOption)
@click.argument("kind", metavar="[KIND]", required=False, type=click.Choice(targets.kinds()))
@params.config_file
@click.option(
    "--local/--aws",
    default=False,
    help="Kind of deploy; only a local one accepts plain-text secrets and 127.0.0.1. "
    "[default: --aws]",
)
@shared
def command(out: Output, kind: str | None, *, path: Path, local: bool) -> None:
    """Check the configuration and show the effective settings, of one KIND or of all.

    All errors are listed at once, one per line, with exit code 2. Environment variables
    (MINIO_NOTIFY_<KIND>_<KEY>[_<ID>], MINIO_API_SYNC_EVENTS) override the file, as they do in a
    deploy. Secrets are not shown.

    \b
    Example:
      bucketcast config webhook --file bucketcast.toml --local
    """  # noqa: D301 - click reads the character
    deployment = load(path, os.environ, local=local, stack=out.stack)
    out.notes(deployment.notes)
    shown_targets = tuple(target for target in deployment.targets if kind in (None, target.kind))
    document = _document(path, deployment, shown_targets)
    rows = [row for target in shown_targets for row in _target_rows(target)]
    if kind is None:
        rows = [*_rows(document), *rows]
    nothing = f"no target of kind {kind} is configured" if kind else "the configuration is empty"
    out.table(document, _COLUMNS, rows, nothing)


def sections() -> Iterator[tuple[str, Any, str]]:
    """Yield each table's title, its options, and how their environment variables are shown."""
    yield "Top-level keys", StackOptions, ""
    yield "[bucket.NAME]", Bucket, ""
    for kind in targets.kinds():
        settings = targets.load(kind).Settings
        yield f"[notify_{kind}.ID]", settings, f"MINIO_NOTIFY_{kind.upper()}_{{}}_ID"
    yield "[notify_KIND.ID.deploy]", Deploy, ""
    for name, declared in TABLES.items():
        yield f"[{name}]", declared, ""
    yield "[scan.BUCKET]", ScanOptions, ""


def _document(
    path: Path, config: Deployment, shown_targets: tuple[TargetConfig, ...]
) -> dict[str, Any]:
    tables = {name: getattr(config, name) for name in TABLES}
    return {
        "file": str(path),
        **{key: getattr(config, key) for key in options_of(StackOptions)},
        "kms_key": config.kms_key or None,
        "buckets": {name: vars(bucket) for name, bucket in config.buckets.items()},
        **{name: vars(table) if table else None for name, table in tables.items()},
        "ingest": {**vars(config.ingest), "window": config.ingest_window},
        "alarms": _set_values(vars(config.alarms)) if config.alarms else None,
        "targets": [
            {
                "arn": str(target.arn),
                "kind": target.kind,
                "id": target.id,
                "enabled": target.enabled,
                "settings": {key: value for key, value, _ in _settings(target)},
                "deploy": vars(target.deploy),
            }
            for target in shown_targets
        ],
        "scans": {bucket: _scan(scan) for bucket, scan in config.scans.items()},
        "notes": config.notes,
    }


def _set_values(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value not in (None, "", ())}


def _rows(document: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield table, key and value of everything but targets, as far as it is set."""
    tables = {
        "": {key: document[key] for key in options_of(StackOptions)},
        **{f"bucket.{name}": table for name, table in document["buckets"].items()},
        **{name: document[name] or {} for name in TABLES},
        **{f"scan.{name}": table for name, table in document["scans"].items()},
    }
    for name, table in tables.items():
        for key, value in _set_values(table).items():
            yield name, key, _to_text(key, value), ""


def _target_rows(target: TargetConfig) -> Iterator[tuple[str, str, str, str]]:
    where = f"notify_{target.kind}.{target.id}"
    yield where, "", str(target.arn), "(its ARN)"
    if not target.enabled:
        yield where, "enable", "off", "(events are queued, not sent)"
    for key, value, note in _settings(target):
        yield where, key, _first_line(value), note
    for key, value in _set_values(vars(target.deploy)).items():
        yield f"{where}.deploy", key, _to_text(key, value), ""


def _scan(scan: ScanConfig) -> dict[str, str]:
    """Return the keys that are set; the job has defaults for the rest."""
    on = "inventory" if scan.on_inventory else ""
    return {**scan.options, **_set_values({"schedule": scan.schedule, "on": on})}


def _settings(target: TargetConfig) -> Iterator[tuple[str, str, str]]:
    """Yield key, value and a remark for each option; a secret shows only its reference."""
    declared: Any = targets.load(target.kind).Settings
    for key, option in own_first(declared).items():
        if key in NOT_FOR_THE_FUNCTION:
            continue
        value = target.settings.get(key)
        if value is None:
            yield key, option.default, "(default)"
        elif value.removeprefix(REFERENCE) in target.plain_secrets:
            yield key, "***", ""
        else:
            yield key, value, ""


def _first_line(value: str) -> str:
    return f"{value.splitlines()[0]} ..." if value.startswith(_PEM_BEGIN) else value


def _to_text(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if key in _DURATIONS:
        return f"{value:g}s"
    if isinstance(value, tuple):
        return ",".join(value)
    return str(value)
