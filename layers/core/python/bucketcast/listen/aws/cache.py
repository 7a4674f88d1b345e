"""The active listeners for ingest, cached while nothing changes.

Their change number is read with those of the buckets' rules, by the same call; without listeners
that is all. Otherwise they are read again when the number grew, or after some seconds: renewing a
lease is not a change.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from bucketcast.destination import ListenerArn
from bucketcast.event import Event
from bucketcast.listen.aws.listeners import Table
from bucketcast.listen.listener import PARTITION, Listener
from bucketcast.rules import Hit, RuleIndex
from bucketcast.rules.conditions import Fact
from bucketcast.telemetry import logger

FRESH_SECONDS: Final = 20.0


class ListenerCache:
    """Adds the listeners to the rules of buckets, and finds the queue of a listener.

    It is `state.rule_cache.MoreRules`.
    """

    partition = PARTITION

    def __init__(self, table: Table, clock: Callable[[], float] = time.time) -> None:
        self._table = table
        self._clock = clock
        self._version = 0
        self._read_at = 0.0
        self._alive: dict[str, Listener] = {}
        self._some = False
        self._indexes: dict[str, RuleIndex] = {}

    def add_to(
        self, rules: Mapping[str, RuleIndex], buckets: Collection[str], version: int
    ) -> Mapping[str, RuleIndex]:
        """Return the rules of these buckets with their listeners; `version` is the current number.

        Listeners that cannot be read stay as they were, so that no other events wait for them.
        """
        if version != self._version or (self._some and self._is_old()):
            try:
                self._read()
            except Exception:  # noqa: BLE001 - rules do not wait for listeners
                logger.exception("listeners cannot be read")
        if not self._alive:
            return rules
        return {name: WithListeners(rules.get(name), self._index(name)) for name in buckets}

    def queue(self, to: ListenerArn) -> str | None:
        """Return the name of a listener's queue; None if the listener does not exist any more."""
        if to.id not in self._alive or self._is_old():
            self._read()
        found = self._alive.get(to.id)
        return found.queue if found else None

    def _is_old(self) -> bool:
        return self._clock() - self._read_at > FRESH_SECONDS

    def _read(self) -> None:
        seen = self._table.seen()
        self._alive = {one.id: one for one in seen.alive(round(self._clock() * 1_000))}
        # An expired one is renewed when its process resumes after a pause.
        self._some = any(one.state == "on" for one in seen.listeners)
        self._indexes = {}
        self._version, self._read_at = seen.version, self._clock()

    def _index(self, bucket: str) -> RuleIndex:
        index = self._indexes.get(bucket)
        if index is None:
            heard = (one for one in self._alive.values() if one.requested.bucket in ("", bucket))
            index = self._indexes[bucket] = RuleIndex(one.rule(bucket) for one in heard)
        return index


class WithListeners(RuleIndex):
    """A bucket's rules, if it has any, and after them its listeners."""

    def __init__(self, rules: RuleIndex | None, listeners: RuleIndex) -> None:
        super().__init__(())
        self._rules = rules
        self._listeners = listeners

    def match(self, event: Event, asks: set[Fact] | None = None) -> Collection[Hit]:
        by_rules: Iterable[Hit] = self._rules.match(event, asks) if self._rules else ()
        return [*by_rules, *self._listeners.match(event)]
