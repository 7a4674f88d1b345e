"""A partition of the state table: the items under one partition key, by their sort key.

A bucket's partition has the bucket's name; all others have names that no bucket can have, such as
`#breakers`.
"""

import random
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION_KEY: Final = "partition"
SORT_KEY: Final = "key"
EXPIRES: Final = "expires"
"""The attribute by which DynamoDB removes items of the table, in seconds since 1970."""
VERSION: Final = "#version"
"""The key of the number that grows with every change of a partition."""
_TRIES: Final = 30
_LONGEST_PAUSE: Final = 0.5
_CONDITION: Final = "ConditionalCheckFailedException"

Part = dict[str, Any]
"""A part of a transaction."""


class Partition:
    """The items of one partition; reads are strongly consistent, unless told otherwise.

    Keyword arguments are those of DynamoDB's own operations, such as `ConditionExpression`.
    """

    def __init__(
        self, table: str, name: str, client: "DynamoDBClient", *, consistent: bool = True
    ) -> None:
        self.client = client
        self._table = table
        self._name = name
        self._consistent = consistent

    def get(self, key: str) -> Mapping[str, Any]:
        """Return an item, an empty one if there is none."""
        response = self.call("get_item", key, ConsistentRead=self._consistent)
        item: Mapping[str, Any] = response.get("Item", {})
        return item

    def items(self, begins: str = "", after: str = "", **more: Any) -> Iterator[Mapping[str, Any]]:
        """Yield the items whose sort key begins so, ordered by it, from behind the key `after`."""
        condition = "#partition = :partition"
        names, values = {"#partition": PARTITION_KEY}, {":partition": {"S": self._name}}
        if begins:
            condition += " AND begins_with(#key, :begins)"
            names["#key"], values[":begins"] = SORT_KEY, {"S": begins}
        if after:
            more["ExclusiveStartKey"] = self._key(after)
        pages = self.client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression=condition,
            ExpressionAttributeNames=names,
            ExpressionAttributeValues=values,
            ConsistentRead=self._consistent,
            **more,
        )
        for page in pages:
            yield from page["Items"]

    def put(self, key: str, item: Mapping[str, Any], **condition: Any) -> bool:
        """Store an item; return True if the condition held."""
        return self.write(self.put_part(key, item, **condition))

    def delete(self, key: str, **condition: Any) -> bool:
        """Delete an item; return True if the condition held."""
        return self.write(self.delete_part(key, **condition))

    def write(self, part: Part) -> bool:
        """Do one part by itself; return True if its condition held."""
        ((operation, arguments),) = part.items()
        try:
            getattr(self.client, f"{operation.lower()}_item")(**arguments)
        except ClientError as error:
            if not is_refusal(error):
                raise
            return False
        return True

    def call(self, operation: str, key: str, **more: Any) -> Any:
        """Return DynamoDB's response to an operation on one item."""
        return getattr(self.client, operation)(TableName=self._table, Key=self._key(key), **more)

    def transact(self, *parts: Part) -> bool:
        """Do all parts, or none; return False if a condition does not hold.

        Changes of one moment go one after the other.
        """
        items: Any = parts
        for tries_left in reversed(range(_TRIES)):
            try:
                self.client.transact_write_items(TransactItems=items)
            except self.client.exceptions.TransactionCanceledException as error:
                answered: Any = error.response
                reasons = {each.get("Code") for each in answered.get("CancellationReasons", ())}
                if "ConditionalCheckFailed" in reasons:
                    return False
                if not tries_left or "TransactionConflict" not in reasons:
                    raise
            else:
                return True
            time.sleep(random.uniform(0, min(0.02 * (_TRIES - tries_left), _LONGEST_PAUSE)))  # noqa: S311
        raise RuntimeError("not reached: the last try raises")

    def commit(self, *parts: Part, since: int | None = None) -> bool:
        """Do all parts and raise the partition's number, or nothing, as `transact` does.

        It is a condition, too, that the number is still `since`, 0 before the first change.
        """
        change: dict[str, Any] = {
            "UpdateExpression": "ADD version :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        if since is not None:
            seen = "version = :seen" if since else "attribute_not_exists(version)"
            change["ConditionExpression"] = seen
        if since:
            change["ExpressionAttributeValues"][":seen"] = {"N": str(since)}
        return self.transact(*parts, self.update_part(VERSION, **change))

    def put_part(self, key: str, item: Mapping[str, Any], **condition: Any) -> Part:
        return {"Put": {"TableName": self._table, "Item": {**self._key(key), **item}, **condition}}

    def update_part(self, key: str, **change: Any) -> Part:
        return {"Update": {"TableName": self._table, "Key": self._key(key), **change}}

    def delete_part(self, key: str, **condition: Any) -> Part:
        return {"Delete": {"TableName": self._table, "Key": self._key(key), **condition}}

    def _key(self, key: str) -> dict[str, Any]:
        return {PARTITION_KEY: {"S": self._name}, SORT_KEY: {"S": key}}


def is_refusal(error: ClientError) -> bool:
    """Return True if a condition on an item did not hold."""
    return error.response.get("Error", {}).get("Code") == _CONDITION
