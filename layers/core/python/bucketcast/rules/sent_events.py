"""The part of a bucket's events that S3 sends, and which rules ask for more.

Each event that S3 sends costs three requests of SQS and ingest's time, also if no rule wants it.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from os import path
from typing import Final, Literal, NamedTuple, Self

from bucketcast.event.names import SINGLES, WORDS, canonical, expand, in_aws, spellings, translate
from bucketcast.rules import Rule
from bucketcast.rules.access_events import NAMES

DEFAULT: Final = (
    "s3:LifecycleExpiration:*",
    "s3:LifecycleTransition",
    "s3:ObjectCreated:*",
    "s3:ObjectRemoved:*",
    "s3:ObjectRestore:*",
    "s3:ObjectTagging:*",
    "s3:Replication:*",
)
"""What MinIO's words ask for and S3 sends in every region."""
# S3 has no `s3:*`; a family with one member has no wildcard.
EVENTS: Final = (
    *DEFAULT,
    "s3:IntelligentTiering",
    "s3:ObjectAcl:Put",
    "s3:ObjectAnnotation:*",
    "s3:ObjectRetention:Put",
    "s3:ReducedRedundancyLostObject",
)
"""All events that S3 notifies of."""


def _is_in(event: str, families: Iterable[str]) -> bool:
    return any(fnmatchcase(event, each) for each in families)


class _Named(NamedTuple):
    """An event of S3, as far as its names depend on it."""

    name: str
    original: str
    version_id: str | None


def _names(event: str) -> frozenset[str]:
    """Return all names by which rules may match an event of S3."""
    seen = [_Named(*translate(event), version) for version in (None, "of a version")]
    return frozenset(name for each in seen for name in spellings(each))


_SENT: Final = {
    event: _names(event)
    for event in SINGLES.difference(NAMES.values())
    if _is_in(event, EVENTS) and in_aws(_Named(event, "", None)) == event
}
"""The names of each event that S3 may send."""


class Part(NamedTuple):
    """The events of a bucket that S3 sends: their names, and the ends of keys."""

    events: tuple[str, ...] = DEFAULT
    prefix: str = ""
    suffix: str = ""

    @classmethod
    def of(cls, events: Iterable[str] = DEFAULT, prefix: str = "", suffix: str = "") -> Self:
        """Return the part with these events, whose order S3 may change."""
        return cls(tuple(sorted(set(events))), prefix, suffix)

    @property
    def is_whole(self) -> bool:
        """True if all that is sent by default is."""
        return not (set(DEFAULT) - set(self.events) or self.prefix or self.suffix)

    def with_rules(self, rules: Iterable[Rule]) -> "Part":
        """Return the least part that also has what rules ask for; the same if it has that."""
        part = self
        for rule in rules:
            needed = _needed(rule)
            missing = [each for each in needed if not _is_in(each, part.events)]
            families = [each for each in EVENTS if any(_is_in(one, [each]) for one in missing)]
            kept = [each for each in part.events if not _is_in(each, families)]
            part = part._replace(events=tuple(sorted((*kept, *families))))
            if needed:
                prefix = _common([part.prefix, *_ends(rule, "prefix")])
                ends = [each[::-1] for each in (part.suffix, *_ends(rule, "suffix"))]
                part = part._replace(prefix=prefix, suffix=_common(ends)[::-1])
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
ALL: Final = Part.of(EVENTS)
"""What EventBridge gets."""


def notified_event(text: str) -> str:
    """Return the name of an event or a family that S3 notifies of, by its name or MinIO's word.

    Raises:
        ValueError: S3 does not notify of it.
    """
    (name, *more) = WORDS.get(text, (canonical(text) or "",))
    if more or not _is_in(name, EVENTS):
        raise ValueError(f"what S3 notifies of: {', '.join(EVENTS)}")
    return name


def _needed(rule: Rule) -> list[str]:
    """Return the events that S3 has to send for a rule.

    A family needs its own events: those that MinIO counts among them, such as tags among the
    creations, only if no other are its own.
    """
    needed = []
    for asked in rule.events:
        singles = set(expand(asked))
        sent = [event for event, names in _SENT.items() if names & singles]
        needed += [event for event in sent if event in singles] or sent
    return needed


def _ends(rule: Rule, end: Literal["prefix", "suffix"]) -> Sequence[str]:
    """Return how keys may begin or end for a rule: its own end, else those of a condition."""
    of_keys = (
        each.values
        for each in rule.conditions
        if each.on == "key" and each.how in (end, "equals") and not each.unless
    )
    own: str = getattr(rule, end)
    return [own] if own else next(of_keys, [""])


def _common(ends: Sequence[str]) -> str:
    return path.commonprefix(ends)  # noqa: RUF071 - keys are text, not paths
