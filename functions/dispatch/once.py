"""Topics that are not persistent: one attempt per event, at once; losses are counted.

All topics of a kind share one queue, so a message names its topic. The topic's settings are read
before each batch, and its connection is kept while they do not change. Each topic has a breaker of
its own: while one does not answer, its events are lost at once, and delay no other's.
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
        self._queue = Consumer(queue, _count_only)
        self._topics = topics
        self._breakers = breakers
        self._counters = counters
        self._engines = EngineCache()

    def __call__(self, messages: Sequence[Message], context: Any) -> list[str]:
        """Try each event once; return the ids of the messages that stay."""
        engines = []
        for topic, some in _by_topic(messages).items():
            engines.append((self._engine(topic), topic.arn, some))
        stay: list[str] = []
        whole = None
        # A topic that may not answer is probed when the others have their events.
        for engine, arn, some in sorted(engines, key=lambda each: each[0].is_away):
            stay += deliver(
                arn, engine, some, _POLICY, context, counters=self._counters, whole=whole
            )
            whole = float("inf")
        return stay

    def _engine(self, named: TopicArn) -> Engine:
        try:
            topic = self._topics.topic(named)
        except (BotoCoreError, ClientError) as error:
            telemetry.logger.warning(
                "the table does not answer", topic=named.arn, reason=str(error)
            )
            return Engine(self._queue, Absent("the table does not answer"))
        if topic is None or topic.kind != self._kind.arn_type:
            return Engine(self._queue, Gone(f"{named} was deleted, or goes elsewhere now"))
        return self._engines.get(named.arn, topic.number, lambda: self._made(topic))

    def _made(self, topic: Topic) -> Engine:
        def current(fresh: bool) -> Mapping[str, str]:  # noqa: FBT001 - a connection calls it so
            hidden = secrets.resolve(topic.references, fresh=fresh)
            pushed = endpoint.push_target(topic, hidden)
            return pushed.settings if pushed else {}

        connect = connector(self._kind, current)
        return Engine(self._queue, sender(self._kind, connect, self._breakers.of(topic.arn)))


def _by_topic(messages: Sequence[Message]) -> Mapping[TopicArn, list[Message]]:
    """Return messages by the topic that they name; drop those that name none."""
    found: dict[TopicArn, list[Message]] = {}
    for one in messages:
        try:
            found.setdefault(TopicArn.parse(one.history.topic), []).append(one)
        except ValueError as error:
            telemetry.logger.error("a message for no topic is dropped", id=one.id, why=str(error))
    return found


def _count_only(_dead: Collection[Any]) -> set[int]:
    """Keep no dead letter: what is lost is counted."""
    return set()
