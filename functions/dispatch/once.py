"""Non-persistent topics: one attempt per event, at once; losses are counted.

All topics of a kind share one queue, so a message names its topic. The topic's settings are read
before each batch, and its connection is kept while they do not change. Each topic has a breaker of
its own: while one does not answer, its events are lost at once, and delay no others.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast import telemetry
from bucketcast.aws import secrets
from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.messages import Message
from bucketcast.delivery.policy import Policy
from bucketcast.delivery.queue import Queue
from bucketcast.delivery.sender import Absent, Gone
from bucketcast.destination import TopicArn
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counters
from bucketcast.targets.base import Target
from bucketcast.topics import endpoint
from bucketcast.topics.aws.table import TopicTable
from bucketcast.topics.model import Topic
from functions.dispatch.batch import EngineCache, connector, deliver, sender

_POLICY = Policy(once=True)


class Once:
    """Sends batches of the shared queue of one kind."""

    def __init__(
        self,
        kind: type[Target],
        queue: Queue,
        topics: TopicTable,
        breakers: Breakers,
        counters: Counters,
    ) -> None:
        self._kind = kind
        self._queue = Consumer(queue, _drop)
        self._topics = topics
        self._breakers = breakers
        self._counters = counters
        self._engines = EngineCache()

    def __call__(self, messages: Sequence[Message], context: Any) -> list[str]:
        """Try each event once; return the ids of the messages that stay."""
        engines = []
        for topic, group in _by_topic(messages).items():
            engines.append((self._engine(topic), topic.arn, group))
        stay: list[str] = []
        total = None
        # A topic that may not answer is probed when the others have their events.
        for engine, arn, group in sorted(engines, key=lambda entry: entry[0].is_unreachable):
            stay += deliver(
                arn, engine, group, _POLICY, context, counters=self._counters, total=total
            )
            total = float("inf")
        return stay

    def _engine(self, arn: TopicArn) -> Engine:
        try:
            topic = self._topics.topic(arn)
        except (BotoCoreError, ClientError) as error:
            telemetry.logger.warning("the table does not answer", topic=arn.arn, reason=str(error))
            return Engine(self._queue, Absent("the table does not answer"))
        if topic is None or topic.kind != self._kind.arn_type:
            return Engine(self._queue, Gone(f"{arn} was deleted, or goes elsewhere now"))
        return self._engines.get(arn.arn, topic.number, lambda: self._create(topic))

    def _create(self, topic: Topic) -> Engine:
        def settings(fresh: bool) -> Mapping[str, str]:  # noqa: FBT001 - a connection calls it so
            values = secrets.resolve(topic.references, fresh=fresh)
            target = endpoint.push_target(topic, values)
            return target.settings if target else {}

        connect = connector(self._kind, settings)
        store = self._breakers.of(topic.arn)
        return Engine(self._queue, sender(self._kind, connect, store, str(topic.number)))


def _by_topic(messages: Sequence[Message]) -> Mapping[TopicArn, list[Message]]:
    """Return messages by the topic that they name; drop those that name none."""
    groups: dict[TopicArn, list[Message]] = {}
    for message in messages:
        try:
            groups.setdefault(TopicArn.parse(message.history.topic), []).append(message)
        except ValueError as error:
            telemetry.logger.error(
                "a message for no topic is dropped", id=message.id, why=str(error)
            )
    return groups


def _drop(_dead: Collection[Any]) -> set[int]:
    """Keep no dead letter: losses are only counted."""
    return set()
