"""Dispatch's entry: messages of one target's queue in, events at the target."""

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import boto3

from bucketcast import targets
from bucketcast.arn import Arn
from bucketcast.dispatch import Dispatcher
from bucketcast.dispatch.breaker import Breaker, Memory
from bucketcast.queues import Queue
from bucketcast.queues.target import TargetQueue
from bucketcast.settings import DispatchSettings
from bucketcast.store import secrets
from bucketcast.store.breakers import Breakers
from bucketcast.store.counters import CLIENT, Counters
from bucketcast.targets.base import Target
from functions.dispatch.batch import Handler, connector, deliver, probe


def build(
    environ: Mapping[str, str], load: Callable[[str], type[Target]] = targets.load
) -> Handler:
    """The handler for one target: its client is imported now, its connection made when needed."""
    settings = DispatchSettings.from_environ(environ)
    kind = load(settings.kind)
    kind.preload()
    arn = str(Arn(id=settings.id, type=kind.arn_type))
    sqs = boto3.client("sqs")
    way = TargetQueue(
        arn,
        Queue(settings.queue_url, sqs),
        Queue(settings.dead_queue_url, sqs),
        fifo=settings.sync_events,
    )
    connect = connector(kind, lambda fresh: secrets.resolve(settings.settings, fresh=fresh))
    table = environ.get("BUCKETCAST_RULES_TABLE")
    client = cache(lambda: boto3.client("dynamodb", config=CLIENT))
    counters = Counters(table, client) if table else None
    book = Breakers(table, client).of(arn) if table else Memory()
    dispatcher = Dispatcher(
        connect,
        way,
        batch_size=kind.batch_size,
        in_order=settings.sync_events,
        breaker=Breaker(book),
    )

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        if event.get("probe"):
            return probe(connect)
        return deliver(arn, dispatcher, event, context, counters)

    return handler


handler = build(os.environ)
