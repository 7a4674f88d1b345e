"""The dispatch function: messages of one target's queue in, events at the target."""

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from bucketcast import targets, telemetry
from bucketcast.aws import function_clients, secrets
from bucketcast.destination import TargetArn
from bucketcast.dispatch import Dispatcher
from bucketcast.dispatch.breaker import Breaker, LocalStore
from bucketcast.queues import Queue
from bucketcast.queues.target import TargetQueue
from bucketcast.settings.environment import DispatchSettings
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counters
from bucketcast.targets.base import Target
from functions.dispatch.batch import Handler, connector, deliver, probe


def build(
    environ: Mapping[str, str], load: Callable[[str], type[Target]] = targets.load
) -> Handler:
    """Return the handler for one target: its client is imported now, it connects on first use."""
    settings = DispatchSettings.from_environ(environ)
    kind = load(settings.kind)
    kind.preload()
    arn = str(TargetArn(id=settings.id, type=kind.arn_type))
    sqs = function_clients.client("sqs")
    queue = TargetQueue(
        arn,
        Queue(settings.queue_url, sqs),
        Queue(settings.dead_queue_url, sqs),
        fifo=settings.sync_events,
    )
    connect = connector(kind, lambda fresh: secrets.resolve(settings.settings, fresh=fresh))
    table = environ.get("BUCKETCAST_STATE_TABLE")
    client = cache(lambda: function_clients.client("dynamodb", function_clients.IN_PASSING))
    counters = Counters(table, client) if table else None
    store = Breakers(table, client).of(arn) if table else LocalStore()
    dispatcher = Dispatcher(
        connect,
        queue,
        batch_size=kind.batch_size,
        in_order=settings.sync_events,
        breaker=Breaker(store),
    )

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        if event.get("probe"):
            return probe(connect, event, settings.settings)
        if event.get("pause"):
            return {"paused": Breaker(store).is_paused()}
        return deliver(arn, dispatcher, event, context, counters)

    return handler


handler = telemetry.logger.inject_lambda_context(build(os.environ))
