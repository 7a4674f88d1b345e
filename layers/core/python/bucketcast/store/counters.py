"""Counts of events by target, in the rules' table: what MinIO's metrics tell.

One call a batch adds to one item; reading them is one query. A count that could not be written is
lost: no event waits for it, and where the table does not answer, as from a VPC without a way to
DynamoDB, it is left alone for a while.
"""

import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION = "#counters"
TOPICS: Final = "#topics"
"""In the place of an ARN."""
CLIENT: Final = Config(
    connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 1}
)
"""For the client that adds: a batch has better to do than to wait."""
_LEFT_ALONE_SECONDS: Final = 60.0


class Counts(NamedTuple):
    """Of one target: events that arrived, tries that failed, events buried, events gone nowhere.

    The last are those that a rule sent to a target that is not there.
    """

    sent: int = 0
    failed: int = 0
    dead: int = 0
    skipped: int = 0


class Triggered(NamedTuple):
    """Of all topics together: events that notifications asked for, one for each notification."""

    triggered: int = 0


class Counters:
    """The counters of a stack; `client` makes the client when it is needed first."""

    def __init__(self, table: str, client: "Callable[[], DynamoDBClient]") -> None:
        self._table = table
        self._make = client
        self._not_before = 0.0

    @cached_property
    def _client(self) -> "DynamoDBClient":
        return self._make()

    def add(self, arn: str, counts: Counts | Triggered) -> None:
        """Add to a target's counts, or to those of `TOPICS`; zeros alone make no call."""
        grown = {name: number for name, number in counts._asdict().items() if number}
        if not grown or time.monotonic() < self._not_before:
            return
        adds = ", ".join(f"{name} :{name}" for name in grown)
        try:
            self._client.update_item(
                TableName=self._table,
                Key={"bucket": {"S": PARTITION}, "rule": {"S": arn}},
                UpdateExpression=f"ADD {adds}",
                ExpressionAttributeValues={f":{k}": {"N": str(v)} for k, v in grown.items()},
            )
        except (BotoCoreError, ClientError) as error:
            self._not_before = time.monotonic() + _LEFT_ALONE_SECONDS
            logger.warning("counts were not written", target=arn, reason=str(error))

    def read(self) -> Mapping[str, Counts]:
        """What was counted since the stack was made, by ARN."""
        pages = self._client.get_paginator("query").paginate(
            TableName=self._table,
            KeyConditionExpression="#bucket = :bucket",
            ExpressionAttributeNames={"#bucket": "bucket"},
            ExpressionAttributeValues={":bucket": {"S": PARTITION}},
        )
        items = {item["rule"]["S"]: item for page in pages for item in page["Items"]}
        return {arn: _counts(item) for arn, item in items.items() if arn != TOPICS}

    def triggered(self) -> int:
        """How many events notifications of topics have asked for since the stack was made."""
        item: Any = self._client.get_item(
            TableName=self._table, Key={"bucket": {"S": PARTITION}, "rule": {"S": TOPICS}}
        ).get("Item", {})
        return int(item.get("triggered", {"N": "0"})["N"])


def _counts(item: Mapping[str, Any]) -> Counts:
    return Counts(*(int(item.get(name, {"N": "0"})["N"]) for name in Counts._fields))
