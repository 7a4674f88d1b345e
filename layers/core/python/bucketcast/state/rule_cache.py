"""The indexes of buckets' rules for ingest, cached while they do not change."""

from collections.abc import Collection, Mapping
from typing import Protocol

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.rules import Hit, RuleIndex
from bucketcast.rules.conditions import Fact
from bucketcast.state.rules import Rules


class MoreRules(Protocol):
    """What else matches events, such as listeners; its change number is read with the rules'."""

    @property
    def partition(self) -> str: ...

    def beside(
        self, rules: Mapping[str, RuleIndex], buckets: Collection[str], version: int
    ) -> Mapping[str, RuleIndex]:
        """Return the rules of these buckets with those; `version` is the current number."""


class UnreadableRules(RuleIndex):
    """Stands in for a bucket's unreadable rules; matching raises the reason."""

    def __init__(self, bucket: str, why: Exception) -> None:
        super().__init__(())
        self._reason = f"the rules of {bucket} cannot be read: {type(why).__name__}: {why}"

    def match(self, event: Event, asks: set[Fact] | None = None) -> Collection[Hit]:  # noqa: ARG002
        raise BucketcastError(self._reason)


class RuleCache:
    """The indexes of buckets' rules, cached while they do not change."""

    def __init__(self, rules: Rules, more: MoreRules | None = None) -> None:
        self._rules = rules
        self._more = more
        self._kept: dict[str, tuple[int, RuleIndex]] = {}

    def __call__(self, buckets: frozenset[str]) -> Mapping[str, RuleIndex]:
        """Return the current rules of these buckets; a bucket that never had one is missing.

        Unreadable ones raise when they are matched.
        """
        indexes: dict[str, RuleIndex] = {}
        also = {self._more.partition} if self._more else set()
        versions = self._rules.versions(buckets | also) if buckets else {}
        version_of_more = versions.pop(self._more.partition, 0) if self._more else 0
        for bucket, version in versions.items():
            kept = self._kept.get(bucket)
            if kept is None or kept[0] != version:
                try:
                    kept = (version, RuleIndex(self._rules.of(bucket)))
                except (BotoCoreError, ClientError):
                    raise  # errors of the table concern all buckets
                except Exception as error:  # noqa: BLE001 - one bucket must not stop the others
                    indexes[bucket] = UnreadableRules(bucket, error)
                    continue
                self._kept[bucket] = kept
            indexes[bucket] = kept[1]
        return self._more.beside(indexes, buckets, version_of_more) if self._more else indexes
