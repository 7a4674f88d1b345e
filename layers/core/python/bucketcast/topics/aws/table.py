"""Topics in the state table, beside their dynamic targets.

There is an item per topic, and one per running call: a `TopicWork` names the dynamic targets and
secrets to remove at its end, unless the topic's own item names them. A change fails if the topic
has changed since it was read, so of two simultaneous calls one reads it again.
"""

import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from bucketcast.destination import TopicArn
from bucketcast.state.dynamic_targets import DynamicTarget, LostTaskError, Table
from bucketcast.state.items import PARTITION, Items, Work, Works, if_same
from bucketcast.state.table import Part, Partition
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import Topic

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

T = TypeVar("T")
_TRIES: Final = 20
_PAUSE_SECONDS: Final = 0.1


class TopicWork(Work, frozen=True, kw_only=True):
    """The work of one call on one topic, running or interrupted.

    A topic may have several at once, each with an `id`. `targets` are ARNs of dynamic targets,
    `secrets` are names; they may exist or not.
    """

    id: str
    tenant: str
    name: str
    targets: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.tenant}:{self.name}#{self.id}"


class TopicTable:
    """The items of topics; all reads are consistent."""

    def __init__(self, table: str, client: "DynamoDBClient") -> None:
        self._table = Table(table, client)
        self._topics = Items(table, client, "topic#", Topic)
        self.works = Works(table, client, "topicwork#", TopicWork)
        self._counts = Partition(table, PARTITION, client)

    def topic(self, arn: TopicArn) -> Topic | None:
        """Return the topic of an ARN, ignoring its region; None if there is none."""
        return self._topics.get(_key(arn))

    def target(self, arn: str) -> DynamicTarget | None:
        """Return the dynamic target of an ARN; None if there is none."""
        return self._table.target(arn)

    def page(
        self,
        tenant: str | None,
        limit: int,
        after: str = "",
        keep: Callable[[Topic], bool] = lambda _: True,
    ) -> tuple[list[Topic], str]:
        """Return up to `limit` topics by tenant and name, and a marker for the next page.

        Pass the marker as `after` to get the next page; "" is the end. Without a tenant (None) the
        topics of all tenants are returned.
        """
        begin = "" if tenant is None else f"{tenant}:"
        topics: list[Topic] = []
        # One more than `limit` shows whether there is another page.
        for topic in self._topics.all(begin, after=after, at_once=limit + 1):
            if not keep(topic):
                continue
            if len(topics) == limit:
                last = topics[-1]
                return topics, f"{last.tenant}:{last.name}"
            topics.append(topic)
        return topics, ""

    def commit(
        self, work: TopicWork, before: Topic | None, after: Topic | None, most: int = 0
    ) -> bool:
        """Store a topic (None: delete it); False if another call changed it or took the work.

        Also False if a new topic's owner has `most` topics already; 0 is any number.
        """
        change = self._change(TopicArn("", work.tenant, work.name), before, after)
        # Not a condition check, which would need another permission.
        renewal = self.works.renew_part(work)
        try:
            parts = [change, renewal, *self._count(before, after, most)]
            self._table.transact(parts, f"the topic {work.name}")
        except LostTaskError:
            return False
        return True

    def _count(self, before: Topic | None, after: Topic | None, most: int) -> list[Part]:
        """Return the part of a transaction that counts its owner's topics, if that changes."""
        if before and after:
            return []
        topic = after or before
        if topic is None or not topic.owner_id:
            return []
        update: dict[str, Any] = {
            "UpdateExpression": "ADD topics :step",
            "ExpressionAttributeValues": {":step": {"N": "1" if after else "-1"}},
        }
        if after and most:
            update["ConditionExpression"] = "attribute_not_exists(topics) OR topics < :most"
            update["ExpressionAttributeValues"][":most"] = {"N": str(most)}
        return [self._counts.update_part(f"topiccount#{topic.owner_id}", **update)]

    def _change(self, arn: TopicArn, before: Topic | None, after: Topic | None) -> Part:
        """Return the part of a transaction that stores a topic if it is unchanged."""
        as_read = if_same("number", _number(before) if before else None)
        if after is None:
            return self._topics.delete(_key(arn), as_read)
        return self._topics.put(_key(arn), after, as_read, number=_number(after))


def retry_conflicts(name: str, attempt: Callable[[], T | None]) -> T:
    """Call `attempt` until it returns a result, not None.

    Raises:
        TopicError: other calls always conflict.
    """
    for tries_left in reversed(range(_TRIES)):
        if (result := attempt()) is not None:
            return result
        if tries_left:
            time.sleep(random.uniform(0, _PAUSE_SECONDS))  # noqa: S311 - no secret
    raise TopicError("ServiceUnavailable", f"{name} is changed by other calls: try again")


def _key(arn: TopicArn) -> str:
    return f"{arn.tenant}:{arn.name}"


def _number(topic: Topic) -> dict[str, str]:
    return {"N": str(topic.number)}
