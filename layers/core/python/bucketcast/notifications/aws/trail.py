"""A CloudTrail trail whose selectors follow the rules, and the buckets that use it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bucketcast.errors import BucketcastError
from bucketcast.rules import access_events, trail_selectors
from bucketcast.rules.access_events import AccessCalls
from bucketcast.state.lock import Lock
from bucketcast.state.rules import Rules
from bucketcast.state.table import Partition

if TYPE_CHECKING:
    from mypy_boto3_cloudtrail import CloudTrailClient
    from mypy_boto3_dynamodb import DynamoDBClient

_ROW = "#access"
"""Key suffix of an item beside a bucket's rules, which readers of rules do not see."""
_TRIES: Final = 3
_LOOKS: Final = 5


@dataclass(frozen=True, slots=True)
class Logged:
    """The calls that a bucket's rules require, and those that the trail logs.

    `changed` is True if this call changed the trail. Unless its selectors are `managed` here, the
    logged calls are unknown.
    """

    trail: str
    required: AccessCalls
    logged: AccessCalls | None
    changed: bool = False
    managed: bool = True

    @property
    def is_complete(self) -> bool:
        """True if all required calls are logged, and none if none is required, or unknown."""
        if not self.managed:
            return True
        if not self.required.calls:
            return self.logged is None
        return self.logged is not None and self.logged.covers(self.required)

    @property
    def is_wider(self) -> bool:
        """True if the trail logs, for money, more calls than the rules need."""
        return self.logged is not None and not self.required.covers(self.logged)


class AttachedTrails:
    """The trails of the buckets whose access events the command line enabled."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._table = table
        self._client = client

    def trail_of(self, bucket: str) -> str:
        """Return the trail's name or ARN; "" if access events are off."""
        return str(self._item(bucket).get(_ROW).get("trail", {}).get("S", ""))

    def put(self, bucket: str, trail: str) -> None:
        self._item(bucket).put(_ROW, {"trail": {"S": trail}})

    def remove(self, bucket: str) -> None:
        self._item(bucket).delete(_ROW)

    def _item(self, bucket: str) -> Partition:
        return Partition(self._table, bucket, self._client)


class OwnersTrail:
    """A trail whose selectors only its owner can write, such as an Organization's."""

    def __init__(self, name: str) -> None:
        self.name = name

    def read(self, bucket: str, rules: Rules) -> Logged:
        """Return the calls that the bucket's rules require."""
        required = access_events.required_calls(rules.of(bucket))
        return Logged(self.name, required, None, managed=False)

    follow = read

    def remove(self, _bucket: str) -> Logged:
        """Leave the trail as it is."""
        return Logged(self.name, AccessCalls((), ()), None, managed=False)


class Trail:
    """One trail by its name or ARN; `stack` and `partition` are those of the deployment.

    A trail's selectors are one document, written as a whole and unconditionally. All writers of a
    deployment share one lock: its buckets in a deploy, and the command line. Two deployments that
    share a trail may overwrite each other: `bucketcast bucket ls` shows it, and attaching again
    repairs it.
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

    def read(self, bucket: str, rules: Rules) -> Logged:
        """Return the calls that the bucket's rules require, and those that the trail logs."""
        return Logged(
            self.name, access_events.required_calls(rules.of(bucket)), self._logged(bucket)
        )

    def follow(self, bucket: str, rules: Rules) -> Logged:
        """Make the trail log the calls that the bucket's rules require, and few others.

        Raises:
            BucketcastError: the trail's selectors cannot be shared, or others always hold the lock.
        """
        return self._select(bucket, rules)

    def remove(self, bucket: str) -> Logged:
        """Remove our selectors of the bucket from the trail."""
        return self._select(bucket, None)

    def _select(self, bucket: str, rules: Rules | None) -> Logged:
        """Read the rules and write our selector of one bucket, under the lock."""
        for _ in range(_TRIES):
            with self._lock.hold(f"trail/{self.name.rpartition('/')[2]}") as holds_lock:
                required = (
                    access_events.required_calls(rules.of(bucket)) if rules else AccessCalls((), ())
                )
                trail: Any = self._client.get_event_selectors(TrailName=self.name)
                before = trail_selectors.read_calls(trail, self._stack)
                if rules is None and bucket not in before:
                    # Removing must also work for a trail that we cannot change.
                    return Logged(self.name, required, None)
                selectors: Any = trail_selectors.update_selectors(
                    trail, self._stack, bucket, required, self._partition
                )
                after = trail_selectors.read_calls(
                    {"AdvancedEventSelectors": selectors}, self._stack
                )
                if before == after:
                    return Logged(self.name, required, after.get(bucket))
                if holds_lock():
                    self._client.put_event_selectors(
                        TrailName=self.name, AdvancedEventSelectors=selectors
                    )
                    self._await(bucket, after.get(bucket))
                    changed = before.get(bucket) != after.get(bucket)
                    return Logged(self.name, required, after.get(bucket), changed=changed)
        raise BucketcastError(f"CloudTrail answers too slowly to change the trail {self.name}")

    def _await(self, bucket: str, written: AccessCalls | None) -> None:
        """Keep the lock until a read returns the written document, for the next writer."""
        for _ in range(_LOOKS):
            if self._logged(bucket) == written:
                return
            self._lock.sleep(1)

    def _logged(self, bucket: str) -> AccessCalls | None:
        trail: Any = self._client.get_event_selectors(TrailName=self.name)
        return trail_selectors.read_calls(trail, self._stack).get(bucket)
