"""The listeners in force, as ingest asks for them: kept while nothing changes.

Their change number comes with those of the buckets' rules, by the same call; where there is no
listener that is all. Else they are read again when the number grew, or after some seconds: a
listener's life is prolonged without a change.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from bucketcast.conditions import Fact
from bucketcast.event import Event
from bucketcast.listening import Listener
from bucketcast.rules import Hit, RuleIndex
from bucketcast.store.listeners import Table
from bucketcast.telemetry import logger

FRESH_SECONDS: Final = 20.0


class Heard:
    """Gives the listeners of an event beside its rules, and the queue of a listener."""

    def __init__(self, table: Table, clock: Callable[[], float] = time.time) -> None:
        self._table = table
        self._clock = clock
        self._version = 0
        self._read_at = 0.0
        self._alive: dict[str, Listener] = {}
        self._some = False
        self._indexes: dict[str, RuleIndex] = {}

    def beside(
        self, rules: Mapping[str, RuleIndex], buckets: Collection[str], version: int
    ) -> Mapping[str, RuleIndex]:
        """The rules of these buckets, and with them what listens; `version` is the number of now.

        Listeners that cannot be read stay as they were: nobody else's events wait for them.
        """
        if version != self._version or (self._some and self._is_old()):
            try:
                self._read()
            except Exception:  # noqa: BLE001 - rules do not wait for listeners
                logger.exception("listeners cannot be read")
        if not self._alive:
            return rules
        return {name: Beside(rules.get(name), self._index(name)) for name in buckets}

    def queue(self, arn: str) -> str | None:
        """The name of a listener's queue; None where there is no such listener any more."""
        if arn not in self._alive or self._is_old():
            self._read()
        found = self._alive.get(arn)
        return found.queue if found else None

    def _is_old(self) -> bool:
        return self._clock() - self._read_at > FRESH_SECONDS

    def _read(self) -> None:
        seen = self._table.seen()
        self._alive = {one.arn: one for one in seen.alive(round(self._clock() * 1_000))}
        # One that ended lives again when its process goes on after it stood still.
        self._some = any(one.state == "on" for one in seen.listeners)
        self._indexes = {}
        self._version, self._read_at = seen.version, self._clock()

    def _index(self, bucket: str) -> RuleIndex:
        index = self._indexes.get(bucket)
        if index is None:
            heard = (one for one in self._alive.values() if one.asked.bucket in ("", bucket))
            index = self._indexes[bucket] = RuleIndex(one.rule(bucket) for one in heard)
        return index


class Beside(RuleIndex):
    """A bucket's rules, if it has any, and after them its listeners."""

    def __init__(self, rules: RuleIndex | None, listeners: RuleIndex) -> None:
        super().__init__(())
        self._rules = rules
        self._listeners = listeners

    def match(self, event: Event, asks: set[Fact] | None = None) -> Collection[Hit]:
        by_rules: Iterable[Hit] = self._rules.match(event, asks) if self._rules else ()
        return [*by_rules, *self._listeners.match(event)]
