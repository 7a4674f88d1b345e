"""The dead letters, and their events, that a command applies to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bucketcast.dlq.letter import Content, Letter
from bucketcast.event import Event
from bucketcast.event.names import expand, spellings


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that must all hold; `older` is the least age in seconds since the letter was sent.

    `group` is the id of a group of letters, `reason` a part of the reason in any case, `ids` are
    those of messages or events, of which one is enough.
    """

    group: str = ""
    reason: str = ""
    older: float | None = None
    names: tuple[str, ...] = ()
    bucket: str = ""
    prefix: str = ""
    ids: tuple[str, ...] = ()

    @property
    def needs_events(self) -> bool:
        """True if a condition is about the events, so that they have to be read."""
        return bool(self.names or self.bucket or self.prefix or self.ids)

    def matches(self, letter: Letter, now: int) -> bool:
        """Return True if the conditions on the message hold; `now` is Unix ms."""
        age = (now - letter.sent) / 1_000
        return (
            self.group in ("", letter.group)
            and self.reason.casefold() in letter.reason.casefold()
            and (self.older is None or age >= self.older)
        )

    def indexes(self, letter: Letter, content: Content) -> Sequence[int]:
        """Return the indexes of the events that match.

        A message whose events cannot be read has none, unless its own id is asked for, or no
        condition is about them.
        """
        if not self.needs_events:
            return range(len(content.events) or 1)
        if letter.id in self.ids:
            return replace(self, ids=()).indexes(letter, content)
        singles = {single for name in self.names for single in expand(name)}
        return [
            index
            for index, event in enumerate(content.events)
            if self._matches_event(event, singles)
        ]

    def _matches_event(self, event: Event, singles: set[str]) -> bool:
        return (
            (not singles or not singles.isdisjoint(spellings(event)))
            and self.bucket in ("", event.bucket)
            and event.key.startswith(self.prefix)
            and (not self.ids or event.id in self.ids)
        )
