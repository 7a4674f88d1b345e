"""The dead letters, and their events, that a command applies to."""

from collections.abc import Sequence
from dataclasses import dataclass

from bucketcast.delivery.envelope import Delivery
from bucketcast.dlq.letter import Content, Letter
from bucketcast.event import Event
from bucketcast.event.names import expand, spellings


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that must all hold; ages are seconds since the message was sent to the queue.

    `group` is the id of a group of letters, `reason` a part of the reason in any case, `ids` are
    those of messages or events, of which one is enough.
    """

    group: str = ""
    reason: str = ""
    error: str = ""
    rule: str = ""
    older: float | None = None
    newer: float | None = None
    names: tuple[str, ...] = ()
    bucket: str = ""
    prefix: str = ""
    ids: tuple[str, ...] = ()

    @property
    def needs_events(self) -> bool:
        """True if a condition is about the events, so that they have to be read."""
        return bool(self.names or self.bucket or self.prefix or self.rule or self.ids)

    def matches(self, letter: Letter, now: int) -> bool:
        """Return True if the conditions on the message hold; `now` is Unix ms."""
        age = (now - letter.sent) / 1_000
        return (
            self.group in ("", letter.group)
            and self.reason.casefold() in letter.reason.casefold()
            and self.error in ("", letter.error)
            and (self.older is None or age >= self.older)
            and (self.newer is None or age <= self.newer)
        )

    def indexes(self, letter: Letter, content: Content) -> Sequence[int]:
        """Return the indexes of the events that match.

        A message whose events cannot be read has none, unless no condition is about them.
        """
        if not self.needs_events:
            return range(max(content.number, 1))
        if letter.id in self.ids:
            rest = Filter(rule=self.rule, names=self.names, bucket=self.bucket, prefix=self.prefix)
            return rest.indexes(letter, content)
        if not content.events:
            needs_rule_only = not (self.names or self.bucket or self.prefix or self.ids)
            return range(1) if needs_rule_only and self.rule == letter.attribute("rule") else ()
        singles = {single for name in self.names for single in expand(name)}
        return [
            index
            for index, event in enumerate(content.events)
            if self._matches_event(event, singles) and self._matches_rule(letter, content, index)
        ]

    def _matches_event(self, event: Event, singles: set[str]) -> bool:
        return (
            (not singles or not singles.isdisjoint(spellings(event)))
            and self.bucket in ("", event.bucket)
            and event.key.startswith(self.prefix)
            and (not self.ids or event.id in self.ids)
        )

    def _matches_rule(self, letter: Letter, content: Content, index: int) -> bool:
        deliveries: Sequence[Delivery] = content.deliveries
        rule = deliveries[index].rule if deliveries else letter.attribute("rule")
        return self.rule in ("", rule)
