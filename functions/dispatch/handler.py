"""Dispatch's entry: messages of one target's queue in, events at the target."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import boto3

from bucketcast import targets, telemetry, tracing
from bucketcast.arn import Arn
from bucketcast.dispatch import Dispatcher, Message
from bucketcast.errors import ConfigErrors, DeliveryError, NotAuthorized
from bucketcast.options import read
from bucketcast.queues import Queue
from bucketcast.queues.target import TargetQueue
from bucketcast.settings import DispatchSettings
from bucketcast.store import secrets
from bucketcast.targets.base import Target

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


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

    def connect(fresh: bool) -> Target:  # noqa: FBT001 - dispatch calls it by place
        try:
            return kind(read(kind.Settings, secrets.resolve(settings.settings, fresh=fresh)))
        except ConfigErrors as wrong:
            # What was found may be what a secret holds, so only keys and rules are said.
            reasons = "; ".join(f"{error.key}: {error.allowed}" for error in wrong.errors)
            raise NotAuthorized(f"the settings or a secret in them: {reasons}") from None

    dispatcher = Dispatcher(connect, way, batch_size=kind.batch_size, in_order=settings.sync_events)

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        if event.get("probe"):
            return probe(connect)
        outcome = dispatcher(
            map(_message, event["Records"]),
            now=round(time.time() * 1000),
            remaining=lambda: context.get_remaining_time_in_millis() / 1000,
        )
        if outcome.reason is not None:
            telemetry.logger.warning(
                "not all events arrived",
                target=arn,
                error=type(outcome.reason).__name__,
                reason=str(outcome.reason),
                retried=outcome.retried,
                dead=outcome.dead,
            )
        telemetry.count(
            arn,
            EventsDelivered=outcome.delivered,
            EventsRetried=outcome.retried,
            EventsDead=outcome.dead,
        )
        telemetry.flush()
        telemetry.trace(tracing.dispatched(arn, outcome.fates))
        return {"batchItemFailures": [{"itemIdentifier": message} for message in outcome.stay]}

    return handler


def probe(connect: Callable[[bool], Target]) -> dict[str, Any]:
    """Whether the target can be reached from here: `{"online", "why", "where"}`."""
    where, fresh = "", True
    try:
        with connect(fresh) as target:
            where = target.where
            target.probe()
    except DeliveryError as error:
        return {"online": False, "why": str(error), "where": where}
    return {"online": True, "why": "", "where": where}


def _message(record: Mapping[str, Any]) -> Message:
    attributes = record["attributes"]
    return Message(
        record["messageId"],
        record["receiptHandle"],
        record["body"],
        int(attributes["SentTimestamp"]),
        int(attributes["ApproximateReceiveCount"]),
    )


handler = build(os.environ)
