"""Topics in the rules table, in the partition of their run-time targets.

An item per topic, and one per running call: a `Work` names the run-time targets and secrets that
are to be removed, unless the topic's own item then names them. A change requires that the topic is
still as it was read, so of two simultaneous calls one reads it again.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bucketcast.aws.runtime.table import PARTITION, LostTaskError, Table
from bucketcast.runtime.model import RuntimeTarget
from bucketcast.topics.model import Topic, TopicArn

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TOPIC: Final = "topic#"
_WORK: Final = "topicwork#"
_LONGEST_KEY: Final = 1_024
_MOST_READ: Final = 1_000


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What one call does to one topic, or left to be done; after `due` (Unix ms) by any call.

    `targets` are ARNs of run-time targets and `secrets` names; they may exist or not.
    """

    tenant: str
    name: str
    holder: str
    due: int
    targets: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()


_topic = msgspec.json.Decoder(Topic)
_work = msgspec.json.Decoder(Work)


class TopicTable:
    """The items of topics; all reads are consistent."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._name = table
        self._client = client
        self._table = Table(table, client)

    def topic(self, arn: TopicArn) -> Topic | None:
        """Return the topic of an ARN, ignoring its region; None if there is none."""
        key = _topic_key(arn.tenant, arn.name)
        if len(key.encode()) > _LONGEST_KEY:
            return None
        answer = self._client.get_item(TableName=self._name, Key=_key(key), ConsistentRead=True)
        item = answer.get("Item")
        return _topic.decode(item["text"]["S"]) if item else None

    def target(self, arn: str) -> RuntimeTarget | None:
        """Return the run-time target of an ARN; None if there is none."""
        return self._table.target(arn)

    def page(
        self,
        tenant: str | None,
        limit: int,
        after: str = "",
        keep: Callable[[Topic], bool] = lambda _: True,
    ) -> tuple[list[Topic], str]:
        """Return up to `limit` topics that are not being deleted, by tenant and name, and a marker.

        With the marker as `after` the next page begins after this one; "" is the end. Without a
        tenant (None) they are everybody's.
        """
        begin = _TOPIC if tenant is None else _topic_key(tenant, "")
        found: list[Topic] = []
        start = _TOPIC + after if after else ""
        # One more than `limit` shows whether there is another page.
        for text in self._texts(begin, start, min(limit + 1, _MOST_READ)):
            topic = _topic.decode(text)
            if not keep(topic):
                continue
            if len(found) == limit:
                last = found[-1]
                return found, f"{last.tenant}:{last.name}"
            found.append(topic)
        return found, ""

    def works(self) -> list[Work]:
        return [_work.decode(text) for text in self._texts(_WORK)]

    def begin(self, work: Work, instead_of: Work | None = None) -> bool:
        """Store a work, replacing another; return whether no other call was first."""
        condition = "attribute_not_exists(mark)" if instead_of is None else "mark = :mark"
        more: Any = {}
        if instead_of is not None:
            more = {"ExpressionAttributeValues": {":mark": {"S": _mark(instead_of)}}}
        try:
            self._client.put_item(
                TableName=self._name, Item=_work_item(work), ConditionExpression=condition, **more
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def end(self, work: Work) -> None:
        """Delete a work, unless another call owns it by now."""
        try:
            self._client.delete_item(
                TableName=self._name,
                Key=_key(_work_key(work)),
                ConditionExpression="mark = :mark",
                ExpressionAttributeValues={":mark": {"S": _mark(work)}},
            )
        except self._client.exceptions.ConditionalCheckFailedException:
            return

    def commit(self, work: Work, before: Topic | None, after: Topic | None) -> bool:
        """Store a topic (None: delete it); return whether it and the work were as expected."""
        changed = self.change(TopicArn("", work.tenant, work.name), before, after)
        # No condition check, which would need another permission.
        mine: Any = {
            "Put": {
                "TableName": self._name,
                "Item": _work_item(work),
                "ConditionExpression": "mark = :mark",
                "ExpressionAttributeValues": {":mark": {"S": _mark(work)}},
            }
        }
        try:
            self._table.transact([changed, mine], f"the topic {work.name}")
        except LostTaskError:
            return False
        return True

    def change(self, arn: TopicArn, before: Topic | None, after: Topic | None) -> Any:
        """Return the part of a transaction that puts a topic, if it is still as it was read."""
        key = _key(_topic_key(arn.tenant, arn.name))
        as_read: Any = {"ConditionExpression": "attribute_not_exists(#number)"}
        if before is not None:
            as_read = {
                "ConditionExpression": "#number = :number",
                "ExpressionAttributeValues": {":number": {"N": str(before.number)}},
            }
        as_read |= {"TableName": self._name, "ExpressionAttributeNames": {"#number": "number"}}
        if after is None:
            return {"Delete": {"Key": key, **as_read}}
        text = msgspec.json.encode(after).decode()
        item = {**key, "text": {"S": text}, "number": {"N": str(after.number)}}
        return {"Put": {"Item": item, **as_read}}

    def _texts(self, begin: str, after: str = "", at_once: int = _MOST_READ) -> Iterator[str]:
        start: Any = _key(after) if after.startswith(begin) and after else None
        while True:
            answer = self._client.query(
                TableName=self._name,
                KeyConditionExpression="#bucket = :bucket AND begins_with(#rule, :begin)",
                ExpressionAttributeNames={"#bucket": "bucket", "#rule": "rule"},
                ExpressionAttributeValues={":bucket": {"S": PARTITION}, ":begin": {"S": begin}},
                ConsistentRead=True,
                Limit=at_once,
                **({"ExclusiveStartKey": start} if start else {}),
            )
            yield from (item["text"]["S"] for item in answer["Items"])
            start = answer.get("LastEvaluatedKey")
            if not start:
                return


def _key(rule: str) -> Any:
    return {"bucket": {"S": PARTITION}, "rule": {"S": rule}}


def _topic_key(tenant: str, name: str) -> str:
    return f"{_TOPIC}{tenant}:{name}"


def _work_key(work: Work) -> str:
    return f"{_WORK}{work.tenant}:{work.name}#{work.holder}"


def _work_item(work: Work) -> Any:
    text = msgspec.json.encode(work).decode()
    return {**_key(_work_key(work)), "text": {"S": text}, "mark": {"S": _mark(work)}}


def _mark(work: Work) -> str:
    return f"{work.holder} {work.due}"
