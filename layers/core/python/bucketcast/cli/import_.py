"""`bucketcast import`: configurations of other systems, turned into Bucketcast's."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from bucketcast.cli import import_ceph, words
from bucketcast.cli.screen import Screen, shared
from bucketcast.errors import BucketcastError
from bucketcast.moving import files, settled, written
from bucketcast.rules import Rule

_PRIVATE = 0o600
_STANDARD_INPUT = Path("-")


class NotWrittenError(BucketcastError):
    """The file system did not take what was made."""


@click.group()
def command() -> None:
    """Turn what another system is configured with into Bucketcast's own."""


@command.command()
@words.files
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the configuration there instead of to standard output.",
)
@click.option(
    "--secrets",
    "script",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the commands that store the secrets there, with their values, for you alone.",
)
@click.option(
    "--plain-secrets",
    is_flag=True,
    help="Leave secrets in the configuration, which only a local deploy takes.",
)
@click.option(
    "--bucket",
    type=words.bucket_name,
    metavar="NAME",
    help="Whose notification XML it is; needed unless the file is NAME/notification.xml.",
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
@shared
@click.pass_obj
def minio(  # noqa: PLR0913 - one parameter an option
    screen: Screen,
    paths: tuple[Path, ...],
    *,
    output: Path | None,
    script: Path | None,
    plain_secrets: bool,
    bucket: str | None,
    force: bool,
) -> None:
    """Turn what a MinIO server is configured with into bucketcast.toml.

    FILE is the text of `mc admin config export`, a file of MINIO_NOTIFY_... variables such as
    /etc/default/minio, a config.json of before 2020, or a bucket's notification XML, which becomes
    the commands that make its rules; several are joined as MinIO joins them. - is standard input.

    The configuration goes to standard output, the commands for rules too: with both, --output is
    needed. Secrets become references, and the commands that store them are said apart. What is not
    taken over is said with its reason; what cannot be taken over is a mistake: all are listed,
    nothing is written, and the exit code is 2.

    \b
    Example:
      mc admin config export myminio > export.txt
      bucketcast import minio export.txt --output bucketcast.toml --secrets store-secrets.sh
      mc admin cluster bucket export myminio && unzip cluster-metadata.zip
      bucketcast import minio */notification.xml
    """  # noqa: D301 - click reads the character
    _none_is_there((output, script), force=force)
    read = files.read(map(_read, paths), bucket=bucket or "")
    found = settled.settle(read)
    for rule in found.rules:
        _check(rule)
    made = written.configuration(found, plain=plain_secrets)
    if made.toml and found.rules and output is None and not screen.json:
        raise click.UsageError(
            "there are a configuration and rules: --output FILE takes the configuration, and the "
            "commands for the rules go to standard output"
        )
    if output is not None and made.toml:
        _write(output, made.toml, private=plain_secrets)
    if script is not None and made.secrets:
        commands = [stored.command(with_text=True) for stored in made.secrets]
        _write(script, "\n".join(["set -e", *commands, ""]), private=True)
    notes = [*made.notes, *_about_rules(found.rules, made)]
    if not screen.json:
        _say(screen, found, made, notes, script)
    toml = [] if output else made.toml.splitlines()
    document = {"output": str(output) if output and made.toml else None}
    document |= _document(found, made, notes)
    screen.answer(document, *toml, *map(written.command, found.rules), exact=True)


command.add_command(import_ceph.command)


def _read(path: Path) -> files.File:
    try:
        with click.open_file(str(path), encoding="utf-8-sig") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "no text in UTF-8"
        raise click.UsageError(f"{path} cannot be read: {why}") from None
    return files.File("standard input" if path == _STANDARD_INPUT else str(path), text)


def _none_is_there(paths: Iterable[Path | None], *, force: bool) -> None:
    for path in paths:
        if path is not None and path.exists() and not force:
            raise click.UsageError(f"{path} is there already: name another file, or add --force")


def _write(path: Path, text: str, *, private: bool) -> None:
    try:
        path.touch(mode=_PRIVATE if private else 0o666)
        if private:
            path.chmod(_PRIVATE)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise NotWrittenError(f"{path} cannot be written: {error.strerror}") from None


def _check(rule: Rule) -> None:
    """What `event add` would refuse; MinIO stores such rules."""
    words.bucket_name(rule.bucket)
    words.key_part(rule.prefix)
    words.key_part(rule.suffix)


def _about_rules(rules: Iterable[Rule], made: written.Configuration) -> list[str]:
    notes = []
    if buckets := sorted({rule.bucket for rule in rules}):
        listed = ", ".join(buckets)
        notes.append(
            f"the configuration takes {listed} as they are on S3: create = true makes new ones"
            if made.toml
            else f"rules need their buckets wired: [bucket.NAME] in bucketcast.toml for {listed}"
        )
    if made.arns:
        unknown = sorted({rule.arn for rule in rules}.difference(made.arns))
        notes += [f"rules name {arn}, which is no target in these files" for arn in unknown]
    return notes


def _say(
    screen: Screen,
    found: settled.Settled,
    made: written.Configuration,
    notes: Iterable[str],
    script: Path | None,
) -> None:
    for why in dict.fromkeys(left.why for left in found.left_out):
        what = ", ".join(left.what for left in found.left_out if left.why == why)
        screen.note(f"left out: {what}: {why}")
    for note in notes:
        screen.note(f"note: {note}")
    if made.secrets and script:
        screen.note(f"store the secrets before a deploy: sh {script}; then delete that file")
    elif made.secrets:
        screen.note("store the secrets before a deploy, or write this with values by --secrets:")
        for stored in made.secrets:
            screen.note(f"  {stored.command(with_text=False)}")


def _document(
    found: settled.Settled, made: written.Configuration, notes: Iterable[str]
) -> dict[str, Any]:
    return {
        "configuration": made.toml,
        "targets": list(made.arns),
        "secrets": [
            {
                "name": stored.name,
                "option": stored.option,
                "command": stored.command(with_text=False),
            }
            for stored in made.secrets
        ],
        "rules": [
            {
                "bucket": rule.bucket,
                "arn": rule.arn,
                "event": list(rule.events),
                "prefix": rule.prefix,
                "suffix": rule.suffix,
                "command": written.command(rule),
            }
            for rule in found.rules
        ],
        "left_out": [{"what": left.what, "why": left.why} for left in found.left_out],
        "notes": list(notes),
    }
