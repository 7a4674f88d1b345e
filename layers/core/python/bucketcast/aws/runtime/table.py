"""Run-time targets in the rules table, in a partition that no bucket name can be.

An item per target, one with a number that grows with every change, as for a bucket's rules, and one
per running call: a `Task` names all that is to be removed if the call does not finish. So every
resource is named here before it is created, until a target's own item names it.
"""

import random
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from bucketcast.aws.counters import Counters
from bucketcast.aws.rules import codes
from bucketcast.errors import BucketcastError
from bucketcast.runtime.model import RuntimeTarget

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION = "#targets"
_VERSION = "#version"
_TARGET = "target#"
_TASK = "task#"
_TRIES = 30
_LONGEST_PAUSE = 0.5


class LostTaskError(BucketcastError):
    """Another call took over this one's task."""


class Leftovers(msgspec.Struct, frozen=True):
    """A resource to be removed; queues are removed with their dead-letter queues.

    `name` is the secret's or the queue's.
    """

    what: Literal["alarms", "mapping", "queue", "secret"]
    name: str


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What one call does to one target, or left to be done.

    Before `due` (Unix ms) it is `holder`'s, then whoever comes first removes what is `doomed`.
    With `if_empty` nobody is at work: a removed target's queue goes once nothing waits there.
    """

    arn: str
    holder: str
    due: int
    doomed: tuple[Leftovers, ...] = ()
    if_empty: bool = False


_target = msgspec.json.Decoder(RuntimeTarget)
_task = msgspec.json.Decoder(Task)


class Table:
    """The items of run-time targets; all reads are consistent."""

    def __init__(self, name: str, client: "DynamoDBClient") -> None:
        self._name = name
        self._client = client

    def version(self) -> int:
        """Return the number that grows with every change of any target."""
        item = self._get(_VERSION)
        return int(item["version"]["N"]) if item else 0

    def forget_counts(self, queue: str) -> None:
        """Delete the counts of a removed queue."""
        Counters(self._name, lambda: self._client).forget(queue)

    def target(self, arn: str) -> RuntimeTarget | None:
        item = self._get(_TARGET + arn)
        return _target.decode(item["text"]["S"]) if item else None

    def targets(self) -> list[RuntimeTarget]:
        """Return all run-time targets, ordered by ARN."""
        return [_target.decode(item["text"]["S"]) for item in self._query(_TARGET)]

    def task(self, arn: str) -> Task | None:
        item = self._get(_TASK + arn)
        return _task.decode(item["text"]["S"]) if item else None

    def tasks(self) -> list[Task]:
        return [_task.decode(item["text"]["S"]) for item in self._query(_TASK)]

    def begin(self, task: Task, instead_of: Task | None = None) -> bool:
        """Store a task; return whether no other call was first."""
        try:
            self._client.put_item(**self._put_task(task, instead_of))
        except self._client.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def end(self, task: Task) -> None:
        """Delete a task, unless another call owns it by now."""
        try:
            self._client.delete_item(**self._delete_task(task))
        except self._client.exceptions.ConditionalCheckFailedException:
            return

    def commit(
        self,
        task: Task,
        target: RuntimeTarget | None,
        leaves: Task | None,
    ) -> None:
        """Store a target, or delete it (None), and replace its task by the rest of it.

        Raises:
            LostTaskError: another call owns the task; nothing was changed.
        """
        key = {"bucket": {"S": PARTITION}, "rule": {"S": _TARGET + task.arn}}
        changed: Any = {"Delete": {"TableName": self._name, "Key": key}}
        if target is not None:
            text = msgspec.json.encode(target).decode()
            changed = {"Put": {"TableName": self._name, "Item": {**key, "text": {"S": text}}}}
        rest: Any = {"Delete": self._delete_task(task)}
        if leaves is not None:
            rest = {"Put": self._put_task(leaves, task)}
        self.transact([changed, rest], task.arn)

    def transact(self, items: Sequence[Any], arn: str) -> None:
        """Write all of these and increment the number, or nothing.

        Raises:
            LostTaskError: a condition failed; nothing was changed.
        """
        count: Any = {
            "TableName": self._name,
            "Key": {"bucket": {"S": PARTITION}, "rule": {"S": _VERSION}},
            "UpdateExpression": "ADD version :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        wanted: Any = [*items, {"Update": count}]
        for left in reversed(range(_TRIES)):
            try:
                self._client.transact_write_items(TransactItems=wanted)
            except self._client.exceptions.TransactionCanceledException as error:
                why = codes(error)
                if "ConditionalCheckFailed" in why:
                    raise LostTaskError(f"{arn} was changed by another call meanwhile") from None
                if not left or "TransactionConflict" not in why:
                    raise
            else:
                return
            # All changes raise the same number: those of one moment go one after the other.
            time.sleep(random.uniform(0, min(0.02 * (_TRIES - left), _LONGEST_PAUSE)))  # noqa: S311

    def _get(self, key: str) -> dict[str, Any] | None:
        answer = self._client.get_item(
            TableName=self._name,
            Key={"bucket": {"S": PARTITION}, "rule": {"S": key}},
            ConsistentRead=True,
        )
        return answer.get("Item")

    def _query(self, begin: str) -> Iterator[dict[str, Any]]:
        pages = self._client.get_paginator("query").paginate(
            TableName=self._name,
            KeyConditionExpression="#bucket = :bucket AND begins_with(#rule, :begin)",
            ExpressionAttributeNames={"#bucket": "bucket", "#rule": "rule"},
            ExpressionAttributeValues={":bucket": {"S": PARTITION}, ":begin": {"S": begin}},
            ConsistentRead=True,
        )
        for page in pages:
            yield from page["Items"]

    def _put_task(self, task: Task, instead_of: Task | None) -> dict[str, Any]:
        key = {"bucket": {"S": PARTITION}, "rule": {"S": _TASK + task.arn}}
        text = msgspec.json.encode(task).decode()
        item = {**key, "text": {"S": text}, "mark": {"S": _mark(task)}}
        put = {"TableName": self._name, "Item": item}
        if instead_of is None:
            return {**put, "ConditionExpression": "attribute_not_exists(mark)"}
        return {**put, **_unless_lost(instead_of)}

    def _delete_task(self, task: Task) -> dict[str, Any]:
        key = {"bucket": {"S": PARTITION}, "rule": {"S": _TASK + task.arn}}
        return {"TableName": self._name, "Key": key, **_unless_lost(task)}


def _mark(task: Task) -> str:
    return f"{task.holder} {task.due}"


def _unless_lost(task: Task) -> dict[str, Any]:
    return {
        "ConditionExpression": "mark = :mark",
        "ExpressionAttributeValues": {":mark": {"S": _mark(task)}},
    }
