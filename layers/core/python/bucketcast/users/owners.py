"""The owners of buckets in the state table: the users who made them through the gateway."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bucketcast.state.items import if_same
from bucketcast.state.table import SORT_KEY, Partition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# No bucket can have this name. The users' partition is read by logins, this one by other calls.
_PARTITION: Final = "#owners"
_TEXT: Final = "text"


class Owner(msgspec.Struct, frozen=True):
    """The user who owns a bucket, by id; without `created`, the one who is creating it.

    Until `busy` (Unix ms) a call that creates or removes the bucket may run. `since` (Unix ms) is
    the call that created it: events before that are of an earlier bucket of the name.
    """

    user: str
    created: bool = True
    busy: int = 0
    since: int = 0


_decode: Final = msgspec.json.Decoder(Owner).decode


class Owners:
    """The owners of a deployment's buckets."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._items = Partition(table, _PARTITION, client)

    def all(self) -> dict[str, Owner]:
        """Return the owner of each bucket that has one."""
        found = ((item[SORT_KEY]["S"], _owner(item)) for item in self._items.items())
        return {bucket: owner for bucket, owner in found if owner.created}

    def get(self, bucket: str) -> Owner | None:
        """Return a bucket's owner; None if it has none."""
        item = self._items.get(bucket)
        return _owner(item) if item else None

    def replace(self, bucket: str, before: Owner | None, after: Owner | None) -> bool:
        """Change a bucket's owner, None for none; False if another call has changed it."""
        unchanged = if_same(_TEXT, _text(before) if before else None)
        if after is None:
            return self._items.delete(bucket, **unchanged)
        return self._items.put(bucket, {_TEXT: _text(after)}, **unchanged)


def _text(owner: Owner) -> dict[str, str]:
    return {"S": msgspec.json.encode(owner).decode()}


def _owner(item: Mapping[str, Any]) -> Owner:
    return _decode(item[_TEXT]["S"])
