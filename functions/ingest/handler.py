"""Ingest's entry: messages of the ingress queue in, messages on the targets' queues out."""

import os
from collections.abc import Callable, Mapping
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from bucketcast import telemetry, tracing
from bucketcast.errors import BadEvent
from bucketcast.ingest import route
from bucketcast.queues import Queue, buried
from bucketcast.queues.fanout import Fanout
from bucketcast.settings import IngestSettings
from bucketcast.store.objects import CLIENT, Objects
from bucketcast.store.rules import Rulebook, Rules
from bucketcast.store.runtime.book import TargetBook
from bucketcast.store.runtime.table import Table

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


def build(environ: Mapping[str, str]) -> Handler:
    """The handler for these settings; its clients and the rules it has read are kept."""
    settings = IngestSettings.from_environ(environ)
    sqs = boto3.client("sqs")
    dynamodb = boto3.client("dynamodb")
    rulebook = Rulebook(Rules(settings.rules_table, dynamodb))
    made = TargetBook(Table(settings.rules_table, dynamodb))
    dead = Queue(settings.ingress_dead_queue_url, sqs)
    looked_at = settings.object_facts
    objects = (
        Objects(boto3.client("s3", config=CLIENT), looked_at, environ["AWS_LAMBDA_FUNCTION_NAME"])
        if looked_at.buckets
        else None
    )
    fifo = settings.sync_events
    fanout = Fanout(settings.queue_prefix, sqs, dead, fifo=fifo, made=made.queue)

    def handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        bodies = {record["messageId"]: record["body"] for record in event["Records"]}
        routed = route(bodies.items(), rulebook, objects)
        stay = routed.stay | _bury(dead, bodies, routed.broken)
        made.begin()
        for arn, outbox in routed.outboxes.items():
            stay |= fanout.send(arn, outbox)
        telemetry.count(
            EventsReceived=routed.events,
            EventsMatched=sum(len(box.deliveries) for box in routed.outboxes.values()),
            MessagesBroken=len(routed.broken),
        )
        telemetry.flush()
        telemetry.trace(tracing.received(routed.asked))
        return {"batchItemFailures": [{"itemIdentifier": message} for message in sorted(stay)]}

    return handler


def _bury(dead: Queue, bodies: Mapping[str, str], broken: Mapping[str, BadEvent]) -> set[str]:
    """Bury broken messages with their reasons; the ids of those that SQS did not take."""
    ids = list(broken)
    for message in ids:
        telemetry.logger.error("a message is no event", id=message, reason=str(broken[message]))
    graves = [buried(bodies[message], str(broken[message]), error="BadEvent") for message in ids]
    try:
        return {ids[place] for place in dead.send(graves)}
    except (BotoCoreError, ClientError) as error:
        telemetry.logger.error("broken messages stay in the queue", reason=str(error))
        return set(ids)


handler = build(os.environ)
