"""The indexes of buckets' rules for ingest, cached while they do not change."""

import gc
import time
from collections.abc import Collection, Mapping
from typing import Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.limits import MOST_KEPT_RULES_BYTES
from bucketcast.rules import Hit, RuleIndex
from bucketcast.rules.conditions import Fact
from bucketcast.state.rules import Rules, Version

_UNREADABLE_SECONDS: Final = 10.0
"""Rules that could not be read are read again after so long, or once they change."""


class MoreRules(Protocol):
    """More rules, such as those of listeners; their change number is read with the others'."""

    @property
    def partition(self) -> str: ...

    def add_to(
        self, rules: Mapping[str, RuleIndex], buckets: Collection[str], version: int
    ) -> Mapping[str, RuleIndex]:
        """Return the rules of these buckets with more; `version` is the current number."""


class UnreadableRules(RuleIndex):
    """Stands in for a bucket's unreadable rules; matching raises the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(())
        self._reason = reason
        self.expires = time.monotonic() + _UNREADABLE_SECONDS

    def match(self, event: Event, needed: set[Fact] | None = None) -> Collection[Hit]:  # noqa: ARG002
        raise BucketcastError(self._reason)


class RuleCache:
    """The indexes of buckets' rules, cached while they do not change.

    Together they cost no more than `MOST_KEPT_RULES_BYTES`: the least recently used are forgotten
    before more are read. Where those of one batch cost more, the buckets that cost most have to
    wait, but for the one that has waited longest.
    """

    def __init__(self, rules: Rules, more: MoreRules | None = None) -> None:
        self._rules = rules
        self._more = more
        self._cached: dict[str, tuple[Version, RuleIndex]] = {}
        self._waiting: dict[str, None] = {}
        """Buckets that wait, the one that began first at the beginning."""

    def __call__(self, buckets: frozenset[str]) -> Mapping[str, RuleIndex]:
        """Return the current rules of these buckets; a bucket that never had one is missing.

        Unreadable ones raise when they are matched.
        """
        indexes: dict[str, RuleIndex] = {}
        more = {self._more.partition} if self._more else set()
        versions = self._rules.versions(buckets | more) if buckets else {}
        version_of_more = versions.pop(self._more.partition if self._more else "", Version())
        first, needed = next(filter(versions.get, self._waiting), ""), 0
        by_turn = sorted(versions.items(), key=lambda item: (item[0] != first, item[1].cost))
        for bucket, version in by_turn:
            needed += version.cost
            indexes[bucket] = self._index(bucket, version, needed)
        if self._more:
            return self._more.add_to(indexes, buckets, version_of_more.number)
        return indexes

    def _index(self, bucket: str, version: Version, needed: int) -> RuleIndex:
        """Return a bucket's index; `needed` is the cost of the batch with this bucket."""
        if needed > MOST_KEPT_RULES_BYTES:
            self._waiting.setdefault(bucket)
            return UnreadableRules(
                f"the rules of {bucket} wait: with other buckets' they take {needed:,} bytes; "
                f"allowed at once are {MOST_KEPT_RULES_BYTES:,}"
            )
        self._waiting.pop(bucket, None)
        cached, index = self._cached.pop(bucket, (None, None))
        old = isinstance(index, UnreadableRules) and time.monotonic() > index.expires
        if index is None or cached != version or old:
            index = None  # the old one goes before the new one comes
            self._forget(version.cost)
            gc.disable()  # there are no cycles in rules, and to look for them takes as long again
            try:
                index = RuleIndex(self._rules.in_order(bucket))
            except (BotoCoreError, ClientError):
                raise  # errors of the table concern all buckets
            except Exception as error:  # noqa: BLE001 - one bucket must not stop the others
                index = UnreadableRules(
                    f"the rules of {bucket} cannot be read: {type(error).__name__}: {error}"
                )
            finally:
                gc.enable()
        self._cached[bucket] = (version, index)  # the last one used
        return index

    def _forget(self, more: int) -> None:
        total = more + sum(version.cost for version, _ in self._cached.values())
        while total > MOST_KEPT_RULES_BYTES:
            total -= self._cached.pop(next(iter(self._cached)))[0].cost
