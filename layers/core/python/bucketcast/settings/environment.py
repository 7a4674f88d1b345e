"""The settings of the functions, read from the environment once, at their start."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from hashlib import blake2b
from typing import Any, Self, get_type_hints

import msgspec

from bucketcast.errors import ConfigError, ConfigErrors

ANY_BUCKET = "*"
_NONE = "none"


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """The buckets whose objects may be read, and the facts that deployed targets want, by ARN.

    `mirrors` are the ARNs of deployed targets that mirror a bucket. `topics` are the facts that all
    topics want.
    """

    buckets: frozenset[str] = frozenset()
    targets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    mirrors: frozenset[str] = frozenset()
    topics: tuple[str, ...] = ()

    @classmethod
    def from_text(cls, text: str) -> Self:
        return msgspec.json.decode(text, type=cls)

    def to_text(self) -> str:
        document = {
            "buckets": sorted(self.buckets),
            "targets": self.targets,
            "mirrors": sorted(self.mirrors),
            "topics": self.topics,
        }
        return json.dumps(document, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class DeployedTargets:
    """The deployed targets, by a digest of each ARN: Lambda allows 4 KB of variables."""

    digests: frozenset[str]

    @classmethod
    def of(cls, arns: Iterable[str]) -> Self:
        return cls(frozenset(map(_digest, arns)))

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(frozenset(text.split(",")) - {_NONE})

    def to_text(self) -> str:
        return ",".join(sorted(self.digests)) or _NONE

    def __contains__(self, arn: str) -> bool:
        return _digest(arn) in self.digests


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """The most messages that may wait for a deployed target, by a digest of its ARN."""

    limits: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, limits: Mapping[str, int]) -> Self:
        return cls({_digest(arn): limit for arn, limit in limits.items()})

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(json.loads(text))

    def to_text(self) -> str:
        return json.dumps(dict(self.limits), sort_keys=True, separators=(",", ":"))

    def limit(self, arn: str) -> int | None:
        return self.limits.get(_digest(arn)) if self.limits else None


class TopicDefaults(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults of all topics, as Ceph's three global options; 0 means no limit."""

    time_to_live: int = 0
    max_retries: int = 0
    retry_sleep_duration: int = 0


class _Settings:
    """Settings of a function; a field is read from the variable with its name."""

    __slots__ = ()

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Return the settings from `BUCKETCAST_*` variables.

        Raises:
            ConfigErrors: with the name of every variable that is not set.
        """
        declared: Any = cls
        hints = get_type_hints(cls)
        values, errors = {}, []
        for setting in fields(declared):
            variable = f"BUCKETCAST_{setting.name.upper()}"
            if text := environ.get(variable):
                values[setting.name] = _value(hints[setting.name], text)
            elif setting.default_factory is MISSING:
                errors.append(ConfigError(variable, "not set", "the stack sets it"))
        if errors:
            raise ConfigErrors(errors)
        return cls(**values)


def _value(hint: Any, text: str) -> Any:
    """Return a variable's value: text, a switch, a type with its own `from_text`, else JSON."""
    if hint is str:
        return text
    if hint is bool:
        return text == "on"
    if hasattr(hint, "from_text"):
        return hint.from_text(text)
    return msgspec.json.decode(text, type=hint)


@dataclass(frozen=True, slots=True)
class IngestSettings(_Settings):
    """Settings of ingest; `target_queues` is the URL of each target's queue.

    It has a `*` for the kind and id of the target.
    """

    state_table: str
    target_queues: str
    ingress_dead_queue_url: str
    object_facts: ObjectFacts
    targets: DeployedTargets
    queue_limits: QueueLimits = field(default_factory=QueueLimits)

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


@dataclass(frozen=True, slots=True)
class GatewaySettings(_Settings):
    """Settings of the gateway's functions: their deployment, and if they write an audit log.

    One function serves `listeners` only, at `listen_url`.
    """

    stack: str
    state_table: str
    audit: bool = field(default_factory=bool)
    listeners: bool = field(default_factory=bool)
    listen_url: str = field(default_factory=str)


@dataclass(frozen=True, slots=True)
class DispatchSettings(_Settings):
    """Settings of dispatch; `settings` are the target's own, with references to secrets."""

    kind: str
    id: str
    settings: Mapping[str, str]
    queue_url: str
    dead_queue_url: str


@dataclass(frozen=True, slots=True)
class DynamicSettings(_Settings):
    """Settings of dispatch for dynamic targets; `queues` is the base URL of queues.

    `state_table` holds the targets, `queue_prefix` is the beginning of the names of this kind's
    queues, and `topics` are the defaults of topics.
    """

    kind: str
    state_table: str
    queues: str
    queue_prefix: str
    topics: TopicDefaults = field(default_factory=TopicDefaults)


def _digest(arn: str) -> str:
    return blake2b(arn.encode(), digest_size=4).hexdigest()
