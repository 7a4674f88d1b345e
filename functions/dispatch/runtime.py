"""The dispatch function for run-time targets: one function a kind, for all of its queues.

A batch comes from one queue. Before it, the settings of its target are read in one consistent read,
so that a change takes effect with the next batch; the connection is kept while they do not change.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast import targets, telemetry
from bucketcast.aws import function_clients, secrets
from bucketcast.aws.runtime.table import Table
from bucketcast.aws.topics.table import TopicTable
from bucketcast.delivery.envelope import seal
from bucketcast.destination import TargetArn, TopicArn
from bucketcast.dispatch import Dispatcher
from bucketcast.dispatch.breaker import Breaker
from bucketcast.dispatch.topic_limits import LimitedDispatcher, Limits
from bucketcast.queues import Queue
from bucketcast.queues.target import TargetQueue
from bucketcast.runtime.model import ONCE, RuntimeTarget, id_of
from bucketcast.settings.environment import RuntimeSettings
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counters
from bucketcast.targets.base import Target
from functions.dispatch.batch import Connect, Handler, connector, deliver, probe
from functions.dispatch.once import Once
from functions.dispatch.postponement import postpone

KEPT = 64
"""How many targets one function keeps connections to; the one not used for longest goes first."""


class Served(NamedTuple):
    """A target with its connection, for one version of its settings."""

    number: int
    dispatcher: Dispatcher
    limited: LimitedDispatcher
    breaker: Breaker

    def close(self) -> None:
        self.dispatcher.close()
        self.limited.close()


class Kind:
    """All run-time targets of one kind, whose client is imported now."""

    def __init__(self, settings: RuntimeSettings, kind: type[Target]) -> None:
        kind.preload()
        self._settings = settings
        self._kind = kind
        self._sqs = function_clients.client("sqs")
        dynamodb = function_clients.client("dynamodb")
        self._table = Table(settings.state_table, dynamodb)
        client = cache(lambda: function_clients.client("dynamodb", function_clients.IN_PASSING))
        self._counters = Counters(settings.state_table, client)
        self._breakers = Breakers(settings.state_table, client)
        self._served: OrderedDict[str, Served] = OrderedDict()
        shared = self._queue(f"{settings.queue_prefix}{ONCE}")
        self._topics = TopicTable(settings.state_table, dynamodb)
        self._once = Once(kind, shared, self._topics, self._counters)

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Deliver a batch, or probe the target that the event names."""
        if event.get("probe"):
            return self._probe(event)
        if event.get("pause"):
            return {"paused": Breaker(self._breakers.of(event["target"])).is_paused()}
        queue = event["Records"][0]["eventSourceARN"].rpartition(":")[2]
        if queue == f"{self._settings.queue_prefix}{ONCE}":
            return self._once(event, context)
        arn = str(TargetArn(id=id_of(queue, self._settings.queue_prefix), type=self._kind.arn_type))
        try:
            target = self._table.target(arn)
        except (BotoCoreError, ClientError) as error:
            # SQS would move what is received a thousand times, and say no reason.
            telemetry.logger.warning("the table does not answer", target=arn, reason=str(error))
            target = None
        if target is None or target.queue != queue or target.state != "on":
            telemetry.logger.info("messages wait: their target is not there", target=arn)
            return postpone(arn, self._queue(queue), event, context)
        served = self._serve(target)
        limits = self._limits(event) if not queue.endswith(".fifo") else Limits()
        if limits.any and served.breaker.is_paused():
            # Limits count tries, and this is none.
            return postpone(arn, self._queue(queue), event, context)
        served.limited.limits = limits
        dispatcher = served.limited if limits.any else served.dispatcher
        return deliver(arn, dispatcher, event, context, self._counters)

    def _limits(self, event: Mapping[str, Any]) -> Limits:
        """Return the limits of the topic that the events of a batch belong to, if any."""
        for record in event["Records"]:
            with suppress(ValueError):
                topic = self._topics.topic(TopicArn.parse(seal(record["body"]).topic))
                return Limits.of(topic, self._settings.topics) if topic else Limits()
        return Limits()

    def _serve(self, target: RuntimeTarget) -> Served:
        found = self._served.pop(target.queue, None)
        if found is None or found.number != target.number:
            if found:
                found.close()
            found = Served(target.number, *self._connected(target))
        self._served[target.queue] = found
        while len(self._served) > KEPT:
            _, oldest = self._served.popitem(last=False)
            oldest.close()
        return found

    def _connected(self, target: RuntimeTarget) -> tuple[Dispatcher, LimitedDispatcher, Breaker]:
        fifo = target.queue.endswith(".fifo")
        queue, dead = self._queue(target.queue), self._queue(target.dead)
        actions = TargetQueue(target.arn, queue, dead, fifo=fifo)
        size, connect = self._kind.batch_size, self._connector(target)
        breaker = Breaker(self._breakers.of(target.arn))
        return (
            Dispatcher(connect, actions, batch_size=size, in_order=fifo, breaker=breaker),
            LimitedDispatcher(connect, actions, batch_size=size, limits=Limits()),
            breaker,
        )

    def _connector(self, target: RuntimeTarget) -> Connect:
        def current(fresh: bool) -> Mapping[str, str]:  # noqa: FBT001 - as dispatch calls it
            # A secret is replaced together with the settings that name it.
            found = self._table.target(target.arn) if fresh else target
            return secrets.resolve((found or target).settings, fresh=fresh)

        return connector(self._kind, current)

    def _probe(self, event: Mapping[str, Any]) -> dict[str, Any]:
        arn = event["target"]
        target = self._table.target(arn)
        if target is None:
            return {"online": False, "why": f"{arn} was removed", "where": ""}
        return probe(self._connector(target), event, target.settings)

    def _queue(self, name: str) -> Queue:
        return Queue(f"{self._settings.queues}/{name}", self._sqs)


def build(
    environ: Mapping[str, str], load: Callable[[str], type[Target]] = targets.load
) -> Handler:
    """Return the handler for all run-time targets of one kind."""
    settings = RuntimeSettings.from_environ(environ)
    return Kind(settings, load(settings.kind))


handler = telemetry.logger.inject_lambda_context(build(os.environ))
