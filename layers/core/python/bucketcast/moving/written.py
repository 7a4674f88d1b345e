"""What was settled, in words: `bucketcast.toml`, commands that store its secrets, and its rules.

The configuration is checked by the reader that a deploy uses before it is given out.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bucketcast import config, targets
from bucketcast.moving.found import TargetId
from bucketcast.moving.settled import Settled
from bucketcast.options import REFERENCE, Option, options_of
from bucketcast.rules import Rule

Configured = Mapping[TargetId, Mapping[str, str]]
Each = Iterator[tuple[TargetId, Option, str]]
Tables = dict[str, dict[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Stored:
    """A secret that the configuration refers to; `text` may be the path of the file with it."""

    name: str
    option: str
    text: str = field(repr=False)
    is_file: bool

    def command(self, *, with_text: bool) -> str:
        """The command of AWS's own client that stores it."""
        create = f"aws secretsmanager create-secret --name {shlex.quote(self.name)} --secret-string"
        if self.is_file:
            return f"{create} {shlex.quote('file://' + self.text)}"
        if with_text:  # on standard input, as others see the arguments of a command
            return f"printf %s {shlex.quote(self.text)} | {create} file:///dev/stdin"
        return f"{create} 'VALUE OF {self.option}'"


@dataclass(frozen=True, slots=True)
class Configuration:
    """`toml` is "" where there is nothing to configure; `notes` are for the reader."""

    toml: str = field(repr=False)
    arns: tuple[str, ...]
    secrets: tuple[Stored, ...]
    notes: tuple[str, ...]


def configuration(settled: Settled, *, plain: bool) -> Configuration:
    """The configuration; secrets stand in it as they are only where `plain`.

    Raises:
        ConfigErrors: a deploy would not take it: every mistake, by its key in the configuration.
    """
    if not settled.targets and not settled.sync_events:
        return Configuration("", (), (), ())
    secrets = tuple(_secrets(settled.targets))
    absent = [
        f"{target}.{option.key}: copy {text} from the MinIO server, or set the path where it is"
        for target, option, text in _elsewhere(settled.targets)
        if not option.secret
    ]
    deployment = _checked(settled)
    references = {} if plain else {stored.option: REFERENCE + stored.name for stored in secrets}
    return Configuration(
        _toml(settled, references),
        tuple(str(target.arn) for target in deployment.targets),
        () if plain else secrets,
        (*deployment.notes, *absent),
    )


def command(rule: Rule) -> str:
    """The command that makes a rule."""
    words = ["bucketcast", "event", "add", rule.bucket, rule.arn, "--event", ",".join(rule.events)]
    for name, text in (("--prefix", rule.prefix), ("--suffix", rule.suffix)):
        words += [name, text] if text else []
    return shlex.join(words)


def _checked(settled: Settled) -> config.Deployment:
    """What the deploy's reader makes of it; files that are elsewhere count as there."""
    elsewhere = {
        f"{target}.{option.key}": f"{REFERENCE}file"
        for target, option, _ in _elsewhere(settled.targets)
    }
    with TemporaryDirectory(prefix="bucketcast-") as folder:  # mode 0700: its secrets are plain
        path = Path(folder, "bucketcast.toml")
        path.write_text(_toml(settled, elsewhere), encoding="utf-8")
        return config.load(path, {}, local=True)


def _toml(settled: Settled, instead: Mapping[str, str]) -> str:
    import tomli_w  # noqa: PLC0415 - only the command has it

    tables: Tables = {}
    for target, values in settled.targets.items():
        texts = {key: instead.get(f"{target}.{key}", text) for key, text in values.items()}
        tables.setdefault(f"notify_{target.kind}", {})[target.id] = texts
    for rule in settled.rules:
        tables.setdefault("bucket", {})[rule.bucket] = {"create": False}
    top = {"sync_events": "on"} if settled.sync_events else {}
    return tomli_w.dumps({**top, **tables})


def _elsewhere(configured: Configured) -> Each:
    """The files that are not on this machine."""
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
