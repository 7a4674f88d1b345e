"""The events of subscriptions, in a table of their own: a row an event and subscription.

A row's key is its event's id, which begins with the event's time: rows are in order of time, and a
repeated event overwrites itself. An acknowledgement is a row too, beside the subscription's own,
and is written before the event's row is deleted: an event that is repeated later stays hidden,
since pages are compared with acknowledgements.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bucketcast.delivery.retention import LONGEST_LIFE_DAYS
from bucketcast.errors import BucketcastError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEY: Final = "subscription"
SORT_KEY: Final = "event"
EXPIRES: Final = "expires"
"""The attribute by which DynamoDB removes rows."""
LARGEST_RECORD: Final = 380_000
"""A row of DynamoDB is 400 KB at most, with its keys."""
PAGE_BYTES: Final = 4 << 20
"""Bytes of records in one page; a function's response is 6 MB at most."""
DAY_SECONDS: Final = 86_400
_ACK_DAYS: Final = LONGEST_LIFE_DAYS
"""How much longer than events acknowledgements are kept: a repeat may be redriven until then."""
_WRITES: Final = 25
_READS: Final = 100
_MOST_AT_ONCE: Final = 1_000
_MOST_HIDDEN: Final = 10_000
"""After so many rows that are not to be shown a page ends, and the next begins behind them."""
_STORE_SECONDS: Final = 15.0
"""After so long what is not stored yet is left for another attempt."""
_TRIES: Final = 8
_PAUSE_SECONDS: Final = 0.05


class BusyError(BucketcastError):
    """DynamoDB accepts no more requests now."""


class Stored(NamedTuple):
    """One event: its id, and its record as JSON."""

    id: str
    record: bytes


class Page(NamedTuple):
    """Events in the order of their ids; `marker` begins the next page, "" where there is none.

    There may be a next page behind one without events.
    """

    events: list[Stored]
    marker: str


