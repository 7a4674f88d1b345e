"""`bucketcast import`: convert the configuration of a MinIO server."""

from pathlib import Path
from typing import Any

import click

from bucketcast.errors import BucketcastError
from bucketcast.migrate import files, merge, render
from bucketcast.rules import Rule
from bucketcast.terminal import params
from bucketcast.terminal.output import Output, shared, yes_option

_STANDARD_INPUT = Path("-")


@click.group()
def command() -> None:
    """Import the configuration of another system."""


@command.command()
@params.files
@click.option(
    "--output",
    type=params.FILE,
    metavar="FILE",
    help="Write the configuration to FILE instead of standard output.",
)
@click.option(
    "--bucket",
    type=params.bucket_name,
    metavar="NAME",
    help="Bucket of a notification XML; not needed if the file is NAME/notification.xml.",
)
@yes_option("Do not ask before the file is overwritten.")
@shared
def minio(
    out: Output, paths: tuple[Path, ...], *, output: Path | None, bucket: str | None, yes: bool
) -> None:
    """Convert the configuration of a MinIO server into bucketcast.toml.

    FILE is the output of `mc admin config export`, which has the server's variables too, or a
    bucket's notification XML, which is converted into `bucketcast event add` commands. Several
    files are merged. - is standard input.

    Configuration and commands go to standard output; with both, --output is required. Secrets
    become references; the commands that store them are printed, without values. Settings that do
    not apply are listed with the reason. A target that a deploy would refuse is left out, with its
    errors, and the exit code is 1. If a file cannot be read, or nothing is left, nothing is
    written, and the exit code is 2.

    \b
    Example:
      mc admin config export myminio > export.txt
      bucketcast import minio export.txt --output bucketcast.toml
      mc admin cluster bucket export myminio && unzip cluster-metadata.zip
      bucketcast import minio */notification.xml
    """  # noqa: D301 - click reads the character
    if output is not None and output.exists() and not yes:
        out.confirm(f"Overwrite {output}?")
    read = files.read(map(_file, paths), bucket=bucket or "")
    merged = merge.merge(read)
    for rule in merged.rules:
        _check(rule)
    rendered = render.configuration(merged)
    if rendered.toml and merged.rules and output is None and not out.json:
        raise click.UsageError(
            "the files contain both a configuration and rules: write the configuration to a file "
            "with --output FILE; the commands for the rules go to standard output"
        )
    if output is not None and rendered.toml:
        _write(output, rendered.toml)
    _print_notes(out, merged, rendered)
    toml = [] if output else rendered.toml.splitlines()
    document = {
        "output": str(output) if output and rendered.toml else None,
        **_document(merged, rendered),
        "refused": [str(error) for error in rendered.refused],
    }
    out.answer(document, *toml, *map(render.command, merged.rules), exact=True)
    for error in rendered.refused:
        out.note(f"left out: {error}")
    if rendered.refused:
        click.get_current_context().exit(1)


def _file(path: Path) -> tuple[str, str]:
    name = "standard input" if path == _STANDARD_INPUT else str(path)
    return name, params.read_file(path)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BucketcastError(f"{path} cannot be written: {error.strerror}") from None


def _check(rule: Rule) -> None:
    """Refuse what `event add` would refuse; MinIO stores such rules."""
    params.bucket_name(rule.bucket)
    params.key_part(rule.prefix)
    params.key_part(rule.suffix)


def _print_notes(out: Output, merged: merge.Merged, rendered: render.Configuration) -> None:
    for reason in dict.fromkeys(entry.why for entry in merged.left_out):
        settings = ", ".join(entry.what for entry in merged.left_out if entry.why == reason)
        out.note(f"skipped: {settings}: {reason}")
    out.notes(rendered.notes)
    if rendered.secrets:
        out.note("store the secrets before the deploy:")
        for stored in rendered.secrets:
            out.note(f"  {stored.command}")


def _document(merged: merge.Merged, rendered: render.Configuration) -> dict[str, Any]:
    return {
        "configuration": rendered.toml,
        "targets": list(rendered.arns),
        "secrets": [stored._asdict() for stored in rendered.secrets],
        "rules": [
            {
                "bucket": rule.bucket,
                "arn": rule.arn,
                "event": list(rule.events),
                "prefix": rule.prefix,
                "suffix": rule.suffix,
                "command": render.command(rule),
            }
            for rule in merged.rules
        ],
        "left_out": [entry._asdict() for entry in merged.left_out],
        "notes": rendered.notes,
    }
