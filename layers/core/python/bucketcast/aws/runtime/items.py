"""Items of one partition of the rules table, each type under a prefix of its own.

A value is stored as JSON. Every write names the condition under which it is valid, so of two
simultaneous calls one fails and reads again.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

T = TypeVar("T")
PARTITION: Final = "#targets"
"""No bucket has such a name."""
_LONGEST_KEY: Final = 1_024
_AT_ONCE: Final = 1_000
_UNCONDITIONAL: Final[Mapping[str, Any]] = {}


class Items(Generic[T]):
    """The items of one type; all reads are consistent."""

    def __init__(self, table: str, client: "DynamoDBClient", prefix: str, value: type[T]) -> None:
        self._table = table
        self._prefix = prefix
        self._decoder = msgspec.json.Decoder(value)
        self._client = client

    def get(self, key: str) -> T | None:
        """Return the value of a key, which may be longer than DynamoDB allows."""
        if len((self._prefix + key).encode()) > _LONGEST_KEY:
            return None
        answer = self._client.get_item(
            TableName=self._table, Key=self._key(key), ConsistentRead=True
        )
        return self._decoder.decode(answer["Item"]["text"]["S"]) if "Item" in answer else None

    def all(self, begin: str = "", *, after: str = "", at_once: int = _AT_ONCE) -> Iterator[T]:
        """Yield the values whose keys begin so, ordered by key, from behind the key `after`.

        A call reads up to `at_once` of them.
        """
        query: Any = {
            "TableName": self._table,
            "KeyConditionExpression": "#bucket = :bucket AND begins_with(#rule, :begin)",
            "ExpressionAttributeNames": {"#bucket": "bucket", "#rule": "rule"},
            "ExpressionAttributeValues": {
                ":bucket": {"S": PARTITION},
                ":begin": {"S": self._prefix + begin},
            },
            "ConsistentRead": True,
            "Limit": min(at_once, _AT_ONCE),
        }
        if after and after.startswith(begin):
            query["ExclusiveStartKey"] = self._key(after)
        for page in self._client.get_paginator("query").paginate(**query):
            yield from (self._decoder.decode(item["text"]["S"]) for item in page["Items"])

    def put(
        self, key: str, value: T, condition: Mapping[str, Any] = _UNCONDITIONAL, **attributes: Any
    ) -> dict[str, Any]:
        """Return the write that stores a value, as part of a transaction."""
        text = msgspec.json.encode(value).decode()
        item = {**self._key(key), "text": {"S": text}, **attributes}
        return {"Put": {"TableName": self._table, "Item": item, **condition}}

    def delete(self, key: str, condition: Mapping[str, Any] = _UNCONDITIONAL) -> dict[str, Any]:
        """Return the write that deletes a value, as part of a transaction."""
        return {"Delete": {"TableName": self._table, "Key": self._key(key), **condition}}

    def _key(self, key: str) -> dict[str, Any]:
        return {"bucket": {"S": PARTITION}, "rule": {"S": self._prefix + key}}


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """What one call does, or left to be done.

    Before `due` (Unix ms) it is `holder`'s, then any call may take it over.
    """

    holder: str
    due: int

    @property
    def key(self) -> str:
        raise NotImplementedError

    @property
    def mark(self) -> Any:
        """The attribute that shows whose it is."""
        return {"S": f"{self.holder} {self.due}"}


L = TypeVar("L", bound=Lease)


class Leases(Items[L]):
    """The leases of one type."""

    def due(self, now: int) -> list[L]:
        """Return the leases that any call may take over."""
        return [lease for lease in self.all() if lease.due <= now]

    def begin(self, lease: L, instead_of: L | None = None) -> bool:
        """Store a lease, in place of another; return whether no other call was first."""
        return self._is_done(self._client.put_item, self.beginning(lease, instead_of)["Put"])

    def end(self, lease: L) -> None:
        """Delete a lease, unless another call owns it by now."""
        self._is_done(self._client.delete_item, self.ending(lease)["Delete"])

    def beginning(self, lease: L, instead_of: L | None = None) -> dict[str, Any]:
        """Return the write of `begin`, as part of a transaction."""
        condition = if_same("mark", instead_of.mark if instead_of else None)
        return self.put(lease.key, lease, condition, mark=lease.mark)

    def ending(self, lease: L) -> dict[str, Any]:
        """Return the write of `end`, as part of a transaction."""
        return self.delete(lease.key, if_same("mark", lease.mark))

    def _is_done(self, write: Any, arguments: Mapping[str, Any]) -> bool:
        try:
            write(**arguments)
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True


def if_same(attribute: str, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the condition that an item's attribute still has this value; None: it has none."""
    names = {"ExpressionAttributeNames": {"#name": attribute}}
    if value is None:
        return {"ConditionExpression": "attribute_not_exists(#name)", **names}
    values = {"ExpressionAttributeValues": {":value": value}}
    return {"ConditionExpression": "#name = :value", **names, **values}
