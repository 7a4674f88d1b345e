"""The owners of buckets in the state table: the users who made them through the gateway."""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bucketcast.state.items import if_same
from bucketcast.state.table import SORT_KEY, Partition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# No bucket can have this name. The users' partition is read by logins, this one by other calls.
_PARTITION: Final = "#owners"
_CLAIM: Final = "claim"


class Owner(NamedTuple):
    """The id of a user, and when (Unix ms) the user claimed the bucket."""

    user: str
    claimed: int


class Owners:
    """The owners of a deployment's buckets; a change is made only if nobody else made one."""

    def __init__(
        self, table: str, client: "DynamoDBClient", clock: Callable[[], float] = time.time
    ) -> None:
        self._items = Partition(table, _PARTITION, client)
        self._clock = clock

    def all(self) -> dict[str, Owner]:
        """Return the owner of each bucket that has one."""
        return {item[SORT_KEY]["S"]: _owner(item) for item in self._items.items()}

    def get(self, bucket: str) -> Owner | None:
        """Return a bucket's owner; None if it has none."""
        item = self._items.get(bucket)
        return _owner(item) if item else None

    def claim(self, bucket: str, user: str, before: Owner | None) -> Owner | None:
        """Make a user the owner in place of `before`; None if that is not the owner any more."""
        owner = Owner(user, round(self._clock() * 1_000))
        item = {_CLAIM: _value(owner)}
        return owner if self._items.put(bucket, item, **_if_still(before)) else None

    def remove(self, bucket: str, owner: Owner) -> None:
        """Remove a bucket's owner, unless it has been claimed again."""
        self._items.delete(bucket, **_if_still(owner))


def _if_still(owner: Owner | None) -> dict[str, Any]:
    return if_same(_CLAIM, _value(owner) if owner else None)


def _value(owner: Owner) -> dict[str, str]:
    return {"S": f"{owner.claimed} {owner.user}"}


def _owner(item: Mapping[str, Any]) -> Owner:
    claimed, _, user = item[_CLAIM]["S"].partition(" ")
    return Owner(user, int(claimed))
