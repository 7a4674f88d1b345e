"""Dynamic targets, topics among them, in the state table.

An item per target, one with a number that grows with every change, as for a bucket's rules, and one
per running call: its `Task` names the resources to remove if the call does not finish. So every
resource is named here before it is created, until a target's own item names it. What has a queue is
stored twice, so that who needs these does not read all topics.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from bucketcast.destination import TopicArn
from bucketcast.errors import BucketcastError
from bucketcast.state.items import DynamicTarget, Task, Topic
from bucketcast.state.lease import held, if_free, if_held
from bucketcast.state.table import VERSION, Part, Partition
from bucketcast.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITION: Final = "#targets"
"""No bucket has such a name."""
_TARGET: Final = "target#"
_QUEUED: Final = "queued#"
_TASK: Final = "task#"
_COUNT: Final = "topiccount#"
_LONGEST_KEY: Final = 1_024
_AT_ONCE: Final = 1_000
_decode = msgspec.json.Decoder(DynamicTarget | Topic).decode
_decode_task = msgspec.json.Decoder(Task).decode


class LostTaskError(BucketcastError):
    """Another call took over this one's task, or has just changed what it depends on."""


class Table:
    """The items of dynamic targets; all reads are consistent."""

    def __init__(self, name: str, client: "DynamoDBClient") -> None:
        self._items = Partition(name, PARTITION, client)

    def version(self) -> int:
        """Return the number that grows with every change of any target."""
        item = self._items.get(VERSION)
        return int(item["version"]["N"]) if item else 0

    def get(self, key: str) -> DynamicTarget | None:
        """Return the target or topic with a key (`Destination.key`); None if there is none."""
        if len((_TARGET + key).encode()) > _LONGEST_KEY:  # DynamoDB refuses it
            return None
        item = self._items.get(_TARGET + key)
        return _decode(item["text"]["S"]) if item else None

    def topic(self, arn: TopicArn) -> Topic | None:
        """Return the topic of an ARN, ignoring its region; None if there is none."""
        found = self.get(arn.key)
        return found if isinstance(found, Topic) else None

    def targets(self) -> list[DynamicTarget]:
        """Return the targets that have a queue, with those of topics, ordered by key.

        Topics are without their attributes.
        """
        return [_decode(item["text"]["S"]) for item in self._items.items(_QUEUED)]

    def topics(
        self, tenant: str | None, after: str = "", at_once: int = _AT_ONCE
    ) -> Iterator[Topic]:
        """Yield the topics of a tenant (None: of all) by key, from behind the key `after`.

        A call reads up to `at_once` of them.
        """
        begin = TopicArn.keys_of(tenant)
        start = _TARGET + after if after and after.startswith(begin) else ""
        limit = min(at_once, _AT_ONCE)
        for item in self._items.items(_TARGET + begin, start, Limit=limit):
            topic = _decode(item["text"]["S"])
            if isinstance(topic, Topic) and tenant in (None, topic.tenant):
                yield topic

    def task(self, key: str) -> Task | None:
        item = self._items.get(_TASK + key)
        return _decode_task(item["text"]["S"]) if item else None

    def tasks(self) -> list[Task]:
        return [_decode_task(item["text"]["S"]) for item in self._items.items(_TASK)]

    def sweep(self, now: int, settle: Callable[[Task], bool]) -> list[Task]:
        """Settle the tasks that any call may take over; return those that `settle` is done with.

        One that cannot be settled is logged, and stops neither the others nor the caller.
        """
        return [task for task in self.tasks() if task.due <= now and self._is_settled(task, settle)]

    def _is_settled(self, task: Task, settle: Callable[[Task], bool]) -> bool:
        try:
            return settle(task)
        except Exception:  # noqa: BLE001 - an error of another call is not the caller's
            logger.exception("an unfinished call cannot be settled", target=task.key)
            return False

    def take(self, task: Task, now: int, former: str = "") -> bool:
        """Store a task if its item is free by `if_free`; return True if it was."""
        return self._items.write(self._task_part(task, if_free(task.holder, now, former)))

    def renew(self, task: Task) -> bool:
        """Store a task once more; return True if it is still its holder's."""
        return self._items.write(self._task_part(task, if_held(task.holder)))

    def release(self, task: Task) -> None:
        """Delete a task, unless another call has taken it over."""
        self._items.delete(_TASK + task.key, **if_held(task.holder))

    def commit(
        self,
        task: Task,
        before: DynamicTarget | None,
        after: DynamicTarget | None,
        rest: Task | None,
        most: int = 0,
    ) -> None:
        """Replace a target, or delete it (`after` is None), and its task by the rest of it.

        Raises:
            LostTaskError: another call owns the task, or a new topic's owner has `most` topics
                already (0 is any number); nothing was changed.
        """
        owned = if_held(task.holder)
        queued = after if after and after.queue else None
        if isinstance(queued, Topic):  # every command reads them, and may have a thousand
            queued = replace(queued, attributes={})
        parts = [
            self._target_part(_TARGET + task.key, after),
            self._target_part(_QUEUED + task.key, queued),
            self._task_part(rest, owned)
            if rest
            else self._items.delete_part(_TASK + task.key, **owned),
            *self._count_parts(before, after, most),
        ]
        if not self._items.commit(*parts):
            raise LostTaskError("another call has changed it meanwhile")

    def count(self, owner: str) -> int:
        """Return the number of a user's topics, by their id."""
        return int(self._items.get(_COUNT + owner).get("topics", {}).get("N", 0))

    def _count_parts(
        self, before: DynamicTarget | None, after: DynamicTarget | None, most: int
    ) -> list[Part]:
        """Return the part of a transaction that counts an owner's topics, if that changes."""
        topic = after or before
        if (before and after) or not isinstance(topic, Topic) or not topic.owner_id:
            return []
        update: dict[str, Any] = {
            "UpdateExpression": "ADD topics :step",
            "ExpressionAttributeValues": {":step": {"N": "1" if after else "-1"}},
        }
        if after and most:
            update["ConditionExpression"] = "attribute_not_exists(topics) OR topics < :most"
            update["ExpressionAttributeValues"][":most"] = {"N": str(most)}
        return [self._items.update_part(_COUNT + topic.owner_id, **update)]

    def _target_part(self, key: str, target: DynamicTarget | None) -> Part:
        """Return the part of a transaction that stores a target, or deletes it (None)."""
        return self._items.put_part(key, _text(target)) if target else self._items.delete_part(key)

    def _task_part(self, task: Task, condition: Mapping[str, Any]) -> Part:
        item = {**_text(task), **held(task.holder, task.due)}
        return self._items.put_part(_TASK + task.key, item, **condition)


def _text(value: DynamicTarget | Task) -> dict[str, Any]:
    return {"text": {"S": msgspec.json.encode(value).decode()}}
