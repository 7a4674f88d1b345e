"""Validate the settings of dynamic targets, as those of the configuration file are."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bucketcast import targets
from bucketcast.config import encryption
from bucketcast.config.function import url_errors
from bucketcast.config.target import TARGET_ID, TARGET_ID_RULE, switch
from bucketcast.delivery.queue_names import TOKEN_LENGTH, dead_of
from bucketcast.deployment import DynamicSetup
from bucketcast.errors import ConfigError, ConfigErrors, did_you_mean
from bucketcast.limits import SPARE
from bucketcast.settings.egress import Egress
from bucketcast.settings.options import options_of, read, validation_errors
from bucketcast.settings.types import REFERENCE
from bucketcast.targets.base import Target
from bucketcast.targets.base.iam import IamLogin

_QUEUE_NAME = 80
_SETTINGS_BYTES = 300_000
"""An item of DynamoDB is 400 KB at most."""
_SECRET_BYTES = 65_536
_NO_RIGHTS = (
    "allowed is password: only a target of bucketcast.toml has a role, and rights, of its own"
)


@dataclass(frozen=True, slots=True)
class ValidatedTarget:
    """Valid settings: those that may be shown, and secrets.

    `notes` are for the user: what was accepted and has no effect.
    """

    shown: Mapping[str, str]
    secrets: Mapping[str, str] = field(repr=False)
    notes: tuple[str, ...]

    @property
    def enabled(self) -> bool:
        return self.shown.get("enable", "on") == "on"

    def with_references(self, secret: str) -> dict[str, str]:
        """Return all settings, the hidden ones as fields of this secret."""
        return {**self.shown, **{key: f"{REFERENCE}{secret}#{key}" for key in self.secrets}}

    @property
    def secret_text(self) -> str:
        """The text of the secret, a JSON object; "" if nothing is secret."""
        return json.dumps(dict(self.secrets), sort_keys=True) if self.secrets else ""


def require_available(setup: DynamicSetup, kind: str, id: str) -> None:  # noqa: A002 - MinIO's word
    """Require that a dynamic target of this kind and id is possible.

    Raises:
        ConfigErrors: it is not, with every reason.
    """
    if wrong := list(_about_the_target(setup, kind, id, f"notify_{kind}.{id}")):
        raise ConfigErrors(wrong)


def validate(setup: DynamicSetup, kind: str, id: str, values: Mapping[str, str]) -> ValidatedTarget:  # noqa: A002
    """Return the settings of a target of this kind and id.

    Raises:
        ConfigErrors: they are invalid; every error is named, and no secret is in the text.
    """
    where = f"notify_{kind}.{id}"
    require_available(setup, kind, id)
    target = targets.load(kind)
    declared: Any = target.Settings
    given = {key: text.strip() for key, text in values.items() if text.strip()}
    given["enable"] = switch(given.get("enable", "on"))
    wrong = [*_references(given, where)]
    wrong += validation_errors(declared, given, f"{where}.")
    if wrong:
        raise ConfigErrors(wrong)
    settings = read(declared, given)
    wrong += [ConfigError(f"{where}.{k}", found, must) for k, found, must in target.check(settings)]
    wrong += _open(setup, given, where)
    if isinstance(settings, IamLogin) and settings.by_iam:
        wrong.append(ConfigError(f"{where}.auth", "found 'iam'", _NO_RIGHTS))
    if kind == "webhook" and not setup.local:
        allowed = Egress(setup.allow_private)
        wrong += url_errors(f"{where}.endpoint", given["endpoint"], allowed, "dynamic_targets")
    wrong = wrong or list(_too_long(setup, target(settings), where))
    options = options_of(declared)
    hidden = {key: text for key, text in given.items() if options[key].hides(text)}
    shown = {key: text for key, text in given.items() if key not in hidden}
    notes = [*target.notes(settings)]
    if not setup.local:
        notes += encryption.notes(kind, where, given)
    found = ValidatedTarget(shown, hidden, tuple(notes))
    wrong += _too_large(found, where)
    if wrong:
        raise ConfigErrors(wrong)
    return found


def _about_the_target(
    setup: DynamicSetup,
    kind: str,
    id: str,  # noqa: A002 - MinIO's word
    where: str,
) -> Iterator[ConfigError]:
    if kind not in targets.kinds():
        near = did_you_mean(kind, targets.kinds())
        allowed = f"{near}allowed are {', '.join(targets.kinds())}"
        yield ConfigError(where, f"found no kind '{kind}'", allowed)
        return
    if kind not in setup.functions:
        available = ", ".join(sorted(setup.functions)) or "none"
        yield ConfigError(
            where,
            f"the stack has no function for dynamic targets of kind {kind}",
            f"it has one for: {available}; add the kind to [dynamic_targets] kinds in "
            "bucketcast.toml, then deploy",
        )
    if not TARGET_ID.fullmatch(id):
        yield ConfigError(where, f"found the id {id!r}", TARGET_ID_RULE)
        return
    longest = len(dead_of(setup.queue_name(kind, id, "0" * TOKEN_LENGTH)))
    if longest > _QUEUE_NAME:
        yield ConfigError(
            where,
            f"its queue's name would have {longest} characters",
            f"at most {_QUEUE_NAME}: choose an id of {len(id) - longest + _QUEUE_NAME} or fewer",
        )


def _references(given: Mapping[str, str], where: str) -> Iterator[ConfigError]:
    for key, text in given.items():
        if text.startswith(REFERENCE):
            yield ConfigError(
                f"{where}.{key}",
                "found a reference to a secret",
                "allowed is the text itself, which goes into Secrets Manager; references are for "
                "bucketcast.toml",
            )


def _open(setup: DynamicSetup, given: Mapping[str, str], where: str) -> Iterator[ConfigError]:
    """Yield the errors of an unencrypted connection, as for a target of the file."""
    if not setup.local:
        said = setup.tls_skip_verify
        then = " of bucketcast.toml, and a deploy"
        yield from encryption.validation_errors(
            where, given, "dynamic_targets", is_said_there=said, then=then
        )


def _too_long(setup: DynamicSetup, target: Target, where: str) -> Iterator[ConfigError]:
    least = target.max_send_seconds + SPARE
    if setup.timeout < least:
        yield ConfigError(
            where,
            f"one batch to it may take {least:g}s",
            f"allowed is {setup.timeout}s: [dynamic_targets] timeout in bucketcast.toml, and "
            "a deploy, change that",
        )


def _too_large(found: ValidatedTarget, where: str) -> Iterator[ConfigError]:
    limits = (
        ("settings", len(json.dumps(dict(found.shown))), _SETTINGS_BYTES),
        ("secrets", len(found.secret_text), _SECRET_BYTES),
    )
    for what, size, limit in limits:
        if size > limit:
            yield ConfigError(where, f"its {what} have {size:,} bytes", f"at most {limit:,}")
