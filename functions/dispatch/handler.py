"""The dispatch function: messages of one target's queue in, events at the target."""

import os
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any
from zlib import crc32

from bucketcast import targets, telemetry
from bucketcast.aws import function_clients, secrets
from bucketcast.delivery import dead_letters
from bucketcast.delivery.breaker import Breaker, LocalStore
from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.messages import message
from bucketcast.delivery.policy import Policy
from bucketcast.delivery.queue import Queue
from bucketcast.destination import TargetArn
from bucketcast.settings.environment import DispatchSettings
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counters
from bucketcast.targets.base import Target
from functions.dispatch.batch import Handler, answer, connector, deliver, probe, sender


def build(
    environ: Mapping[str, str], load: Callable[[str], type[Target]] = targets.load
) -> Handler:
    """Return the handler for one target: its client is imported now, it connects on first use."""
    settings = DispatchSettings.from_environ(environ)
    kind = load(settings.kind)
    kind.preload()
    arn = TargetArn(settings.id, kind.arn_type).arn
    sqs = function_clients.client("sqs")
    dead = Queue(settings.dead_queue_url, sqs)
    own = Consumer(
        Queue(settings.queue_url, sqs), partial(dead_letters.write, queue=dead, target=arn)
    )
    connect = connector(kind, lambda fresh: secrets.resolve(settings.settings, fresh=fresh))
    table = environ.get("BUCKETCAST_STATE_TABLE")
    client = cache(lambda: function_clients.client("dynamodb", function_clients.OPTIONAL_CALL))
    counters = Counters(table, client) if table else None
    store = Breakers(table, client).of(arn) if table else LocalStore()
    queue = settings.queue_url.rpartition("/")[2]
    stands_for = str(crc32(repr(sorted(settings.settings.items())).encode()))
    engine = Engine(own, sender(kind, connect, store, stands_for))

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        if event.get("probe"):
            return probe(connect, event, settings.settings)
        if event.get("pause"):
            return {"paused": Breaker(store).is_paused()}
        messages = [*map(message, event["Records"])]
        stay = deliver(arn, engine, messages, Policy(), context, counters=counters, queue=queue)
        return answer(stay)

    return handler


handler = telemetry.logger.inject_lambda_context(build(os.environ))
