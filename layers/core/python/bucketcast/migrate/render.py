"""Render the merged settings: `bucketcast.toml`, and commands that store secrets and add rules.

The configuration is validated by the deploy's own reader first.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from bucketcast import config, targets
from bucketcast.config.model import Deployment
from bucketcast.errors import ConfigError, ConfigErrors
from bucketcast.migrate.merge import Merged
from bucketcast.migrate.parsed import TargetId
from bucketcast.rules import Rule
from bucketcast.settings.options import Option, options_of
from bucketcast.settings.types import REFERENCE

Configured = Mapping[TargetId, Mapping[str, str]]
OptionValues = Iterator[tuple[TargetId, Option, str]]


class StoredSecret(NamedTuple):
    """A secret that the configuration refers to; the AWS CLI's `command` has no value of it."""

    name: str
    option: str
    command: str


@dataclass(frozen=True, slots=True)
class Configuration:
    """`toml` is "" if there is nothing to configure; `notes` are for the user.

    `refused` are the errors of the targets that are left out.
    """

    toml: str = field(repr=False)
    arns: tuple[str, ...]
    secrets: tuple[StoredSecret, ...]
    notes: tuple[str, ...]
    refused: tuple[ConfigError, ...]


def _target_of(error: ConfigError, configured: Configured) -> TargetId | None:
    """Return the target that an error is about; an id that is refused may hold dots."""
    key = f"{error.key}."
    named = (target for target in configured if key.startswith(f"{target}."))
    return max(named, key=lambda target: len(target.id), default=None)


def configuration(merged: Merged) -> Configuration:
    """Render the configuration, without the targets that a deploy would refuse.

    Raises:
        ConfigErrors: a deploy would refuse something else, or nothing is left.
    """
    import tomli_w  # noqa: PLC0415 - only the command has it

    refused: tuple[ConfigError, ...] = ()
    try:
        deployment = _load(merged)
    except ConfigErrors as found:
        refused = found.errors
        wrong = {_target_of(error, merged.targets) for error in refused}
        kept = {target: values for target, values in merged.targets.items() if target not in wrong}
        if len(kept) == len(merged.targets) or not (kept or merged.rules):
            raise
        merged = replace(merged, targets=kept)
        deployment = _load(merged)
    if not merged.targets and not merged.sync_events:
        return Configuration("", (), (), (), refused)
    secrets = tuple(_secrets(merged.targets))
    absent = [
        f"{target}.{option.key}: copy {value} from the MinIO server, or change the path"
        for target, option, value in _remote_files(merged.targets)
        if not option.secret
    ]
    references = {secret.option: REFERENCE + secret.name for secret in secrets}
    return Configuration(
        tomli_w.dumps(_tables(merged, references)),
        tuple(str(target.arn) for target in deployment.targets),
        secrets,
        (*deployment.notes, *absent),
        refused,
    )


def command(rule: Rule) -> str:
    """Return the command that adds a rule."""
    words = ["bucketcast", "event", "add", rule.bucket, rule.to.short]
    words += ["--event", ",".join(rule.events)]
    for name, value in (("--prefix", rule.prefix), ("--suffix", rule.suffix)):
        words += [name, value] if value else []
    return shlex.join(words)


def _load(merged: Merged) -> Deployment:
    """Check it by the deploy's reader; files on the MinIO server count as present."""
    references = {
        f"{target}.{option.key}": f"{REFERENCE}file"
        for target, option, _ in _remote_files(merged.targets)
    }
    return config.load(_tables(merged, references), {}, local=True)


def _tables(merged: Merged, replacements: Mapping[str, str]) -> dict[str, Any]:
    tables: dict[str, Any] = {"sync_events": "on"} if merged.sync_events else {}
    for target, values in merged.targets.items():
        options = {key: replacements.get(f"{target}.{key}", value) for key, value in values.items()}
        tables.setdefault(f"notify_{target.kind}", {})[target.id] = options
    for rule in merged.rules:
        tables.setdefault("bucket", {})[rule.bucket] = {"create": False}
    return tables


def _remote_files(configured: Configured) -> OptionValues:
    """Return the file options whose files are not on this machine."""
    return (
        (target, option, value)
        for target, option, value in _option_values(configured)
        if option.names_file(value) and not Path(value).is_file()
    )


def _secrets(configured: Configured) -> Iterator[StoredSecret]:
    for target, option, value in _option_values(configured):
        if option.hides(value):
            name = f"bucketcast/{target.kind}-{target.id}/{option.key}"
            key = f"{target}.{option.key}"
            text = f"file://{value}" if option.names_file(value) else f"VALUE OF {key}"
            words = ["aws", "secretsmanager", "create-secret", "--name", name]
            yield StoredSecret(name, key, shlex.join([*words, "--secret-string", text]))


def _option_values(configured: Configured) -> OptionValues:
    for target, values in configured.items():
        declared: Any = targets.load(target.kind).Settings
        options: Mapping[str, Option] = options_of(declared)
        known = ((key, value) for key, value in values.items() if key in options)
        yield from ((target, options[key], value) for key, value in known)
