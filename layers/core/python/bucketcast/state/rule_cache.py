"""The indexes of buckets' rules for ingest, cached while they do not change."""

from collections.abc import Collection, Mapping
from typing import Protocol

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.rules import Hit, RuleIndex
from bucketcast.rules.conditions import Fact
from bucketcast.rules.regexes import MAX_INSTRUCTIONS
from bucketcast.state.rules import Rules


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

    def __init__(self, bucket: str, error: Exception) -> None:
        super().__init__(())
        self._reason = f"the rules of {bucket} cannot be read: {type(error).__name__}: {error}"

    def match(self, event: Event, needed: set[Fact] | None = None) -> Collection[Hit]:  # noqa: ARG002
        raise BucketcastError(self._reason)


class RuleCache:
    """The indexes of buckets' rules, cached while they do not change.

    Before more are read, the least recently used are forgotten until the others' regular
    expressions are no more than two buckets may have.
    """

    def __init__(self, rules: Rules, more: MoreRules | None = None) -> None:
        self._rules = rules
        self._more = more
        self._cached: dict[str, tuple[int, RuleIndex]] = {}

    def __call__(self, buckets: frozenset[str]) -> Mapping[str, RuleIndex]:
        """Return the current rules of these buckets; a bucket that never had one is missing.

        Unreadable ones raise when they are matched.
        """
        indexes: dict[str, RuleIndex] = {}
        more = {self._more.partition} if self._more else set()
        versions = self._rules.versions(buckets | more) if buckets else {}
        version_of_more = versions.pop(self._more.partition, 0) if self._more else 0
        for bucket, version in versions.items():
            entry = self._cached.pop(bucket, None)
            if entry is None or entry[0] != version:
                self._forget()
                try:
                    entry = (version, RuleIndex(self._rules.of(bucket)))
                except (BotoCoreError, ClientError):
                    raise  # errors of the table concern all buckets
                except Exception as error:  # noqa: BLE001 - one bucket must not stop the others
                    indexes[bucket] = UnreadableRules(bucket, error)
                    continue
            self._cached[bucket] = entry  # the last one used
            indexes[bucket] = entry[1]
        return self._more.add_to(indexes, buckets, version_of_more) if self._more else indexes

    def _forget(self) -> None:
        total = sum(index.instructions for _, index in self._cached.values())
        for bucket in [*self._cached]:
            if total <= 2 * MAX_INSTRUCTIONS:
                break
            total -= self._cached.pop(bucket)[1].instructions
