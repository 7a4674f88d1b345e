"""Which dead letters, and which of their events, a command is about."""

from collections.abc import Sequence
from dataclasses import dataclass

from bucketcast.delivery.envelope import Delivery
from bucketcast.dlq.letter import Content, Letter
from bucketcast.event import Event
from bucketcast.event.names import expand, spellings


@dataclass(frozen=True, slots=True)
class Filter:
    """All that is given must hold; ages are seconds since the message was sent to the queue.

    `reason` is a part of the reason in any case, `id` that of a message or of an event.
    """

    reason: str = ""
    error: str = ""
    rule: str = ""
    older: float | None = None
    newer: float | None = None
    names: tuple[str, ...] = ()
    bucket: str = ""
    prefix: str = ""
    id: str = ""

    @property
    def of_events(self) -> bool:
        """Whether it asks for anything that only the events say."""
        return bool(self.names or self.bucket or self.prefix or self.rule or self.id)

    def letter(self, letter: Letter, now: int) -> bool:
        """Return whether the message may be one of those; `now` is Unix ms."""
        age = (now - letter.sent) / 1_000
        return (
            self.reason.casefold() in letter.reason.casefold()
            and self.error in ("", letter.error)
            and (self.older is None or age >= self.older)
            and (self.newer is None or age <= self.newer)
        )

    def indexes(self, letter: Letter, content: Content) -> Sequence[int]:
        """Return the indexes of the events that are asked for.

        A message whose events cannot be read has none, unless nothing is asked of them.
        """
        if not self.of_events:
            return range(max(content.number, 1))
        if self.id == letter.id:
            whole = Filter(rule=self.rule, names=self.names, bucket=self.bucket, prefix=self.prefix)
            return whole.indexes(letter, content)
        if not content.events:
            only = not (self.names or self.bucket or self.prefix or self.id)
            return range(1) if only and self.rule == letter.attribute("rule") else ()
        singles = {single for name in self.names for single in expand(name)}
        return [
            index
            for index, event in enumerate(content.events)
            if self._event(event, singles) and self._rule(letter, content, index)
        ]

    def _event(self, event: Event, singles: set[str]) -> bool:
        return (
            (not singles or not singles.isdisjoint(spellings(event)))
            and self.bucket in ("", event.bucket)
            and event.key.startswith(self.prefix)
            and self.id in ("", event.id)
        )

    def _rule(self, letter: Letter, content: Content, index: int) -> bool:
        inside: Sequence[Delivery] = content.deliveries
        own = inside[index].rule if inside else letter.attribute("rule")
        return self.rule in ("", own)
