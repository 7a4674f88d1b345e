"""The dispatch function for dynamic targets: one function a kind, for all of its queues.

A batch comes from one queue. Before it, the settings of its target are read in one consistent read,
so that a change takes effect with the next batch; the connection is kept while they do not change.
While they cannot be read, or the target is off, its messages wait.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast import targets, telemetry
from bucketcast.aws import function_clients, secrets
from bucketcast.delivery import dead_letters
from bucketcast.delivery.breaker import Breaker
from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.messages import message
from bucketcast.delivery.policy import Policy
from bucketcast.delivery.queue import Queue
from bucketcast.delivery.queue_names import dead_of, key_of, once_queue
from bucketcast.delivery.sender import Absent
from bucketcast.destination import Destination, TargetArn
from bucketcast.settings.environment import DynamicSettings
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counters
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import DynamicTarget, Topic
from bucketcast.targets.base import Target
from functions.dispatch.batch import (
    Connect,
    EngineCache,
    Handler,
    answer,
    connector,
    deliver,
    probe,
    sender,
)
from functions.dispatch.once import Once


class DynamicTargets:
    """All dynamic targets of one kind, whose client is imported now."""

    def __init__(self, settings: DynamicSettings, kind: type[Target]) -> None:
        kind.preload()
        self._settings = settings
        self._kind = kind
        self._sqs = function_clients.client("sqs")
        dynamodb = function_clients.client("dynamodb")
        optional = function_clients.client("dynamodb", function_clients.OPTIONAL_CALL)
        self._table = Table(settings.state_table, dynamodb)
        self._counters = Counters(settings.state_table, lambda: optional)
        self._breakers = Breakers(settings.state_table, lambda: optional)
        self._engines = EngineCache()
        self._once_queue = once_queue(settings.queue_prefix, settings.kind)
        shared = self._queue(self._once_queue)
        self._once = Once(
            kind, shared, self._table, self._connector, self._breakers, self._counters
        )

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Deliver a batch, or probe the target that the event names."""
        if event.get("probe"):
            return self._probe(event)
        if event.get("pause"):
            return {"paused": Breaker(self._breakers.of(event["target"])).is_paused()}
        queue = event["Records"][0]["eventSourceARN"].rpartition(":")[2]
        messages = [*map(message, event["Records"])]
        if queue == self._once_queue:
            return answer(self._once(messages, context))
        key = key_of(queue, self._settings.queue_prefix, self._settings.kind)
        target = self._read(key)
        id_ = key.removeprefix(f"{self._settings.kind}:")
        arn = target.arn if target else TargetArn(id_, self._kind.arn_type).arn
        own = queue, self._settings.kind, "on"
        if target is None or (target.queue, target.kind, target.state) != own:
            telemetry.logger.info("messages wait: their target is not there", target=arn)
            engine = Engine(self._consumer(arn, queue), Absent(f"{arn} is not there, or off"))
        else:
            engine = self._engines.get(queue, target.number, lambda: self._create(target))
        limits = self._settings.topics
        policy = target.retry_policy(limits) if isinstance(target, Topic) else Policy()
        stay = deliver(arn, engine, messages, policy, context, counters=self._counters, queue=queue)
        return answer(stay)

    def _read(self, key: str) -> DynamicTarget | None:
        try:
            return self._table.get(key)
        except (BotoCoreError, ClientError) as error:
            telemetry.logger.warning("the table does not answer", target=key, reason=str(error))
            return None

    def _create(self, target: DynamicTarget) -> Engine:
        store = self._breakers.of(target.arn)
        work = sender(self._kind, self._connector(self._kind, target), store, str(target.number))
        return Engine(self._consumer(target.arn, target.queue), work)

    def _consumer(self, arn: str, queue: str) -> Consumer:
        dead = self._queue(dead_of(queue))
        return Consumer(self._queue(queue), partial(dead_letters.write, queue=dead, target=arn))

    def _connector(self, kind: type[Target], target: DynamicTarget) -> Connect:
        def settings(fresh: bool) -> Mapping[str, str]:  # noqa: FBT001 - a connection calls it so
            # A secret is replaced together with the settings that name it.
            stored = self._table.get(Destination.of(target.arn).key) if fresh else target
            return secrets.resolve((stored or target).settings, fresh=fresh)

        return connector(kind, settings)

    def _probe(self, event: Mapping[str, Any]) -> dict[str, Any]:
        arn = event["target"]
        target = self._table.get(Destination.of(arn).key)
        if target is None:
            return {"online": False, "why": f"{arn} was removed", "where": ""}
        return probe(self._connector(self._kind, target), event, target.settings)

    def _queue(self, name: str) -> Queue:
        return Queue(f"{self._settings.queues}/{name}", self._sqs)


def build(
    environ: Mapping[str, str], load: Callable[[str], type[Target]] = targets.load
) -> Handler:
    """Return the handler for all dynamic targets of one kind."""
    settings = DynamicSettings.from_environ(environ)
    return DynamicTargets(settings, load(settings.kind))


handler = telemetry.logger.inject_lambda_context(build(os.environ))
