"""What a function reads from its environment, once, while it starts."""

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
    """Of which buckets the objects may be looked at, and what targets want to know, by ARN.

    `mirrors` are the ARNs of those that show what a bucket shows.
    """

    buckets: frozenset[str] = frozenset()
    targets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    mirrors: frozenset[str] = frozenset()

    @classmethod
    def from_text(cls, text: str) -> Self:
        held = json.loads(text)
        mirrors = frozenset(held.get("mirrors", ()))
        return cls(frozenset(held["buckets"]), held["targets"], mirrors)

    def to_text(self) -> str:
        held = {
            "buckets": sorted(self.buckets),
            "targets": self.targets,
            "mirrors": sorted(self.mirrors),
        }
        return json.dumps(held, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class DeployedTargets:
    """Which targets there are, by a digest of each ARN: Lambda has room for 4 KB of variables."""

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
class IngestSettings:
    """`queue_prefix` is the URL of every queue of the stack, up to its own part of it."""

    rules_table: str
    queue_prefix: str
    ingress_dead_queue_url: str
    sync_events: bool
    object_facts: ObjectFacts
    targets: DeployedTargets

    @property
    def ingress_queue_url(self) -> str:
        return f"{self.queue_prefix}ingress"

    @property
    def runtime_prefix(self) -> str:
        """How the names of the queues of run-time targets begin."""
        return f"{self.queue_prefix.rpartition('/')[2]}runtime-"

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        names = ("RULES_TABLE", "QUEUE_PREFIX", "INGRESS_DEAD_QUEUE_URL", "SYNC_EVENTS")
        table, prefix, dead, sync, facts, targets = _variables(
            environ, (*names, "OBJECT_FACTS", "TARGETS")
        )
        known = DeployedTargets.from_text(targets)
        return cls(table, prefix, dead, sync == "on", ObjectFacts.from_text(facts), known)


@dataclass(frozen=True, slots=True)
class EntrySource:
    """Who may post, in which dialect and of which buckets (`*` and `?` are wild).

    `token` is a reference to the secret that it must know.
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
        held = [asdict(each) for each in sources]
        return json.dumps(held, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class EntrySettings:
    """Where a source's notifications go."""

    queue_url: str
    sources: tuple[EntrySource, ...]

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        queue, sources = _variables(environ, ("QUEUE_URL", "SOURCES"))
        return cls(queue, EntrySource.from_text(sources))


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """The deployment whose control plane it is."""

    stack: str
    rules_table: str

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        stack, table = _variables(environ, ("STACK", "RULES_TABLE"))
        return cls(stack, table)


@dataclass(frozen=True, slots=True)
class DispatchSettings:
    """`settings` are the target's own, with references in place of secrets."""

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
    """Of a function for run-time targets: `queues` is the URL of any queue but for its name.

    `table` holds the targets, `prefix` begins the names of this kind's queues, and `topics` is what
    holds where a topic says nothing.
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


def _digest(arn: str) -> str:
    return blake2b(arn.encode(), digest_size=4).hexdigest()


def _variables(environ: Mapping[str, str], names: tuple[str, ...]) -> list[str]:
    """The `BUCKETCAST_*` variables in this order.

    Raises:
        ConfigErrors: with the name of every variable that is not set.
    """
    full = [f"BUCKETCAST_{name}" for name in names]
    if missing := [name for name in full if not environ.get(name)]:
        errors = [ConfigError(name, "not set", "the stack sets it") for name in missing]
        raise ConfigErrors(errors)
    return [environ[name] for name in full]
