"""The dead letters, and their events, that a command applies to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bucketcast.dlq.letter import Content, Letter
from bucketcast.event import Event


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that must all hold.

    `group` is the id of a group of letters, `reason` a part of the reason in any case, `ids` are
    those of messages or events, of which one is enough.
    """

    group: str = ""
    reason: str = ""
    bucket: str = ""
    prefix: str = ""
    ids: tuple[str, ...] = ()

    @property
    def needs_events(self) -> bool:
        """True if a condition is about the events, so that they have to be read."""
        return bool(self.bucket or self.prefix or self.ids)

    def matches(self, letter: Letter) -> bool:
        """Return True if the conditions on the message hold."""
        return (
            self.group in ("", letter.group) and self.reason.casefold() in letter.reason.casefold()
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
        return [index for index, event in enumerate(content.events) if self._matches_event(event)]

    def _matches_event(self, event: Event) -> bool:
        return (
            self.bucket in ("", event.bucket)
            and event.key.startswith(self.prefix)
            and (not self.ids or event.id in self.ids)
        )
