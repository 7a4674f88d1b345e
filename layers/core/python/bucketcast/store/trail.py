"""A CloudTrail trail whose selectors follow the rules, and which buckets want it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bucketcast import access
from bucketcast.access import Asked
from bucketcast.store.lock import Lock, LockedError
from bucketcast.store.rules import Rules

if TYPE_CHECKING:
    from mypy_boto3_cloudtrail import CloudTrailClient
    from mypy_boto3_dynamodb import DynamoDBClient

_MARK = "#access"
"""Beside a bucket's rules in their table; whoever reads rules does not see it."""
_TRIES: Final = 3
_LOOKS: Final = 5


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
    """One trail by its name or ARN; `stack` and `partition` are those of the deployment.

    A trail's selectors are one document, written as a whole and without a condition. All of a
    deployment write it under one lock, the buckets of a deploy beside each other and the command
    line beside them. Of two deployments that share a trail nothing keeps one from writing over the
    other: `bucketcast status` sees it, and attaching again mends it.
    """

    def __init__(
        self,
        name: str,
        stack: str,
        client: "CloudTrailClient",
        lock: Lock,
        partition: str = "aws",
    ) -> None:
        self.name = name
        self._stack = stack
        self._client = client
        self._lock = lock
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
            LockedError: others write them all the time.
        """
        return self._select(bucket, rules)

    def forget(self, bucket: str) -> Logged:
        """Let the trail log nothing more for the bucket on our behalf."""
        return self._select(bucket, None)

    def _select(self, bucket: str, rules: Rules | None) -> Logged:
        """Write our selector of one bucket; what was asked for is read under the lock too."""
        for _ in range(_TRIES):
            with self._lock.held(f"trail/{self.name.rpartition('/')[2]}") as in_time:
                wanted = access.asked(rules.of(bucket)) if rules else Asked((), ())
                found: Any = self._client.get_event_selectors(TrailName=self.name)
                own = access.selector_name(self._stack, bucket)
                before = Logged(self.name, wanted, access.selected(found, own))
                if before.is_so:
                    return before
                arn = f"arn:{self._partition}:s3:::{bucket}"
                made: Any = access.selectors(found, own, arn, wanted)
                if in_time():
                    self._client.put_event_selectors(
                        TrailName=self.name, AdvancedEventSelectors=made
                    )
                    self._await(own, before)
                    return before
        raise LockedError(f"CloudTrail answers too slowly to change the trail {self.name}")

    def _await(self, own: str, before: Logged) -> None:
        """Keep the lock until a read shows what was written: the next writer begins with it."""
        for _ in range(_LOOKS):
            found: Any = self._client.get_event_selectors(TrailName=self.name)
            if Logged(self.name, before.asked, access.selected(found, own)).is_so:
                return
            self._lock.sleep(1)


def _key(bucket: str) -> dict[str, dict[str, str]]:
    return {"bucket": {"S": bucket}, "rule": {"S": _MARK}}
