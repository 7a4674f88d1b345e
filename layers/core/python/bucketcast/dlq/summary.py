"""Dead letters by reason: groups of bounded number, however many letters there are."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from bucketcast.destination import short_name
from bucketcast.dlq.letter import Letter

MAX_GROUPS = 1_000
OTHER = "(other reasons)"


@dataclass(slots=True)
class Group:
    """Letters of one target, rule, topic and reason, with the id of one of them, as `example`.

    `id` is that of `Letter.group`, "" for letters beyond the last group, which no command takes.
    Times are Unix ms.
    """

    target: str
    id: str
    rule: str
    error: str
    reason: str
    moved_by: str
    topic: str
    example: str
    messages: int = 0
    events: int = 0
    oldest: int = 0
    newest: int = 0

    @property
    def name(self) -> str:
        return group_name(self.target, self.id or "other")

    def add(self, letter: Letter, events: int) -> None:
        self.messages += 1
        self.events += events
        self.oldest = min(self.oldest or letter.sent, letter.sent)
        self.newest = max(self.newest, letter.sent)


@dataclass(slots=True)
class Summary:
    """Counts by group, each with the reason that was seen first."""

    messages: int = 0
    events: int = 0
    _groups: dict[tuple[str, str], Group] = field(default_factory=dict)

    def add(self, letter: Letter, target: str, events: int) -> None:
        """Count one letter of this many events."""
        self.messages += 1
        self.events += events
        key = target, letter.group
        if key not in self._groups and len(self._groups) >= MAX_GROUPS:
            key = target, ""
        if key not in self._groups:
            self._groups[key] = _group(letter, *key)
        self._groups[key].add(letter, events)

    def groups(self) -> Iterator[Group]:
        """Yield the groups, the largest of each target first."""
        yield from sorted(self._groups.values(), key=lambda group: (group.target, -group.events))


def group_name(target: str, id_: str) -> str:
    """Return how commands name a group of a target's letters, or for "" all of them."""
    short = short_name(target)
    return f"{short}/{id_}" if id_ else short


def _group(letter: Letter, target: str, id_: str) -> Group:
    if not id_:
        return Group(target, "", "", "", OTHER, "", "", letter.id)
    rule, topic = letter.attribute("rule"), letter.history.topic
    return Group(target, id_, rule, letter.error, letter.reason, letter.moved_by, topic, letter.id)
