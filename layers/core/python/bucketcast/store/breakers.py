"""The breakers of a stack's targets, in the rules' table: an item for each that does not answer.

A batch reads its target's item, half a read unit; nothing is written while a target answers. Where
the table does not answer, as from a VPC without a way to DynamoDB, each function knows only what it
saw itself, and asks again after a while.
"""

import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.dispatch.breaker import Memory, Trouble
from bucketcast.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION: Final = "#breakers"
REASON_LENGTH: Final = 1_000
_LEFT_ALONE_SECONDS: Final = 60.0
_REFUSED: Final = "ConditionalCheckFailedException"


class Breakers:
    """All breakers of a stack; `client` makes the client when it is needed first."""

    def __init__(self, table: str, client: "Callable[[], DynamoDBClient]") -> None:
        self._table = table
        self._make = client
        self._not_before = 0.0

    @cached_property
    def _client(self) -> "DynamoDBClient":
        return self._make()

    def of(self, arn: str) -> "SharedBook":
        """The book of one target."""
        return SharedBook(self, arn)

    def read(self) -> Mapping[str, Trouble]:
        """The targets that do not answer, by ARN."""
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="#bucket = :bucket",
            ExpressionAttributeNames={"#bucket": "bucket"},
            ExpressionAttributeValues={":bucket": {"S": PARTITION}},
        )
        return {item["rule"]["S"]: _trouble(item) for page in pages for item in page["Items"]}

    def call(self, operation: str, arn: str, **more: Any) -> Any:
        """What DynamoDB answers about a target's item; None where it does not.

        Raises:
            ClientError: what was demanded of the item does not hold.
        """
        if time.monotonic() < self._not_before:
            return None
        key = {"bucket": {"S": PARTITION}, "rule": {"S": arn}}
        try:
            return getattr(self._client, operation)(TableName=self._table, Key=key, **more)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") == _REFUSED:
                raise
            self._leave_alone(arn, error)
        except BotoCoreError as error:
            self._leave_alone(arn, error)
        return None

    def _leave_alone(self, arn: str, error: Exception) -> None:
        self._not_before = time.monotonic() + _LEFT_ALONE_SECONDS
        logger.warning("the breaker is known to this function only", target=arn, reason=str(error))


class SharedBook:
    """A target's item; what this function saw itself is kept for when the table does not answer."""

    def __init__(self, breakers: Breakers, arn: str) -> None:
        self._breakers = breakers
        self._arn = arn
        self._own = Memory()

    def read(self) -> Trouble | None:
        answer = self._breakers.call("get_item", self._arn)
        if answer is None:
            return self._own.read()
        return _trouble(answer["Item"]) if answer.get("Item") else None

    def note(self, trouble: Trouble, *, probed: bool) -> Trouble:
        own = self._own.note(trouble, probed=probed)
        sets = ["since = if_not_exists(since, :since)", "#next = :next"]
        sets += ["#error = :error", "reason = :reason"]
        removed = " REMOVE probing" if probed else ""
        answer = self._breakers.call(
            "update_item",
            self._arn,
            UpdateExpression=f"SET {', '.join(sets)}{removed} ADD tries :one",
            ExpressionAttributeNames={"#next": "next", "#error": "error"},
            ExpressionAttributeValues={
                ":since": {"N": str(trouble.since)},
                ":next": {"N": str(trouble.next)},
                ":error": {"S": trouble.error},
                ":reason": {"S": trouble.reason[:REASON_LENGTH]},
                ":one": {"N": "1"},
            },
            ReturnValues="ALL_NEW",
        )
        return own if answer is None else _trouble(answer["Attributes"])

    def take(self, now: int, until: int) -> bool:
        try:
            answer = self._breakers.call(
                "update_item",
                self._arn,
                UpdateExpression="SET probing = :until",
                ConditionExpression="#next <= :now AND "
                "(attribute_not_exists(probing) OR probing <= :now)",
                ExpressionAttributeNames={"#next": "next"},
                ExpressionAttributeValues={
                    ":now": {"N": str(now)},
                    ":until": {"N": str(until)},
                },
            )
        except ClientError:
            return False
        return answer is not None or self._own.take(now, until)

    def clear(self) -> None:
        self._own.clear()
        self._breakers.call("delete_item", self._arn)


def _trouble(item: Mapping[str, Any]) -> Trouble:
    since, next_, probing, tries = (
        int(item.get(name, {"N": "0"})["N"]) for name in ("since", "next", "probing", "tries")
    )
    error, reason = (item.get(name, {"S": ""})["S"] for name in ("error", "reason"))
    return Trouble(since, next_, probing, tries, error, reason)
