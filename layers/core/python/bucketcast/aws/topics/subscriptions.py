"""Subscriptions in the rules table, beside their topics.

A subscription is an item of its own, and its topic names it: one transaction writes both, if both
are still as they were read. Ingest reads only the topic.
"""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from bucketcast.aws.partition import Part
from bucketcast.aws.runtime.items import Items, if_same
from bucketcast.aws.runtime.table import LostTaskError, Table
from bucketcast.aws.topics.table import TopicTable, until_done
from bucketcast.topics.errors import invalid
from bucketcast.topics.model import Topic, TopicArn, missing
from bucketcast.topics.subscription import MOST_OF_A_TOPIC, Subscription, unknown

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class Subscriptions:
    """The subscriptions of one deployment; all reads are consistent."""

    def __init__(
        self, table: str, client: "DynamoDBClient", clock: Callable[[], float] = time.time
    ) -> None:
        self._items = Items(table, client, "subscription#", Subscription)
        self._table = Table(table, client)
        self._topics = TopicTable(table, client)
        self._clock = clock

    def find(self, tenant: str, name: str) -> Subscription | None:
        """Return a tenant's subscription of this name."""
        return self._items.get(f"{tenant}:{name}")

    def all(self) -> Iterator[Subscription]:
        """Return all subscriptions, ordered by tenant and name."""
        return self._items.all()

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

        def attempt() -> Subscription | None:
            before = self._topics.topic(topic)
            if before is None:
                raise missing(str(topic))
            existing = self.find(tenant, name)
            allow(before, existing)
            if existing and (existing.topic_tenant, existing.topic_name) != (
                topic.tenant,
                topic.name,
            ):
                found = f"{topic.name!r}, and {name} is a subscription of {existing.topic_name}"
                raise invalid("topic", found, f"{existing.topic_name}, or delete {name} first")
            made = existing or Subscription(
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
            put = self._items.put(made.key, made, _if_same(existing))
            listed = self._listed(before, (*before.subscriptions, made.partition))
            return made if self._write(topic, [put, listed]) else None

        return until_done(f"the subscription {name}", attempt)

    def delete(
        self, tenant: str, name: str, allow: Callable[[Subscription, Topic | None], None]
    ) -> None:
        """Delete a subscription; its events become unreadable.

        Raises:
            TopicError: there is none, or `allow` raised it.
        """

        def attempt() -> bool | None:
            existing = self.find(tenant, name)
            if existing is None:
                raise unknown(name)
            arn = existing.arn("")
            before = self._topics.topic(arn)
            allow(existing, before)
            changes = [self._items.delete(existing.key, _if_same(existing))]
            if before and existing.partition in before.subscriptions:
                kept = tuple(each for each in before.subscriptions if each != existing.partition)
                changes.append(self._listed(before, kept))
            return self._write(arn, changes) or None

        until_done(f"the subscription {name}", attempt)

    def _listed(self, topic: Topic, subscriptions: tuple[str, ...]) -> Part:
        """Return the write that changes which subscriptions a topic names."""
        after = replace(topic, number=topic.number + 1, subscriptions=subscriptions)
        return self._topics.change(TopicArn.parse(topic.arn), topic, after)

    def _write(self, arn: TopicArn, changes: list[Part]) -> bool:
        """Write all items; return whether nothing had changed meanwhile."""
        try:
            self._table.transact(changes, str(arn))
        except LostTaskError:
            return False
        return True


def _if_same(existing: Subscription | None) -> dict[str, Any]:
    return if_same("text", {"S": msgspec.json.encode(existing).decode()} if existing else None)
