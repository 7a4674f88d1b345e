"""Queues that hold a number of events at most: what does not fit is discarded, as in MinIO.

Ingest counts what such a target is sent, since a limit on what nobody has counted would be none.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, Protocol

from bucketcast.delivery.envelope import Delivery
from bucketcast.event import Event
from bucketcast.ingest import TargetBatch

_HOUR_MS: Final = 3_600_000


class Limits(Protocol):
    """Which targets' queues are limited, how many of some events they take, and what was sent."""

    def limits(self, arn: str) -> bool: ...

    def room(self, arn: str, number: int) -> int: ...

    def sent(self, arn: str, number: int) -> None: ...


class Came(NamedTuple):
    """Events that came for a target in one hour, and how many of them were discarded."""

    received: int = 0
    discarded: int = 0


class Overflow:
    """Discards what is too much, and counts what it saw, by target and hour since 1970."""

    def __init__(self, limits: Limits | None) -> None:
        self._limits = limits
        self._came: dict[str, dict[int, Came]] = {}
        self._discarded: dict[str, list[Event]] = {}

    def counts(self, arn: str) -> bool:
        """Return whether a target has a limit, so that its events are counted here."""
        return self._limits is not None and self._limits.limits(arn)

    def fitting(self, arn: str, batch: TargetBatch) -> TargetBatch:
        """Return the part of a batch that the target's queue takes; discard the rest."""
        if self._limits is None:
            return batch
        room = self._limits.room(arn, len(batch.deliveries))
        if len(batch.deliveries) <= room:
            return batch
        rest = batch.deliveries[room:]
        self._add(arn, rest, Came(1, 1))
        self._discarded.setdefault(arn, []).extend(each.event for each in rest)
        return TargetBatch(batch.deliveries[:room], batch.origins[:room])

    def sent(self, arn: str, deliveries: Iterable[Delivery]) -> None:
        """Count what a limited target's queue took."""
        number = self._add(arn, deliveries, Came(1))
        if self._limits:
            self._limits.sent(arn, number)

    def take(self) -> tuple[Mapping[str, Mapping[int, Came]], Mapping[str, list[Event]]]:
        """Return what came since the last call, and the discarded events, by target."""
        found = self._came, self._discarded
        self._came, self._discarded = {}, {}
        return found

    def _add(self, arn: str, deliveries: Iterable[Delivery], one: Came) -> int:
        hours = self._came.setdefault(arn, {})
        number = 0
        for each in deliveries:
            hour = each.created // _HOUR_MS
            before = hours.get(hour, Came())
            hours[hour] = Came(before.received + one.received, before.discarded + one.discarded)
            number += 1
        return number
