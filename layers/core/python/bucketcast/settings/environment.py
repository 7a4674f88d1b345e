"""The settings of the functions, read from the environment once, at their start."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Self

import msgspec

from bucketcast.errors import ConfigError, ConfigErrors
from bucketcast.topics.model import TopicDefaults

ANY_BUCKET = "*"
_NONE = "none"


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """The buckets whose objects may be read, and the facts that targets want, by ARN.

    `mirrors` are the ARNs of targets that mirror a bucket.
    """

    buckets: frozenset[str] = frozenset()
    targets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    mirrors: frozenset[str] = frozenset()

    @classmethod
    def from_text(cls, text: str) -> Self:
        document = json.loads(text)
        mirrors = frozenset(document.get("mirrors", ()))
        return cls(frozenset(document["buckets"]), document["targets"], mirrors)

    def to_text(self) -> str:
        document = {
            "buckets": sorted(self.buckets),
            "targets": self.targets,
            "mirrors": sorted(self.mirrors),
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
    """How many events may wait for deployed targets that have a limit, by a digest of each ARN."""

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


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """Settings of ingest; `queue_prefix` is the URL of each queue up to its own name."""

    rules_table: str
    queue_prefix: str
    ingress_dead_queue_url: str
    sync_events: bool
    object_facts: ObjectFacts
    targets: DeployedTargets
    limits: QueueLimits = field(default_factory=QueueLimits)

    @property
    def ingress_queue_url(self) -> str:
        return f"{self.queue_prefix}ingress"

    @property
    def runtime_prefix(self) -> str:
        """The prefix of the queue names of run-time targets."""
        return f"{self.queue_prefix.rpartition('/')[2]}runtime-"

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        names = ("RULES_TABLE", "QUEUE_PREFIX", "INGRESS_DEAD_QUEUE_URL", "SYNC_EVENTS")
        table, prefix, dead, sync, facts, targets = _variables(
            environ, (*names, "OBJECT_FACTS", "TARGETS")
        )
        deployed = DeployedTargets.from_text(targets)
        read, limits = ObjectFacts.from_text(facts), environ.get("BUCKETCAST_QUEUE_LIMITS", "{}")
        limited = QueueLimits.from_text(limits)
        return cls(table, prefix, dead, sync == "on", read, deployed, limited)


@dataclass(frozen=True, slots=True)
class EntrySource:
    """A sender: its dialect and buckets (`*` and `?` are wildcards).

    `token` is a reference to the secret that it must present.
    """

    name: str
    token: str
    dialect: str
    buckets: tuple[str, ...]

    @classmethod
    def from_text(cls, text: str) -> tuple[Self, ...]:
        return tuple(
            cls(each["name"], each["token"], each["dialect"], tuple(each["buckets"]))
            for each in json.loads(text)
        )

    @staticmethod
    def to_text(sources: Iterable["EntrySource"]) -> str:
        document = [asdict(each) for each in sources]
        return json.dumps(document, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class EntrySettings:
    """Settings of the HTTP entry: its queue and senders."""

    queue_url: str
    sources: tuple[EntrySource, ...]

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        queue, sources = _variables(environ, ("QUEUE_URL", "SOURCES"))
        return cls(queue, EntrySource.from_text(sources))


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """Settings of the control plane: its deployment."""

    stack: str
    rules_table: str

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        stack, table = _variables(environ, ("STACK", "RULES_TABLE"))
        return cls(stack, table)


@dataclass(frozen=True, slots=True)
class DispatchSettings:
    """Settings of dispatch; `settings` are the target's own, with references to secrets."""

    kind: str
    id: str
    settings: Mapping[str, str]
    queue_url: str
    dead_queue_url: str
    sync_events: bool

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        names = ("KIND", "ID", "SETTINGS", "QUEUE_URL", "DEAD_QUEUE_URL", "SYNC_EVENTS")
        kind, id_, settings, queue, dead, sync = _variables(environ, names)
        return cls(kind, id_, json.loads(settings), queue, dead, sync == "on")


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """Settings of dispatch for run-time targets; `queues` is the base URL of queues.

    `table` holds the targets, `prefix` begins the names of this kind's queues, and `topics` are the
    defaults of topics.
    """

    kind: str
    table: str
    queues: str
    prefix: str
    topics: TopicDefaults = field(default_factory=TopicDefaults)

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        names = ("KIND", "RULES_TABLE", "QUEUES", "QUEUE_PREFIX")
        kind, table, queues, prefix = _variables(environ, names)
        given = environ.get("BUCKETCAST_TOPICS", "{}")
        return cls(kind, table, queues, prefix, msgspec.json.decode(given, type=TopicDefaults))


@dataclass(frozen=True, slots=True)
class PullSettings:
    """Of the function that stores events: `events` is the table of all subscriptions' events."""

    table: str
    events: str
    queue_url: str
    dead_queue_url: str
    topics: TopicDefaults

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        names = ("RULES_TABLE", "EVENTS_TABLE", "QUEUE_URL", "DEAD_QUEUE_URL", "TOPICS")
        table, events, queue, dead, topics = _variables(environ, names)
        defaults = msgspec.json.decode(topics, type=TopicDefaults)
        return cls(table, events, queue, dead, defaults)


def _digest(arn: str) -> str:
    return blake2b(arn.encode(), digest_size=4).hexdigest()


def _variables(environ: Mapping[str, str], names: tuple[str, ...]) -> list[str]:
    """Return the values of `BUCKETCAST_*` variables in this order.

    Raises:
        ConfigErrors: with the name of every variable that is not set.
    """
    full = [f"BUCKETCAST_{name}" for name in names]
    if missing := [name for name in full if not environ.get(name)]:
        errors = [ConfigError(name, "not set", "the stack sets it") for name in missing]
        raise ConfigErrors(errors)
    return [environ[name] for name in full]
