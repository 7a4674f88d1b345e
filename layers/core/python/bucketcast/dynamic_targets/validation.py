"""Validate the settings of dynamic targets by the rules of the configuration file."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from bucketcast import targets
from bucketcast.config import encryption
from bucketcast.config.function import url_errors
from bucketcast.config.ingest import facts_error
from bucketcast.config.target_reader import TARGET_ID, TARGET_ID_RULE, setting_errors, switch
from bucketcast.delivery.queue_names import TOKEN_LENGTH, dead_of
from bucketcast.deployment import DynamicSetup
from bucketcast.errors import ConfigError, ConfigErrors, did_you_mean
from bucketcast.limits import MOST_SETTINGS_BYTES, SETTLE_SECONDS
from bucketcast.settings.egress import Egress
from bucketcast.settings.options import options_of
from bucketcast.settings.types import REFERENCE
from bucketcast.targets.base import Target
from bucketcast.targets.base.iam import IamLogin

_QUEUE_NAME = 80
_SECRET_BYTES = 65_536
_NO_RIGHTS = (
    "allowed is password: only a target of bucketcast.toml has a role, and rights, of its own"
)


@dataclass(frozen=True, slots=True)
class ValidatedTarget:
    """Valid settings: those that may be shown, and secrets.

    `notes` tell the user about settings without effect. `login` is a topic's, and is kept beside
    the secrets.
    """

    shown: Mapping[str, str]
    secrets: Mapping[str, str] = field(repr=False)
    notes: tuple[str, ...]
    login: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def enabled(self) -> bool:
        return self.shown.get("enable", "on") == "on"

    def with_references(self, secret: str) -> dict[str, str]:
        """Return all settings, with references to fields of this secret for the hidden ones."""
        return {**self.shown, **{key: f"{REFERENCE}{secret}#{key}" for key in self.secrets}}

    @property
    def hidden(self) -> dict[str, str]:
        """The fields of its secret, none if nothing is secret."""
        return {**self.secrets, **self.login}

    @property
    def secret_text(self) -> str:
        """The text of the secret, a JSON object."""
        return json.dumps(self.hidden, sort_keys=True)


def require_available(setup: DynamicSetup, kind: str, id: str) -> None:  # noqa: A002 - MinIO's word
    """Require that the stack supports a dynamic target of this kind and id.

    Raises:
        ConfigErrors: it does not; all reasons are listed.
    """
    if errors := list(_target_errors(setup, kind, id, f"notify_{kind}.{id}")):
        raise ConfigErrors(errors)


def validate(
    setup: DynamicSetup,
    kind: str,
    id: str,  # noqa: A002 - MinIO's word
    values: Mapping[str, str],
    login: Mapping[str, str] = MappingProxyType({}),
) -> ValidatedTarget:
    """Validate the settings of a target of this kind and id.

    Raises:
        ConfigErrors: they are invalid; all errors are listed, without secrets.
    """
    path = f"notify_{kind}.{id}"
    require_available(setup, kind, id)
    target = targets.load(kind)
    declared: Any = target.Settings
    settings_text = {key: value.strip() for key, value in values.items() if value.strip()}
    settings_text["enable"] = switch(settings_text.get("enable", "on"))
    errors = [*_reference_errors(settings_text, path)]
    invalid, parsed = setting_errors(target, settings_text, path)
    errors += invalid
    if settings_text.get("facts") and not setup.object_facts:
        errors.append(facts_error(f"{path}.facts"))
    errors += _encryption_errors(setup, settings_text, path)
    if isinstance(parsed, IamLogin) and parsed.by_iam:
        errors.append(ConfigError(f"{path}.auth", "found 'iam'", _NO_RIGHTS))
    if errors:
        raise ConfigErrors(errors)
    if not setup.local:
        errors += _address_errors(setup, target(parsed), path)
    errors = errors or list(_timeout_errors(setup, target(parsed), path))
    options = options_of(declared)
    hidden = {key: value for key, value in settings_text.items() if options[key].hides(value)}
    shown = {key: value for key, value in settings_text.items() if key not in hidden}
    notes = [*target.notes(parsed)]
    if not setup.local:
        notes += encryption.notes(kind, path, settings_text)
    found = ValidatedTarget(shown, hidden, tuple(notes), login)
    errors += _size_errors(found, path)
    if errors:
        raise ConfigErrors(errors)
    return found


def _address_errors(setup: DynamicSetup, target: Target, path: str) -> Iterator[ConfigError]:
    """Yield an error for each server that the function would refuse to connect to."""
    allowed = Egress(setup.allow_private)
    if url := getattr(target.settings, "endpoint", ""):  # also behind a proxy
        yield from url_errors(f"{path}.endpoint", url, allowed, "dynamic_targets")
        return
    for host in sorted({server.host for server in target.endpoints()}):
        address = f"//[{host}]" if ":" in host else f"//{host}"
        yield from url_errors(path, address, allowed, "dynamic_targets")


def _target_errors(
    setup: DynamicSetup,
    kind: str,
    id: str,  # noqa: A002 - MinIO's word
    path: str,
) -> Iterator[ConfigError]:
    if kind not in targets.kinds():
        near = did_you_mean(kind, targets.kinds())
        allowed = f"{near}allowed are {', '.join(targets.kinds())}"
        yield ConfigError(path, f"found no kind '{kind}'", allowed)
        return
    if kind not in setup.functions:
        kinds = ", ".join(f'"{each}"' for each in sorted((*setup.functions, kind)))
        yield ConfigError(
            path,
            f"the stack has no function for dynamic targets of kind {kind}",
            f"write kinds = [{kinds}] into [dynamic_targets] of bucketcast.toml, then deploy",
        )
    if not TARGET_ID.fullmatch(id):
        yield ConfigError(path, f"found the id {id!r}", TARGET_ID_RULE)
        return
    longest = len(dead_of(setup.queue_name(f"{kind}:{id}", "0" * TOKEN_LENGTH)))
    if longest > _QUEUE_NAME:
        yield ConfigError(
            path,
            f"its queue's name would have {longest} characters",
            f"at most {_QUEUE_NAME}: choose an id of {len(id) - longest + _QUEUE_NAME} or fewer",
        )


def _reference_errors(values: Mapping[str, str], path: str) -> Iterator[ConfigError]:
    for key, value in values.items():
        if value.startswith(REFERENCE):
            yield ConfigError(
                f"{path}.{key}",
                "found a reference to a secret",
                "allowed is the text itself, which goes into Secrets Manager; references are for "
                "bucketcast.toml",
            )


def _encryption_errors(
    setup: DynamicSetup, values: Mapping[str, str], path: str
) -> Iterator[ConfigError]:
    """Yield the errors of an unencrypted connection."""
    if not setup.local:
        confirmed = setup.tls_skip_verify
        hint = " of bucketcast.toml, and a deploy"
        yield from encryption.validation_errors(
            path, values, "dynamic_targets", confirmed=confirmed, hint=hint
        )


def _timeout_errors(setup: DynamicSetup, target: Target, path: str) -> Iterator[ConfigError]:
    required = target.max_send_seconds + SETTLE_SECONDS
    if setup.timeout < required:
        yield ConfigError(
            path,
            f"sending one batch may take {required:g}s",
            f"allowed is {setup.timeout}s: a target in bucketcast.toml may have a longer one",
        )


def _size_errors(valid: ValidatedTarget, path: str) -> Iterator[ConfigError]:
    limits = (
        ("settings", len(json.dumps(dict(valid.shown))), MOST_SETTINGS_BYTES),
        ("secrets", len(valid.secret_text), _SECRET_BYTES),
    )
    for noun, size, limit in limits:
        if size > limit:
            yield ConfigError(path, f"its {noun} have {size:,} bytes", f"at most {limit:,}")
