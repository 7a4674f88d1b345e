"""Items of one partition of the state table, each type under a prefix of its own.

A value is stored as JSON. Every write has the condition under which it is valid, so if two calls
write at the same time, one fails and reads again.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from bucketcast.state.lease import held, if_free, if_held
from bucketcast.state.table import Part, Partition
from bucketcast.telemetry import logger

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
        self._items = Partition(table, PARTITION, client)
        self._prefix = prefix
        self._decode = msgspec.json.Decoder(value).decode

    def get(self, key: str) -> T | None:
        """Return the value of a key, which may be longer than DynamoDB allows."""
        if len((self._prefix + key).encode()) > _LONGEST_KEY:
            return None
        item = self._items.get(self._prefix + key)
        return self._decode(item["text"]["S"]) if item else None

    def all(self, begin: str = "", *, after: str = "", at_once: int = _AT_ONCE) -> Iterator[T]:
        """Yield the values whose keys begin with `begin`, by key, from behind the key `after`.

        A call reads up to `at_once` of them.
        """
        start = self._prefix + after if after and after.startswith(begin) else ""
        limit = min(at_once, _AT_ONCE)
        for item in self._items.items(self._prefix + begin, start, Limit=limit):
            yield self._decode(item["text"]["S"])

    def put(
        self, key: str, value: T, condition: Mapping[str, Any] = _UNCONDITIONAL, **attributes: Any
    ) -> Part:
        """Return the part of a transaction that stores a value."""
        text = msgspec.json.encode(value).decode()
        item = {"text": {"S": text}, **attributes}
        return self._items.put_part(self._prefix + key, item, **condition)

    def delete(self, key: str, condition: Mapping[str, Any] = _UNCONDITIONAL) -> Part:
        """Return the part of a transaction that deletes a value."""
        return self._items.delete_part(self._prefix + key, **condition)


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """The work of one call, or the unfinished part of it.

    Its item is leased: it belongs to `holder` until `due` (Unix ms); then any call may take it
    over.
    """

    holder: str
    due: int

    @property
    def key(self) -> str:
        raise NotImplementedError


W = TypeVar("W", bound=Work)


class Works(Items[W]):
    """The works of one type."""

    def due(self, now: int) -> list[W]:
        """Return the works that any call may take over."""
        return [work for work in self.all() if work.due <= now]

    def sweep(self, now: int, settle: Callable[[W], bool]) -> list[W]:
        """Settle the works that any call may take over; return those that `settle` is done with.

        One that cannot be settled is logged, and stops neither the others nor the caller.
        """
        return [work for work in self.due(now) if self._is_settled(work, settle)]

    def _is_settled(self, work: W, settle: Callable[[W], bool]) -> bool:
        try:
            return settle(work)
        except Exception:  # noqa: BLE001 - an error of another call is not the caller's
            logger.exception("an unfinished call cannot be settled", work=work.key)
            return False

    def take(self, work: W, now: int, former: str = "") -> bool:
        """Store a work if its item is free by `if_free`; return True if it was."""
        return self._items.write(self._lease_part(work, if_free(work.holder, now, former)))

    def renew(self, work: W) -> bool:
        """Store a work once more; return True if it is still its holder's."""
        return self._items.write(self.renew_part(work))

    def release(self, work: W) -> None:
        """Delete a work, unless another call has taken it over."""
        self._items.write(self.release_part(work))

    def renew_part(self, work: W) -> Part:
        """Return `renew` as a part of a transaction."""
        return self._lease_part(work, if_held(work.holder))

    def release_part(self, work: W) -> Part:
        """Return `release` as a part of a transaction."""
        return self.delete(work.key, if_held(work.holder))

    def _lease_part(self, work: W, condition: Mapping[str, Any]) -> Part:
        return self.put(work.key, work, condition, **held(work.holder, work.due))


def if_same(attribute: str, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the condition that an item's attribute still has this value, or none if it is None."""
    names = {"ExpressionAttributeNames": {"#name": attribute}}
    if value is None:
        return {"ConditionExpression": "attribute_not_exists(#name)", **names}
    values = {"ExpressionAttributeValues": {":value": value}}
    return {"ConditionExpression": "#name = :value", **names, **values}
