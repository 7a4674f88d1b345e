"""The settings of the functions, read from the environment once, at their start."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Self

import msgspec
from msgspec.structs import fields

from bucketcast.errors import ConfigError, ConfigErrors

ANY_BUCKET = "*"
_NONE = "none"


class ObjectFacts(msgspec.Struct, frozen=True):
    """The buckets whose objects may be read, and the facts that deployed targets want, by ARN.

    `mirrors` are the ARNs of deployed targets that mirror a bucket. `topics` are the facts that all
    topics want.
    """

    buckets: frozenset[str] = frozenset()
    targets: Mapping[str, Sequence[str]] = {}
    mirrors: frozenset[str] = frozenset()
    topics: tuple[str, ...] = ()

    def to_text(self) -> str:
        return msgspec.json.encode(self, order="deterministic").decode()


class DeployedTargets(msgspec.Struct, frozen=True):
    """The deployed targets, by a digest of their ARNs: Lambda allows 4 KB of variables."""

    digests: frozenset[str]

    @classmethod
    def of(cls, arns: Iterable[str]) -> Self:
        """Return the targets with these ARNs."""
        return cls(frozenset(map(_digest, arns)))

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(frozenset(text.split(",")) - {_NONE})

    def to_text(self) -> str:
        return ",".join(sorted(self.digests)) or _NONE

    def __contains__(self, arn: str) -> bool:
        return _digest(arn) in self.digests


class TopicDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults of all topics, as Ceph's three global options; 0 means no limit."""

    time_to_live: int = 0
    max_retries: int = 0
    retry_sleep_duration: int = 0


class _Settings(msgspec.Struct, frozen=True):
    """Settings of a function; a field is read from the variable with its name."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Return the settings from `BUCKETCAST_*` variables.

        Raises:
            ConfigErrors: with the name of every variable that is not set.
        """
        values, errors = {}, []
        for setting in fields(cls):
            variable = f"BUCKETCAST_{setting.name.upper()}"
            if text := environ.get(variable):
                values[setting.name] = _value(setting.type, text)
            elif setting.required:
                errors.append(ConfigError(variable, "not set", "the stack sets it"))
        if errors:
            raise ConfigErrors(errors)
        return cls(**values)


def _value(hint: Any, text: str) -> Any:
    """Return a variable's value: text, a type with its own `from_text`, else JSON."""
    if hint is str:
        return text
    if hasattr(hint, "from_text"):
        return hint.from_text(text)
    return msgspec.json.decode(text, type=hint)


class IngestSettings(_Settings, frozen=True):
    """Settings of ingest; `target_queues` is the URL of each target's queue.

    It has a `*` for the kind and id of the target.
    """

    state_table: str
    target_queues: str
    ingress_dead_queue_url: str
    object_facts: ObjectFacts
    targets: DeployedTargets

    @property
    def queue_prefix(self) -> str:
        """The URL of each queue of the stack up to its own name."""
        return self.target_queues.partition("*")[0]

    @property
    def ingress_queue_url(self) -> str:
        return f"{self.queue_prefix}ingress"

    @property
    def dynamic_prefix(self) -> str:
        """The prefix of the queue names of dynamic targets."""
        return f"{self.queue_prefix.rpartition('/')[2]}dynamic-"


class GatewaySettings(_Settings, frozen=True):
    """Settings of the gateway's functions: their deployment.

    One function serves listeners only, at `listen_url`: so many `listeners` of a user.
    """

    stack: str
    state_table: str
    listeners: int = 0
    listen_url: str = ""


class DispatchSettings(_Settings, frozen=True):
    """Settings of dispatch; `settings` are the target's own, with references to secrets."""

    kind: str
    id: str
    settings: Mapping[str, str]
    queue_url: str
    dead_queue_url: str


class DynamicSettings(_Settings, frozen=True):
    """Settings of dispatch for dynamic targets; `queues` is the base URL of queues.

    `state_table` holds the targets, `queue_prefix` is the beginning of the names of their
    queues, and `topics` are the defaults of topics.
    """

    kind: str
    state_table: str
    queues: str
    queue_prefix: str
    topics: TopicDefaults = TopicDefaults()


def _digest(arn: str) -> str:
    return blake2b(arn.encode(), digest_size=4).hexdigest()
