"""Render the merged settings: `bucketcast.toml`, and commands that store secrets and add rules.

The configuration is validated by the deploy's own reader first.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bucketcast import config, targets
from bucketcast.migrate.merge import Merged
from bucketcast.migrate.parsed import TargetId
from bucketcast.rules import Rule
from bucketcast.settings.options import Option, options_of
from bucketcast.settings.types import REFERENCE

_STORE = """\
set -e
store() {
  if aws secretsmanager describe-secret --secret-id "$1" > /dev/null 2>&1 < /dev/null
  then aws secretsmanager put-secret-value --secret-id "$1" --secret-string "$2"
  else aws secretsmanager create-secret --name "$1" --secret-string "$2"
  fi
}"""
Configured = Mapping[TargetId, Mapping[str, str]]
Each = Iterator[tuple[TargetId, Option, str]]
Tables = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Stored:
    """A secret that the configuration refers to; `text` may be the path of its file."""

    name: str
    option: str
    text: str = field(repr=False)
    is_file: bool

    @property
    def command(self) -> str:
        """The AWS CLI command that creates it, without its value."""
        value = f"file://{self.text}" if self.is_file else f"VALUE OF {self.option}"
        name = shlex.quote(self.name)
        create = f"aws secretsmanager create-secret --name {name} --secret-string"
        return f"{create} {shlex.quote(value)}"

    @property
    def line(self) -> str:
        """Its line in the script; the value is on standard input, since others see arguments."""
        name = shlex.quote(self.name)
        if self.is_file:
            return f"store {name} {shlex.quote('file://' + self.text)}"
        return f"printf %s {shlex.quote(self.text)} | store {name} file:///dev/stdin"


@dataclass(frozen=True, slots=True)
class Configuration:
    """`toml` is "" if there is nothing to configure; `notes` are for the user."""

    toml: str = field(repr=False)
    arns: tuple[str, ...]
    secrets: tuple[Stored, ...]
    notes: tuple[str, ...]


def configuration(merged: Merged, *, plain: bool) -> Configuration:
    """Render the configuration; with `plain` it contains the secrets themselves.

    Raises:
        ConfigErrors: a deploy would refuse it: every error, by its key in the configuration.
    """
    if not merged.targets and not merged.sync_events:
        return Configuration("", (), (), ())
    secrets = tuple(_secrets(merged.targets))
    absent = [
        f"{target}.{option.key}: copy {text} from the MinIO server, or change the path"
        for target, option, text in _elsewhere(merged.targets)
        if not option.secret
    ]
    deployment = _checked(merged)
    references = {} if plain else {stored.option: REFERENCE + stored.name for stored in secrets}
    return Configuration(
        _toml(merged, references),
        tuple(str(target.arn) for target in deployment.targets),
        () if plain else secrets,
        (*deployment.notes, *absent),
    )


def script(secrets: Iterable[Stored]) -> str:
    """Return a shell script that creates the secrets, or updates those that exist."""
    return "\n".join([_STORE, *(each.line for each in secrets), ""])


def command(rule: Rule) -> str:
    """Return the command that adds a rule."""
    words = ["bucketcast", "event", "add", rule.bucket, rule.arn, "--event", ",".join(rule.events)]
    for name, text in (("--prefix", rule.prefix), ("--suffix", rule.suffix)):
        words += [name, text] if text else []
    return shlex.join(words)


def _checked(merged: Merged) -> config.Deployment:
    """Validate with the deploy's reader; files on the MinIO server count as present."""
    elsewhere = {
        f"{target}.{option.key}": f"{REFERENCE}file"
        for target, option, _ in _elsewhere(merged.targets)
    }
    with TemporaryDirectory(prefix="bucketcast-") as folder:  # mode 0700: its secrets are plain
        path = Path(folder, "bucketcast.toml")
        path.write_text(_toml(merged, elsewhere), encoding="utf-8")
        return config.load(path, {}, local=True)


def _toml(merged: Merged, instead: Mapping[str, str]) -> str:
    import tomli_w  # noqa: PLC0415 - only the command has it

    tables: Tables = {}
    for target, values in merged.targets.items():
        texts = {key: instead.get(f"{target}.{key}", text) for key, text in values.items()}
        tables.setdefault(f"notify_{target.kind}", {})[target.id] = texts
    for rule in merged.rules:
        tables.setdefault("bucket", {})[rule.bucket] = {"create": False}
    top = {"sync_events": "on"} if merged.sync_events else {}
    return tomli_w.dumps({**top, **tables})


def _elsewhere(configured: Configured) -> Each:
    """Return the file options whose files are not on this machine."""
    return (
        (target, option, text)
        for target, option, text in _each(configured)
        if option.names_file(text) and not Path(text).is_file()
    )


def _secrets(configured: Configured) -> Iterator[Stored]:
    for target, option, text in _each(configured):
        if option.hides(text):
            name = f"bucketcast/{target.kind}-{target.id}/{option.key}"
            yield Stored(name, f"{target}.{option.key}", text, option.names_file(text))


def _each(configured: Configured) -> Each:
    for target, values in configured.items():
        declared: Any = targets.load(target.kind).Settings
        options: Mapping[str, Option] = options_of(declared)
        yield from ((target, options[key], text) for key, text in values.items())
