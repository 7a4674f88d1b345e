"""Dead letters by reason: groups of bounded number, however many letters there are."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from bucketcast.dlq.letter import Letter

MAX_GROUPS = 1_000
OTHER = "(other reasons)"
_PARTICULAR = re.compile(r"\b(?:[0-9a-f]{8,}|[0-9][0-9.,:-]*)\b", re.IGNORECASE)


@dataclass(slots=True)
class Group:
    """Letters of one rule, topic and reason, with the id of one of them; times are Unix ms."""

    target: str
    rule: str
    error: str
    reason: str
    moved_by: str
    topic: str
    id: str
    messages: int = 0
    events: int = 0
    oldest: int = 0
    newest: int = 0

    def add(self, letter: Letter, events: int) -> None:
        self.messages += 1
        self.events += events
        self.oldest = min(self.oldest or letter.sent, letter.sent)
        self.newest = max(self.newest, letter.sent)

    @property
    def common(self) -> str:
        """A part of the reason that all its letters have, for a filter; "" if there is none."""
        if self.reason == OTHER:
            return ""
        return max(_PARTICULAR.split(self.reason), key=len).strip(" :;,.(")


@dataclass(slots=True)
class Summary:
    """Counts by reason; reasons that differ in numbers only are one, shown as first seen."""

    messages: int = 0
    events: int = 0
    _groups: dict[tuple[str, ...], Group] = field(default_factory=dict)

    def add(self, letter: Letter, target: str, events: int) -> None:
        """Count one letter of this many events."""
        self.messages += 1
        self.events += events
        reason = letter.reason
        rule, moved_by, topic = letter.attribute("rule"), letter.moved_by, letter.history.topic
        key = (target, rule, letter.error, moved_by, topic, _PARTICULAR.sub("#", reason))
        if key not in self._groups and len(self._groups) >= MAX_GROUPS:
            reason = OTHER
            key = (target, "", "", moved_by, "", OTHER)
            rule = topic = ""
        if key not in self._groups:
            error = letter.error if reason != OTHER else ""
            self._groups[key] = Group(target, rule, error, reason, moved_by, topic, letter.id)
        self._groups[key].add(letter, events)

    def groups(self) -> Iterator[Group]:
        """Yield the groups, the largest of each target first."""
        yield from sorted(self._groups.values(), key=lambda group: (group.target, -group.events))
