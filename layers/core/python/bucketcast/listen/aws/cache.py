"""The active listeners for ingest, cached while nothing changes.

The call that reads the change numbers of the buckets' rules reads theirs too; without listeners
nothing else is read. Otherwise they are read again when the number has changed, and after some
seconds: a renewed lease does not change it.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import Final

from bucketcast.destination import ListenerArn
from bucketcast.event import Event
from bucketcast.listen.aws.listeners import Table
from bucketcast.listen.listener import PARTITION, Listener
from bucketcast.rules import Hit, Rule, RuleIndex
from bucketcast.rules.conditions import Fact
from bucketcast.telemetry import logger

FRESH_SECONDS: Final = 20.0
UNREADABLE_SECONDS: Final = 5.0
"""Listeners that could not be read are left alone for so long."""


class ListenerCache:
    """Adds the listeners to the rules of buckets, and finds the queue of a listener.

    Implements `state.rule_cache.MoreRules`.
    """

    partition = PARTITION

    def __init__(self, table: Table, clock: Callable[[], float] = time.time) -> None:
        self._table = table
        self._clock = clock
        self._version = 0
        self._read_at = 0.0
        self._not_before = 0.0
        self._active: dict[str, Listener] = {}
        self._any_stored = False
        self._indexes: dict[str, RuleIndex] = {}

    def add_to(
        self, rules: Mapping[str, RuleIndex], buckets: Collection[str], version: int
    ) -> Mapping[str, RuleIndex]:
        """Return the buckets' rules with their listeners; `version` is the current change number.

        If the listeners cannot be read, the cached ones stay: other events must not wait.
        """
        is_due = version != self._version or (self._any_stored and self._is_old())
        if is_due and self._clock() >= self._not_before:
            try:
                self._read()
            except Exception:  # noqa: BLE001 - rules must not wait for listeners
                logger.exception("listeners cannot be read")
                self._not_before = self._clock() + UNREADABLE_SECONDS
        if not self._active:
            return rules
        none = RuleIndex(())
        of_all = self._indexes.get("", none)
        return {
            name: WithListeners(rules.get(name, none), self._indexes.get(name, none), of_all)
            for name in buckets
        }

    def queue(self, arn: ListenerArn) -> str | None:
        """Return the name of a listener's queue; None if the listener is no longer active."""
        if arn.id not in self._active or self._is_old():
            self._read()
        listener = self._active.get(arn.id)
        return listener.queue if listener else None

    def _is_old(self) -> bool:
        return self._clock() - self._read_at > FRESH_SECONDS

    def _read(self) -> None:
        snapshot = self._table.read()
        active = snapshot.active(round(self._clock() * 1_000))
        by_bucket: dict[str, list[Rule]] = defaultdict(list)
        for listener in active:
            bucket = listener.requested.bucket
            by_bucket[bucket].append(listener.rule(bucket))
        self._indexes = {}
        for bucket, rules in by_bucket.items():
            try:
                self._indexes[bucket] = RuleIndex(rules)
            except ValueError:  # one bucket's must not stop the others
                logger.exception("listeners cannot be indexed", bucket=bucket)
        self._active = {listener.id: listener for listener in active}
        # An expired listener becomes active again when its suspended process resumes.
        self._any_stored = any(listener.state == "on" for listener in snapshot.listeners)
        self._version, self._read_at = snapshot.version, self._clock()


class WithListeners(RuleIndex):
    """A bucket's rules, followed by its listeners and those of all buckets."""

    def __init__(self, rules: RuleIndex, *listeners: RuleIndex) -> None:
        super().__init__(())
        self._rules = rules
        self._listeners = listeners

    def match(self, event: Event, needed: set[Fact] | None = None) -> Collection[Hit]:
        heard = (hit for index in self._listeners for hit in index.match(event))
        return [*self._rules.match(event, needed), *heard]
