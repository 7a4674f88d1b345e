"""Items of the rules table that a batch can do without.

If the table does not answer, as from a VPC without access to DynamoDB, it is not asked again for a
while.
"""

import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_PAUSE_SECONDS: Final = 60.0
_CONDITION: Final = "ConditionalCheckFailedException"


class OptionalItems:
    """The items of one partition; `client` creates the client on first use.

    `meanwhile` says what happens while the table does not answer, for the log.
    """

    def __init__(
        self, table: str, partition: str, client: "Callable[[], DynamoDBClient]", meanwhile: str
    ) -> None:
        self._table = table
        self._partition = partition
        self._make = client
        self._meanwhile = meanwhile
        self._not_before = 0.0

    @cached_property
    def _client(self) -> "DynamoDBClient":
        return self._make()

    def read(self, begins: str = "") -> Mapping[str, Mapping[str, Any]]:
        """Return the items by their sort key, all or those whose key begins so."""
        names, values = {"#bucket": "bucket"}, {":bucket": {"S": self._partition}}
        condition = "#bucket = :bucket"
        if begins:
            names["#rule"], values[":begins"] = "rule", {"S": begins}
            condition += " AND begins_with(#rule, :begins)"
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression=condition,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
        )
        return {item["rule"]["S"]: item for page in pages for item in page["Items"]}

    def item(self, name: str) -> Mapping[str, Any]:
        """Return one item; an empty one if there is none."""
        answer: Any = self._client.get_item(TableName=self._table, Key=self._key(name))
        found: Mapping[str, Any] = answer.get("Item", {})
        return found

    def delete(self, name: str) -> None:
        self._client.delete_item(TableName=self._table, Key=self._key(name))

    def update(self, name: str, **more: Any) -> Any:
        """Return DynamoDB's response to a change of one item.

        Raises:
            BotoCoreError, ClientError: the table did not answer, or a condition failed.
        """
        return self._client.update_item(TableName=self._table, Key=self._key(name), **more)

    def transact(self, *changes: tuple[str, str, Mapping[str, Any]]) -> bool:
        """Make changes (`Update` or `Delete`, the name, the rest) of all or of none of the items.

        Return whether their conditions held.
        """
        items: Any = [
            {what: {"TableName": self._table, "Key": self._key(name), **more}}
            for what, name, more in changes
        ]
        try:
            self._client.transact_write_items(TransactItems=items)
        except self._client.exceptions.TransactionCanceledException:
            return False
        return True

    def call(self, operation: str, name: str, **more: Any) -> Any:
        """Return DynamoDB's response about one item; None if there is none.

        Raises:
            ClientError: a condition on the item failed.
        """
        if time.monotonic() < self._not_before:
            return None
        reason: Exception
        try:
            return getattr(self._client, operation)(
                TableName=self._table, Key=self._key(name), **more
            )
        except ClientError as error:
            if is_refusal(error):
                raise
            reason = error
        except BotoCoreError as error:
            reason = error
        self._not_before = time.monotonic() + _PAUSE_SECONDS
        logger.warning(self._meanwhile, target=name, reason=str(reason))
        return None

    def _key(self, name: str) -> Any:
        return {"bucket": {"S": self._partition}, "rule": {"S": name}}


def is_refusal(error: ClientError) -> bool:
    """Return whether a condition on the item failed."""
    return error.response.get("Error", {}).get("Code") == _CONDITION
