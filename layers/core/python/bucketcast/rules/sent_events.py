"""The part of a bucket's events that S3 sends, and which rules ask for more.

Each event that S3 sends costs three requests of SQS and ingest's time, also if no rule wants it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from os import path
from typing import Final, Literal, NamedTuple, Self

from msgspec import Raw

from bucketcast.event import Event
from bucketcast.event.names import SINGLES, WORDS, canonical, expand, in_aws, spellings, translate
from bucketcast.rules import Rule
from bucketcast.rules.access_events import NAMES

# S3 has no `s3:*`; a family with one member has no wildcard.
EVENTS: Final = (
    "s3:IntelligentTiering",
    "s3:LifecycleExpiration:*",
    "s3:LifecycleTransition",
    "s3:ObjectAcl:Put",
    "s3:ObjectAnnotation:*",
    "s3:ObjectCreated:*",
    "s3:ObjectRemoved:*",
    "s3:ObjectRestore:*",
    "s3:ObjectRetention:Put",
    "s3:ObjectTagging:*",
    "s3:ReducedRedundancyLostObject",
    "s3:Replication:*",
)
"""All events that S3 notifies of."""
_OTHERS: Final = {
    *NAMES.values(),
    "s3:ObjectRemoved:DeleteAllVersions",
    "s3:ObjectRemoved:NoOP",
    "s3:Replication:Create",
    "s3:Replication:Delete",
    "s3:Replication:DeletionMarkerCreated",
    "s3:Replication:OperationCompletedReplication",
}
"""What MinIO or Ceph or CloudTrail has in a family of S3."""
_HEAD: Final = re.compile(r"(?!.*\|)[\w/-]+(?![*?{])|")
"""The literal text with which a regular expression begins."""


def _is_in(event: str, families: Iterable[str]) -> bool:
    return any(fnmatchcase(event, each) for each in families)


def _event(name: str, original: str = "", version_id: str | None = None) -> Event:
    """Return an event of S3, as far as its names depend on it."""
    return Event(name, "", "", "", "", Raw(), original=original, version_id=version_id)


def _names(event: str) -> frozenset[str]:
    """Return all names by which rules may match an event of S3."""
    seen = [_event(*translate(event), version) for version in (None, "of a version")]
    return frozenset(name for each in seen for name in spellings(each))


_SENT: Final = {
    event: _names(event)
    for event in SINGLES - _OTHERS
    if _is_in(event, EVENTS) and in_aws(_event(event)) == event
} | {family: frozenset([family]) for family in EVENTS if family.endswith("*")}
"""The names of each event that S3 may send; a family stands for those that S3 may add to it."""


class Part(NamedTuple):
    """The events of a bucket that S3 sends: their names, and the ends of keys."""

    events: tuple[str, ...] = EVENTS
    prefix: str = ""
    suffix: str = ""

    @classmethod
    def of(cls, events: Iterable[str] = EVENTS, prefix: str = "", suffix: str = "") -> Self:
        """Return the part with these events, whose order S3 may change."""
        given = set(events)
        own = (each for each in given if not _is_in(each, given - {each}))
        return cls(tuple(sorted(own)), prefix, suffix)

    def covers(self, other: "Part") -> bool:
        """Return True if it has all events of another part."""
        return (
            all(_is_in(each, self.events) for each in other.events)
            and other.prefix.startswith(self.prefix)
            and other.suffix.endswith(self.suffix)
        )

    def with_rules(self, rules: Iterable[Rule]) -> "Part":
        """Return the least part that also has what rules ask for; the same if it has that."""
        part = self
        for rule in rules:
            asked = {name for event in rule.events for name in expand(event)}
            needed = [event for event, names in _SENT.items() if names & asked]
            missing = [each for each in needed if not _is_in(each, part.events)]
            families = [each for each in EVENTS if any(_is_in(one, [each]) for one in missing)]
            part = Part.of([*part.events, *families], part.prefix, part.suffix)
            if needed:
                prefix = _common(part.prefix, _ends(rule, "prefix"))
                ends = ([each[::-1] for each in values] for values in _ends(rule, "suffix"))
                part = part._replace(prefix=prefix, suffix=_common(part.suffix[::-1], ends)[::-1])
        return part

    @property
    def ends(self) -> str:
        """The ends of keys as text, "" for any."""
        ends = {"prefix": self.prefix, "suffix": self.suffix}
        return "".join(f" ({name} '{value}')" for name, value in ends.items() if value)

    def __str__(self) -> str:
        return f"{', '.join(self.events)}{self.ends}"


WHOLE: Final = Part()
"""What a bucket sends by default."""
EVENTBRIDGE: Final = Part.of({*EVENTS} - {"s3:ReducedRedundancyLostObject", "s3:Replication:*"})
"""What S3 sends to EventBridge."""


def notified_events(text: str) -> tuple[str, ...]:
    """Return an event or a family of S3 by its name, or those for which MinIO's word asks.

    Raises:
        ValueError: S3 does not notify of it.
    """
    name = in_aws(_event(canonical(text) or ""))
    if name in _SENT:
        return (name,)
    asked = Rule(bucket="", arn="", events=WORDS.get(text, (name,)))
    if not (events := Part(()).with_rules([asked]).events):
        raise ValueError(f"what S3 notifies of: {', '.join(EVENTS)}")
    return events


def _ends(rule: Rule, end: Literal["prefix", "suffix"]) -> Iterator[Sequence[str]]:
    """Yield for each test of keys how those begin or end that pass it."""
    yield [re.split("[*?]", getattr(rule, end))[0 if end == "prefix" else -1]]
    for each in rule.conditions:
        if each.on == "key" and each.how in (end, "equals") and not each.unless:
            yield each.values
        elif each.on == "key" and each.how == "regex" and end == "prefix" and not each.unless:
            yield [match[0] for match in map(_HEAD.match, each.values) if match]


def _common(end: str, tests: Iterable[Sequence[str]]) -> str:
    """Return how much of an end all keys have that pass the tests: one that has all is enough."""
    common = (path.commonprefix([end, *values]) for values in tests)  # noqa: RUF071 - no paths
    return max(common, key=len)
