"""Dynamic targets in the state table.

An item per target, one with a number that grows with every change, as for a bucket's rules, and one
per running call: its `Task` names the resources to remove if the call does not finish. So every
resource is named here before it is created, until a target's own item names it.
"""

import random
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from bucketcast.delivery.queue_names import dead_of
from bucketcast.errors import BucketcastError
from bucketcast.state.items import PARTITION, Items, Work, Works
from bucketcast.state.table import Part, Partition, refusals

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_VERSION = "#version"
_TRIES = 30
_LONGEST_PAUSE = 0.5


State = Literal["on", "off", "kept"]


class DynamicTarget(msgspec.Struct, frozen=True, kw_only=True):
    """One dynamic target.

    `settings` hold references instead of secrets, and `secret` is the name of the one secret
    that they refer to, or "". `number` grows with every change. `state` is `on`; `off` where its
    settings say enable = off; `kept` where it was removed while messages waited. A target
    that is `off` is given events, which wait; one that is `kept` is given none. `is_mirror` is True
    if it mirrors its buckets. `topic` is the ARN of the topic that it belongs to, or "".
    """

    arn: str
    kind: str
    id: str
    queue: str
    settings: dict[str, str]
    number: int
    secret: str = ""
    state: State = "on"
    is_mirror: bool = False
    topic: str = ""

    @property
    def name(self) -> str:
        """What people call it: the ARN of its topic, or `KIND:ID`."""
        return self.topic or f"{self.kind}:{self.id}"

    @property
    def dead(self) -> str:
        """The name of its dead-letter queue."""
        return dead_of(self.queue)


class LostTaskError(BucketcastError):
    """Another call took over this one's task."""


class Resource(msgspec.Struct, frozen=True):
    """A resource of a target; a queue stands for its dead-letter queue, too.

    `name` is the secret's or the queue's.
    """

    kind: Literal["alarms", "mapping", "queue", "secret"] = msgspec.field(name="what")
    name: str


class Task(Work, frozen=True, kw_only=True):
    """The work of one call on one target, or what it did not finish.

    With `if_empty` no call is at work: a removed target's queue goes once nothing waits there.
    """

    arn: str
    resources_to_remove: tuple[Resource, ...] = msgspec.field(default=(), name="doomed")
    if_empty: bool = False

    @property
    def key(self) -> str:
        return self.arn


class Table:
    """The items of dynamic targets; all reads are consistent."""

    def __init__(self, name: str, client: "DynamoDBClient") -> None:
        self._name = name
        self._client = client
        self._items = Partition(name, PARTITION, client)
        self._targets = Items(name, client, "target#", DynamicTarget)
        self.tasks = Works(name, client, "task#", Task)

    def version(self) -> int:
        """Return the number that grows with every change of any target."""
        item = self._items.get(_VERSION)
        return int(item["version"]["N"]) if item else 0

    def target(self, arn: str) -> DynamicTarget | None:
        return self._targets.get(arn)

    def targets(self) -> list[DynamicTarget]:
        """Return all dynamic targets, ordered by ARN."""
        return list(self._targets.all())

    def commit(self, task: Task, target: DynamicTarget | None, rest: Task | None) -> None:
        """Store a target, or delete it (None), and replace its task by the rest of it.

        Raises:
            LostTaskError: another call owns the task; nothing was changed.
        """
        targets, tasks = self._targets, self.tasks
        target_part = targets.put(task.arn, target) if target else targets.delete(task.arn)
        task_part = tasks.renew_part(rest) if rest else tasks.release_part(task)
        self.transact([target_part, task_part], task.arn)

    def transact(self, parts: Sequence[Part], arn: str) -> None:
        """Write all parts and increment the number, or do nothing.

        Raises:
            LostTaskError: a condition failed; nothing was changed.
        """
        count = self._items.update_part(
            _VERSION,
            UpdateExpression="ADD version :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )
        for tries_left in reversed(range(_TRIES)):
            try:
                self._items.transact(*parts, count)
            except self._client.exceptions.TransactionCanceledException as error:
                reasons = refusals(error)
                if "ConditionalCheckFailed" in reasons:
                    raise LostTaskError(f"{arn} was changed by another call meanwhile") from None
                if not tries_left or "TransactionConflict" not in reasons:
                    raise
            else:
                return
            # All changes raise the same number: those of one moment go one after the other.
            time.sleep(random.uniform(0, min(0.02 * (_TRIES - tries_left), _LONGEST_PAUSE)))  # noqa: S311