class StoredEvents:
    """The events of all subscriptions; `days` is how long one is kept."""

    def __init__(
        self,
        table: str,
        client: "DynamoDBClient",
        days: int,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._table = table
        self._client = client
        self._days = days
        self._clock = clock

    def store(self, partitions: Sequence[str], events: Iterable[Stored]) -> set[str]:
        """Store events for each of these subscriptions; once more changes nothing.

        Return the ids of those that DynamoDB did not take, or not in time. The first are stored
        first, so that each attempt gets further.
        """
        expires = {"N": str(self._expiry(self._days))}
        by_id = {each.id: each for each in events}
        rows = [(partition, each) for each in by_id.values() for partition in partitions]
        until = self._clock() + _STORE_SECONDS
        for start in range(0, len(rows), _WRITES):
            items = (
                {**_row(partition, each.id), "record": {"B": each.record}, EXPIRES: expires}
                for partition, each in rows[start : start + _WRITES]
            )
            late = self._clock() >= until
            if late or not self._write([{"PutRequest": {"Item": item}} for item in items]):
                return {each.id for _, each in rows[start:]}
        return set()

    def page(self, partition: str, limit: int, marker: str = "") -> Page:
        """Return up to `limit` events after a marker that are neither acknowledged nor expired."""
        found: list[Stored] = []
        size = examined = 0
        for rows, count, last in self._rows(partition, marker, limit + 1):
            acknowledged = self._acknowledged(partition, [row[SORT_KEY]["S"] for row in rows])
            for row in rows:
                event = Stored(row[SORT_KEY]["S"], row["record"]["B"])
                if event.id in acknowledged:
                    continue
                size += len(event.record)
                if len(found) == limit or (found and size > PAGE_BYTES):
                    return Page(found, found[-1].id)
                found.append(event)
            examined += count
            if last and examined - len(found) >= _MOST_HIDDEN:
                return Page(found, last)
        return Page(found, "")

    def acknowledge(self, partition: str, event_id: str) -> bool:
        """Acknowledge an event, which hides it; return whether it existed."""
        key = _row(partition, event_id)
        answer = self._client.get_item(
            TableName=self._table,
            Key=key,
            ConsistentRead=True,
            ProjectionExpression="#event",
            ExpressionAttributeNames={"#event": SORT_KEY},
        )
        if "Item" not in answer:
            return False
        expires = {"N": str(self._expiry(self._days + _ACK_DAYS))}
        mark: Any = {**_row(_acks(partition), event_id), EXPIRES: expires}
        self._client.put_item(TableName=self._table, Item=mark)
        self._client.delete_item(TableName=self._table, Key=key)
        return True

    def count(self, partition: str) -> int:
        """Return how many events wait; each of their rows is read, and those that hide one."""
        query = self._query(partition, "")
        query["ExpressionAttributeNames"] |= {"#event": SORT_KEY}
        pages = self._client.get_paginator("query").paginate(**query, ProjectionExpression="#event")
        found = 0
        for page in pages:
            ids = [row[SORT_KEY]["S"] for row in page["Items"]]
            found += len(ids) - len(self._acknowledged(partition, ids))
        return found

    def _rows(
        self, partition: str, marker: str, at_once: int
    ) -> Iterator[tuple[list[dict[str, Any]], int, str]]:
        """Yield rows, how many were read with the expired ones, and the last id that was read.

        Where many are not to be shown, more are read at once.
        """
        start: Mapping[str, Any] = {}
        while True:
            answer = self._client.query(**self._query(partition, marker), **start, Limit=at_once)
            last = answer.get("LastEvaluatedKey")
            yield answer["Items"], answer["ScannedCount"], last[SORT_KEY]["S"] if last else ""
            if not last:
                return
            start = {"ExclusiveStartKey": last}
            at_once = min(2 * at_once, _MOST_AT_ONCE)

    def _query(self, partition: str, marker: str) -> Any:
        """Return a query of the rows after a marker, without those that have expired."""
        names = {"#key": KEY, "#expires": EXPIRES}
        values = {":key": {"S": partition}, ":now": {"N": str(int(self._clock()))}}
        condition = "#key = :key"
        if marker:
            condition += " AND #event > :marker"
            names["#event"] = SORT_KEY
            values[":marker"] = {"S": marker}
        return {
            "TableName": self._table,
            "KeyConditionExpression": condition,
            "FilterExpression": "#expires > :now",
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
            "ConsistentRead": True,
        }

    def _acknowledged(self, partition: str, ids: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for start in range(0, len(ids), _READS):
            part = ids[start : start + _READS]
            left: Any = {
                self._table: {
                    "Keys": [_row(_acks(partition), each) for each in part],
                    "ConsistentRead": True,
                }
            }
            for _ in self._attempts():
                answer = self._client.batch_get_item(RequestItems=left)
                rows = answer["Responses"].get(self._table, [])
                found.update(row[SORT_KEY]["S"] for row in rows)
                left = answer.get("UnprocessedKeys")
                if not left:
                    break
            else:
                raise BusyError("DynamoDB did not answer for all events; try again")
        return found

    def _write(self, requests: Any) -> bool:
        """Write rows; return whether DynamoDB took all of them."""
        left: Any = {self._table: requests}
        for _ in self._attempts():
            # Where it takes none at all, it raises instead of giving them back.
            with suppress(self._client.exceptions.ProvisionedThroughputExceededException):
                left = self._client.batch_write_item(RequestItems=left).get("UnprocessedItems")
            if not left:
                return True
        return False

    @staticmethod
    def _attempts() -> Iterator[None]:
        """Yield before each attempt, and pause after it."""
        for number in range(_TRIES):
            yield
            time.sleep(_PAUSE_SECONDS * 2**number)

    def _expiry(self, days: int) -> int:
        return int(self._clock()) + days * DAY_SECONDS


def _row(partition: str, event_id: str) -> Any:
    return {KEY: {"S": partition}, SORT_KEY: {"S": event_id}}


def _acks(partition: str) -> str:
    return f"{partition}#acknowledged"
