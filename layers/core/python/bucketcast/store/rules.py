"""Rules in DynamoDB: an item a rule, and one a bucket whose number grows with every change.

Whoever matches events asks for that number with a consistent read before each batch and reads the
bucket's rules anew when it grew. So a rule is in force for everything that arrives after the
command that made it returned, and an unchanged bucket costs one small read a batch.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from botocore.exceptions import ClientError

from bucketcast.conditions import Condition
from bucketcast.errors import BucketcastError
from bucketcast.rules import Rule, RuleIndex

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_VERSION = "#version"
_RULE = "rule#"
_BATCH_GET = 100
_TRANSACTION = 99
_TRIES = 10
_conditions = msgspec.json.Decoder(tuple[Condition, ...])


class RuleExistsError(BucketcastError):
    """The very same rule is there already."""


class Rules:
    """The rules table."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._table = table
        self._client = client

    def add(self, rule: Rule) -> None:
        """Put a rule in force.

        Raises:
            RuleExistsError: there is one with the same target, events, prefix and suffix.
        """
        put = {
            "TableName": self._table,
            "Item": _item(rule),
            "ConditionExpression": "attribute_not_exists(#rule)",
            "ExpressionAttributeNames": {"#rule": "rule"},
        }
        try:
            self._change(rule.bucket, [{"Put": put}])
        except self._client.exceptions.TransactionCanceledException as error:
            if "ConditionalCheckFailed" not in _codes(error):
                raise
            raise RuleExistsError(
                f"{rule.bucket} has this rule already: {rule.arn} {','.join(rule.events)} "
                f"prefix='{rule.prefix}' suffix='{rule.suffix}'"
            ) from None

    def remove(self, rules: Sequence[Rule]) -> None:
        """Take rules of one bucket out of force; one that is gone already is no error."""
        for start in range(0, len(rules), _TRANSACTION):
            part = rules[start : start + _TRANSACTION]
            deletes = [{"Delete": {"TableName": self._table, "Key": _key(rule)}} for rule in part]
            self._change(part[0].bucket, deletes)

    def of(self, bucket: str) -> list[Rule]:
        """All rules of a bucket, ordered by id."""
        return list(self._read(bucket))

    def versions(self, buckets: Iterable[str]) -> dict[str, int]:
        """The change number of each bucket that ever had a rule."""
        keys = [{"bucket": {"S": name}, "rule": {"S": _VERSION}} for name in sorted(buckets)]
        found: dict[str, int] = {}
        for start in range(0, len(keys), _BATCH_GET):
            wanted: Any = {
                self._table: {"Keys": keys[start : start + _BATCH_GET], "ConsistentRead": True}
            }
            while wanted:
                answer = self._client.batch_get_item(RequestItems=wanted)
                for item in answer["Responses"].get(self._table, ()):
                    found[item["bucket"]["S"]] = int(item["version"]["N"])
                wanted = answer.get("UnprocessedKeys")
        return found

    def _read(self, bucket: str) -> Iterator[Rule]:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="#bucket = :bucket AND begins_with(#rule, :rule)",
            ExpressionAttributeNames={"#bucket": "bucket", "#rule": "rule"},
            ExpressionAttributeValues={":bucket": {"S": bucket}, ":rule": {"S": _RULE}},
            ConsistentRead=True,
        )
        for page in pages:
            for item in page["Items"]:
                conditions = item.get("conditions", {}).get("S", "[]")
                yield Rule(
                    bucket=bucket,
                    arn=item["arn"]["S"],
                    events=tuple(name["S"] for name in item["events"]["L"]),
                    prefix=item["prefix"]["S"],
                    suffix=item["suffix"]["S"],
                    conditions=_conditions.decode(conditions),
                    name=item.get("name", {}).get("S", ""),
                )

    def _change(self, bucket: str, items: list[Any]) -> None:
        count: Any = {
            "TableName": self._table,
            "Key": {"bucket": {"S": bucket}, "rule": {"S": _VERSION}},
            "UpdateExpression": "ADD version :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        for left in reversed(range(_TRIES)):
            try:
                self._client.transact_write_items(TransactItems=[*items, {"Update": count}])
            except self._client.exceptions.TransactionCanceledException as error:
                # Two changes of one bucket at the same moment: one of them goes first.
                if not left or "TransactionConflict" not in _codes(error):
                    raise
            else:
                return


class Rulebook:
    """The indexes of the rules in force, kept while they do not change."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._kept: dict[str, tuple[int, RuleIndex]] = {}

    def __call__(self, buckets: frozenset[str]) -> Mapping[str, RuleIndex]:
        """The rules of these buckets as they are now; a bucket that never had one is missing."""
        indexes: dict[str, RuleIndex] = {}
        for bucket, version in (self._rules.versions(buckets) if buckets else {}).items():
            kept = self._kept.get(bucket)
            if kept is None or kept[0] != version:
                kept = self._kept[bucket] = (version, RuleIndex(self._rules.of(bucket)))
            indexes[bucket] = kept[1]
        return indexes


def _codes(error: ClientError) -> set[str]:
    """Why DynamoDB cancelled a transaction, of all its items."""
    reasons: Any = error.response.get("CancellationReasons", ())
    return {reason.get("Code", "") for reason in reasons}


def _key(rule: Rule) -> dict[str, dict[str, str]]:
    return {"bucket": {"S": rule.bucket}, "rule": {"S": _RULE + rule.id}}


def _item(rule: Rule) -> dict[str, Any]:
    item: dict[str, Any] = {
        **_key(rule),
        "arn": {"S": rule.arn},
        "events": {"L": [{"S": name} for name in rule.events]},
        "prefix": {"S": rule.prefix},
        "suffix": {"S": rule.suffix},
    }
    if rule.conditions:
        item["conditions"] = {"S": msgspec.json.encode(rule.conditions).decode()}
    if rule.name:
        item["name"] = {"S": rule.name}
    return item
