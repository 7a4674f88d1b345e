"""Dispatch's entry for targets made at run time: one function a kind, for all of its queues.

A batch is of one queue. Its target's settings are read before it, one consistent read of one item,
so that what they were changed to holds from the next batch on; the connection is kept while they
do not change.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from bucketcast import targets, telemetry
from bucketcast.arn import Arn
from bucketcast.dispatch import Dispatcher
from bucketcast.dispatch.breaker import Breaker
from bucketcast.dispatch.history import read
from bucketcast.dispatch.limited import Limited, Limits
from bucketcast.envelope import seal
from bucketcast.queues import Queue
from bucketcast.queues.target import TargetQueue
from bucketcast.retries import pause
from bucketcast.runtime.model import ONCE, RuntimeTarget, id_of
from bucketcast.settings import RuntimeSettings
from bucketcast.store import secrets
from bucketcast.store.breakers import Breakers
from bucketcast.store.counters import CLIENT, Counters
from bucketcast.store.runtime.table import Table
from bucketcast.store.topics.items import Items
from bucketcast.targets.base import SPARE, Target
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import TopicArn
from functions.dispatch.batch import Connect, Handler, connector, deliver, message, probe
from functions.dispatch.once import Once

KEPT = 64
"""How many targets one function keeps connections to; the one not used for longest goes first."""
_SPARE_MS = SPARE * 1_000


class Served(NamedTuple):
    """A target with its connection, as its settings of that number have it."""

    number: int
    dispatcher: Dispatcher
    limited: Limited

    def close(self) -> None:
        self.dispatcher.close()
        self.limited.close()


class Kind:
    """All run-time targets of one kind, whose client is imported now."""

    def __init__(self, settings: RuntimeSettings, kind: type[Target]) -> None:
        kind.preload()
        self._settings = settings
        self._kind = kind
        self._sqs = boto3.client("sqs")
        self._table = Table(settings.table, boto3.client("dynamodb"))
        client = cache(lambda: boto3.client("dynamodb", config=CLIENT))
        self._counters = Counters(settings.table, client)
        self._breakers = Breakers(settings.table, client)
        self._served: OrderedDict[str, Served] = OrderedDict()
        shared = self._queue(f"{settings.prefix}{ONCE}")
        self._topics = Items(settings.table, boto3.client("dynamodb"))
        self._once = Once(kind, shared, self._topics, self._counters)

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Deliver a batch, or answer a probe of the target that it names."""
        if event.get("probe"):
            return self._probe(event["target"])
        queue = event["Records"][0]["eventSourceARN"].rpartition(":")[2]
        if queue == f"{self._settings.prefix}{ONCE}":
            return self._once(event, context)
        arn = str(Arn(id=id_of(queue, self._settings.prefix), type=self._kind.arn_type))
        try:
            target = self._table.target(arn)
        except (BotoCoreError, ClientError) as error:
            # SQS would move what is received a thousand times, and say no reason.
            telemetry.logger.warning("the table does not answer", target=arn, reason=str(error))
            target = None
        if target is None or target.queue != queue or target.state != "on":
            return self._later(arn, queue, event, context)
        served = self._serve(target)
        limits = self._limits(event) if not queue.endswith(".fifo") else Limits()
        if limits.any:
            served.limited.limits = limits
            return deliver(arn, served.limited, event, context, self._counters)
        return deliver(arn, served.dispatcher, event, context, self._counters)

    def _limits(self, event: Mapping[str, Any]) -> Limits:
        """What limits the events of a batch: of one topic, if they are of any."""
        for record in event["Records"]:
            with suppress(ValueError, TopicError):
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

    def _connected(self, target: RuntimeTarget) -> tuple[Dispatcher, Limited]:
        fifo = target.queue.endswith(".fifo")
        queue, dead = self._queue(target.queue), self._queue(target.dead)
        way = TargetQueue(target.arn, queue, dead, fifo=fifo)
        size, connect = self._kind.batch_size, self._connector(target)
        breaker = Breaker(self._breakers.of(target.arn))
        return (
            Dispatcher(connect, way, batch_size=size, in_order=fifo, breaker=breaker),
            Limited(connect, way, batch_size=size, limits=Limits()),
        )

    def _connector(self, target: RuntimeTarget) -> Connect:
        def current(fresh: bool) -> Mapping[str, str]:  # noqa: FBT001 - as dispatch calls it
            # A secret is replaced together with the settings that name it.
            found = self._table.target(target.arn) if fresh else target
            return secrets.resolve((found or target).settings, fresh=fresh)

        return connector(self._kind, current)

    def _probe(self, arn: str) -> dict[str, Any]:
        target = self._table.target(arn)
        if target is None:
            return {"online": False, "why": f"{arn} was removed", "where": ""}
        return probe(self._connector(target))

    def _later(
        self, arn: str, queue: str, event: Mapping[str, Any], context: Any
    ) -> dict[str, Any]:
        """Let messages wait whose target is not on, with a pause that grows as that of a retry.

        What SQS would soon move is sent again as a new message, for which the wait was no try.
        """
        telemetry.logger.info("messages wait: their target is not there", target=arn)
        own, in_order = self._queue(queue), queue.endswith(".fifo")
        way = TargetQueue(arn, own, own, fifo=in_order)
        now = round(time.time() * 1000)
        held = [read(message(each), now) for each in event["Records"]]
        worn = [each for each in held if each[-1].worn and not in_order]
        if context.get_remaining_time_in_millis() < _SPARE_MS:
            worn = []
        refused = way.send_again(
            [
                envelope.again(term.begun, term.attempts) if envelope else one.body
                for one, envelope, term in worn
            ]
        )
        gone = {one.id for place, (one, *_) in enumerate(worn) if place not in refused}
        stay = [one.id for one, *_ in held if one.id not in gone]
        pauses = {
            one.receipt: max(pause(term.receives), term.spacing if in_order else 0)
            for one, _, term in held
            if one.id not in gone
        }
        if pauses:
            way.postpone(pauses)
        return {"batchItemFailures": [{"itemIdentifier": each} for each in stay]}

    def _queue(self, name: str) -> Queue:
        return Queue(f"{self._settings.queues}/{name}", self._sqs)


def build(
    environ: Mapping[str, str], load: Callable[[str], type[Target]] = targets.load
) -> Handler:
    """The handler for all run-time targets of one kind."""
    settings = RuntimeSettings.from_environ(environ)
    return Kind(settings, load(settings.kind))


handler = build(os.environ)
