"""Subscriptions in the rules table, beside their topics.

A subscription is an item of its own, and its topic names it: one transaction writes both, if both
are still as they were read. Ingest reads only the topic.
"""

import random
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from bucketcast.aws.runtime.table import PARTITION, LostTaskError, Table
from bucketcast.aws.topics.table import TopicTable
from bucketcast.topics.errors import TopicError, invalid
from bucketcast.topics.model import Topic, TopicArn, missing
from bucketcast.topics.subscription import MOST_OF_A_TOPIC, Subscription, unknown

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_BEGIN: Final = "subscription#"
_TRIES: Final = 20
_PAUSE_SECONDS: Final = 0.1

_decoder = msgspec.json.Decoder(Subscription)


class Subscriptions:
    """The subscriptions of one deployment; all reads are consistent."""

    def __init__(
        self, table: str, client: "DynamoDBClient", clock: Callable[[], float] = time.time
    ) -> None:
        self._name = table
        self._client = client
        self._table = Table(table, client)
        self._topics = TopicTable(table, client)
        self._clock = clock

    def find(self, tenant: str, name: str) -> Subscription | None:
        """Return a tenant's subscription of this name."""
        answer = self._client.get_item(
            TableName=self._name, Key=_key(tenant, name), ConsistentRead=True
        )
        item = answer.get("Item")
        return _decoder.decode(item["text"]["S"]) if item else None

    def all(self) -> Iterator[Subscription]:
        """Return all subscriptions, ordered by tenant and name."""
        pages = self._client.get_paginator("query").paginate(
            TableName=self._name,
            KeyConditionExpression="#bucket = :bucket AND begins_with(#rule, :begin)",
            ExpressionAttributeNames={"#bucket": "bucket", "#rule": "rule"},
            ExpressionAttributeValues={":bucket": {"S": PARTITION}, ":begin": {"S": _BEGIN}},
            ConsistentRead=True,
        )
        for page in pages:
            yield from (_decoder.decode(item["text"]["S"]) for item in page["Items"])

    def put(
        self,
        tenant: str,
        owner: str,
        name: str,
        topic: TopicArn,
        allow: Callable[[Topic, Subscription | None], None],
    ) -> Subscription:
        """Create a subscription unless it exists; `allow` raises if that is forbidden.

        Raises:
            TopicError: the topic does not exist, or another topic's subscription has the name.
        """
        for left in reversed(range(_TRIES)):
            before = self._topics.topic(topic)
            if before is None:
                raise missing(str(topic))
            there = self.find(tenant, name)
            allow(before, there)
            if there and (there.topic_tenant, there.topic_name) != (topic.tenant, topic.name):
                found = f"{topic.name!r}, and {name} is a subscription of {there.topic_name}"
                raise invalid("topic", found, f"{there.topic_name}, or delete {name} first")
            made = there or Subscription(
                tenant=tenant,
                owner=owner,
                name=name,
                topic_tenant=topic.tenant,
                topic_name=topic.name,
                created=round(self._clock() * 1000),
            )
            if made.partition in before.subscriptions:
                return made
            if len(before.subscriptions) >= MOST_OF_A_TOPIC:
                raise invalid(
                    "topic",
                    f"{topic.name} with {len(before.subscriptions)} subscriptions",
                    f"at most {MOST_OF_A_TOPIC} of a topic: delete one first",
                )
            after = replace(
                before,
                number=before.number + 1,
                subscriptions=(*before.subscriptions, made.partition),
            )
            put = self._put(made, there)
            if self._transact(topic, [put, self._topics.change(topic, before, after)], left):
                return made
        raise _busy(name)

    def delete(
        self, tenant: str, name: str, allow: Callable[[Subscription, Topic | None], None]
    ) -> None:
        """Delete a subscription; its events become unreadable.

        Raises:
            TopicError: there is none, or `allow` raised it.
        """
        for left in reversed(range(_TRIES)):
            there = self.find(tenant, name)
            if there is None:
                raise unknown(name)
            arn = there.arn("")
            before = self._topics.topic(arn)
            allow(there, before)
            changes = [self._delete(there)]
            if before and there.partition in before.subscriptions:
                kept = tuple(each for each in before.subscriptions if each != there.partition)
                after = replace(before, number=before.number + 1, subscriptions=kept)
                changes.append(self._topics.change(arn, before, after))
            if self._transact(arn, changes, left):
                return
        raise _busy(name)

    def _put(self, made: Subscription, there: Subscription | None) -> Any:
        text = msgspec.json.encode(made).decode()
        item = {**_key(made.tenant, made.name), "text": {"S": text}}
        return {"Put": {"TableName": self._name, "Item": item, **_if_same(there)}}

    def _delete(self, there: Subscription) -> Any:
        key = _key(there.tenant, there.name)
        return {"Delete": {"TableName": self._name, "Key": key, **_if_same(there)}}

    def _transact(self, arn: TopicArn, changes: list[Any], left: int) -> bool:
        """Write all items; return whether nothing had changed meanwhile."""
        try:
            self._table.transact(changes, str(arn))
        except LostTaskError:
            if left:
                time.sleep(random.uniform(0, _PAUSE_SECONDS))  # noqa: S311 - no secret
            return False
        return True


def _key(tenant: str, name: str) -> Any:
    return {"bucket": {"S": PARTITION}, "rule": {"S": f"{_BEGIN}{tenant}:{name}"}}


def _if_same(there: Subscription | None) -> dict[str, Any]:
    names = {"ExpressionAttributeNames": {"#text": "text"}}
    if there is None:
        return {"ConditionExpression": "attribute_not_exists(#text)", **names}
    text = msgspec.json.encode(there).decode()
    values = {"ExpressionAttributeValues": {":text": {"S": text}}}
    return {"ConditionExpression": "#text = :text", **names, **values}


def _busy(name: str) -> TopicError:
    return TopicError(
        "ServiceUnavailable", f"the subscription {name} is changed by other calls: try again"
    )
