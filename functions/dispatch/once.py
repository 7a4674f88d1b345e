"""Non-persistent topics: one attempt per event, at once; losses are counted.

All topics of a kind share one queue, so a message names its topic. The topic's settings are read
before each batch, and its connection is kept while they do not change.

Topics are tried side by side, each for `ONCE_SEND_SECONDS`, and each has its own breaker: while
one does not answer, its events are lost at once. So one that hangs holds its call for a moment, the
others of that call not at all. Were hundreds of them probed as soon as they may be, all calls would
wait for them: a function probes for half of its time at most.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from threading import Lock
from typing import Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast import telemetry
from bucketcast.aws.function_clients import AT_ONCE
from bucketcast.delivery.breaker import Breaker
from bucketcast.delivery.connection import Connection
from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.messages import Message
from bucketcast.delivery.policy import Policy
from bucketcast.delivery.queue import Queue
from bucketcast.delivery.sender import Absent, Gone, Sender
from bucketcast.destination import TopicArn
from bucketcast.errors import Waiting
from bucketcast.limits import (
    DAY_MS,
    FIRST_HEARTBEAT_SECONDS,
    ONCE_DAYS,
    ONCE_SEND_SECONDS,
    SHORTEST_VISIBILITY_SECONDS,
)
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counters
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import DynamicTarget, Topic
from bucketcast.targets.base import Target
from functions.dispatch.batch import Connect, EngineCache, deliver

_POLICY = Policy(once=True)


class _Group(NamedTuple):
    """Which messages of a call are delivered together: `late` ones were not tried in time."""

    topic: TopicArn
    late: bool


class Once:
    """Sends batches of the shared queue of one kind."""

    def __init__(
        self,
        kind: type[Target],
        queue: Queue,
        table: Table,
        connect: Callable[[type[Target], DynamicTarget], Connect],
        breakers: Breakers,
        counters: Counters,
    ) -> None:
        self._kind: Any = type(kind.__name__, (kind,), {"timeout": ONCE_SEND_SECONDS})
        self._queue = Consumer(queue, _drop)
        self._table = table
        self._connect = connect
        self._breakers = breakers
        self._counters = counters
        self._engines = EngineCache()
        self._engines_lock = Lock()
        self._probes = _Probes()

    def __call__(self, messages: Sequence[Message], context: Any) -> list[str]:
        """Try each event once; return the ids of the messages that stay."""
        seconds = float(context.get_remaining_time_in_millis()) / 1_000
        groups = _groups(messages, round(time.time() * 1_000))
        # Those of a topic that has answered stay in flight, too, until the call ends.
        hidden = dict.fromkeys(
            [message.receipt for message in messages], SHORTEST_VISIBILITY_SECONDS
        )
        deliver_group = partial(self._deliver, context, seconds)
        with (
            self._probes,
            self._queue.heartbeat(hidden, FIRST_HEARTBEAT_SECONDS),
            ThreadPoolExecutor(AT_ONCE) as pool,
        ):
            return [*chain.from_iterable(pool.map(deliver_group, groups, groups.values()))]

    def _deliver(
        self, context: Any, total: float, group: _Group, messages: Sequence[Message]
    ) -> Iterable[str]:
        arn = group.topic.arn
        try:
            engine, counters = self._engine(group), self._counters
            return deliver(arn, engine, messages, _POLICY, context, counters=counters, total=total)
        except Exception:  # noqa: BLE001 - a topic's own trouble must not stop the neighbours
            telemetry.logger.exception("the events of a topic stay in the queue", topic=arn)
            return [message.id for message in messages]

    def _engine(self, group: _Group) -> Engine:
        arn, late = group
        if late:
            return Engine(self._queue, Gone(f"not tried within {ONCE_DAYS} day"))
        try:
            topic = self._table.topic(arn)
        except (BotoCoreError, ClientError) as error:
            telemetry.logger.warning("the table does not answer", topic=arn.arn, reason=str(error))
            return Engine(self._queue, Absent("the table does not answer"))
        if topic is None or topic.kind != self._kind.arn_type:
            return Engine(self._queue, Gone(f"{arn} was deleted, or goes elsewhere now"))
        with self._engines_lock:
            return self._engines.get(arn.arn, topic.number, lambda: self._create(topic))

    def _create(self, topic: Topic) -> Engine:
        connect = self._connect(self._kind, topic)
        breaker = Breaker(self._breakers.of(topic.arn), str(topic.number))
        size = self._kind.batch_size
        work = _TopicSender(Connection(connect), breaker, size, self._probes)
        return Engine(self._queue, work)


class _Probes:
    """Whether the call that enters it may probe: not for as long as the last that did took.

    Any number of topics is probed side by side, in the time of one.
    """

    def __init__(self) -> None:
        self.allowed = True
        self.started = False
        self._began = 0.0
        self._not_before = 0.0

    def __enter__(self) -> None:
        self._began = time.time()
        self.allowed, self.started = self._began >= self._not_before, False

    def __exit__(self, *_: object) -> None:
        if self.started:
            now = time.time()
            self._not_before = now + min(now - self._began, ONCE_SEND_SECONDS)


class _TopicSender(Sender):
    """Sends to one topic; while it does not answer, only when the call may probe."""

    def __init__(
        self, connection: Connection, breaker: Breaker, batch_size: int, probes: _Probes
    ) -> None:
        super().__init__(connection, breaker, batch_size)
        self._probes = probes

    def begin_batch(self, policy: Policy) -> Waiting | None:
        if not self._probes.allowed and (outage := self.find_outage()):
            return outage
        obstacle = super().begin_batch(policy)
        self._probes.started |= self._probe_of is not None
        return obstacle


def _groups(messages: Sequence[Message], now: int) -> Mapping[_Group, list[Message]]:
    """Return messages by the topic that they name; drop those that name none."""
    groups: dict[_Group, list[Message]] = {}
    for message in messages:
        late = now - message.sent > ONCE_DAYS * DAY_MS
        try:
            group = _Group(TopicArn.parse(message.history.topic), late)
        except ValueError as error:
            telemetry.logger.error(
                "a message for no topic is dropped", id=message.id, why=str(error)
            )
            continue
        groups.setdefault(group, []).append(message)
    return groups


def _drop(_dead: Collection[Any]) -> set[int]:
    """Keep no dead letter: losses are only counted."""
    return set()
