"""A CloudTrail trail whose selectors follow the rules, and which buckets want it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bucketcast import access
from bucketcast.access import Asked
from bucketcast.store.rules import Rules

if TYPE_CHECKING:
    from mypy_boto3_cloudtrail import CloudTrailClient
    from mypy_boto3_dynamodb import DynamoDBClient

_MARK = "#access"
"""Beside a bucket's rules in their table; whoever reads rules does not see it."""


@dataclass(frozen=True, slots=True)
class Logged:
    """What a bucket's rules ask CloudTrail to log, and what the trail does log."""

    trail: str
    asked: Asked
    logged: Asked | None

    @property
    def is_so(self) -> bool:
        return self.asked == self.logged if self.asked.calls else self.logged is None


class Marks:
    """Which trail logs the access events of a bucket that the command line attached."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._table = table
        self._client = client

    def trail_of(self, bucket: str) -> str:
        """The trail's name or ARN; "" where access events are off."""
        found = self._client.get_item(
            TableName=self._table, Key=_key(bucket), ConsistentRead=True
        ).get("Item", {})
        return str(found.get("trail", {}).get("S", ""))

    def put(self, bucket: str, trail: str) -> None:
        item = {**_key(bucket), "trail": {"S": trail}}
        self._client.put_item(TableName=self._table, Item=item)

    def remove(self, bucket: str) -> None:
        self._client.delete_item(TableName=self._table, Key=_key(bucket))


class Trail:
    """One trail by its name or ARN; `stack` and `partition` are those of the deployment."""

    def __init__(
        self, name: str, stack: str, client: "CloudTrailClient", partition: str = "aws"
    ) -> None:
        self.name = name
        self._stack = stack
        self._client = client
        self._partition = partition

    def look(self, bucket: str, rules: Rules) -> Logged:
        """Whether the trail logs just what the bucket's rules ask for."""
        found: Any = self._client.get_event_selectors(TrailName=self.name)
        own = access.selector_name(self._stack, bucket)
        return Logged(self.name, access.asked(rules.of(bucket)), access.selected(found, own))

    def follow(self, bucket: str, rules: Rules) -> Logged:
        """Let the trail log just what the bucket's rules ask for.

        Raises:
            NotSelectableError: the trail's selectors cannot be shared.
        """
        return self._select(bucket, access.asked(rules.of(bucket)))

    def forget(self, bucket: str) -> Logged:
        """Let the trail log nothing more for the bucket on our behalf."""
        return self._select(bucket, Asked((), ()))

    def _select(self, bucket: str, wanted: Asked) -> Logged:
        found: Any = self._client.get_event_selectors(TrailName=self.name)
        own = access.selector_name(self._stack, bucket)
        before = Logged(self.name, wanted, access.selected(found, own))
        if not before.is_so:
            arn = f"arn:{self._partition}:s3:::{bucket}"
            made: Any = access.selectors(found, own, arn, wanted)
            self._client.put_event_selectors(TrailName=self.name, AdvancedEventSelectors=made)
        return before


def _key(bucket: str) -> dict[str, dict[str, str]]:
    return {"bucket": {"S": bucket}, "rule": {"S": _MARK}}
