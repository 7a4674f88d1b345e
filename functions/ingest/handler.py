"""Ingest's entry: messages of the ingress queue in, messages on the targets' queues out."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

import boto3

from bucketcast import loops, telemetry, tracing
from bucketcast.ingest import Intake, Routed
from bucketcast.queues import Queue
from bucketcast.queues.fanout import Fanout
from bucketcast.queues.ingress import Ingress, incoming
from bucketcast.settings import IngestSettings
from bucketcast.store.counters import TOPICS, Counters, Counts, Triggered
from bucketcast.store.heard import Heard
from bucketcast.store.listeners import Table as Listeners
from bucketcast.store.objects import CLIENT, Objects
from bucketcast.store.rules import Rulebook, Rules
from bucketcast.store.runtime.book import TargetBook
from bucketcast.store.runtime.table import Table
from bucketcast.store.topics.items import Items
from bucketcast.topics.model import is_topic

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]
_NAME = "ingress"
"""What the ingress queue is called where metrics are told by target."""


def build(environ: Mapping[str, str]) -> Handler:
    """The handler for these settings; its clients and the rules it has read are kept."""
    settings = IngestSettings.from_environ(environ)
    sqs = boto3.client("sqs")
    dynamodb = boto3.client("dynamodb")
    table = settings.rules_table
    heard = Heard(Listeners(table, dynamodb))
    rulebook = Rulebook(Rules(table, dynamodb), heard)
    made = TargetBook(Table(table, dynamodb), Items(table, dynamodb), settings.runtime_prefix)
    counters = Counters(settings.rules_table, lambda: dynamodb)
    dead = Queue(settings.ingress_dead_queue_url, sqs)
    looked_at = settings.object_facts
    objects = (
        Objects(boto3.client("s3", config=CLIENT), looked_at, environ["AWS_LAMBDA_FUNCTION_NAME"])
        if looked_at.buckets
        else None
    )
    fanout = Fanout(
        settings.queue_prefix,
        sqs,
        dead,
        fifo=settings.sync_events,
        deployed=settings.targets.__contains__,
        made=made.queue,
        heard=heard.queue,
    )
    way = Ingress(Queue(settings.ingress_queue_url, sqs), dead, fanout)
    intake = Intake(rulebook, objects, way)

    def handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
        made.begin()
        triggered = 0

        def told(routed: Routed) -> None:
            nonlocal triggered
            triggered += sum(is_topic(hit.arn) for _, hits in routed.asked for hit in hits)
            _tell(routed)

        taken = intake(
            map(incoming, event["Records"]),
            round(time.time() * 1000),
            told=told,
        )
        counters.add(TOPICS, Triggered(triggered))
        for arn, number in fanout.take_skipped().items():
            counters.add(arn, Counts(skipped=number))
        telemetry.count(
            EventsReceived=taken.events,
            EventsMatched=taken.matched,
            MessagesBroken=taken.broken,
        )
        telemetry.flush()
        telemetry.oldest(_NAME, taken.oldest)
        telemetry.flush()
        stay = sorted(taken.stay)
        return {"batchItemFailures": [{"itemIdentifier": message} for message in stay]}

    return handler


def _tell(routed: Routed) -> None:
    """Say where the events went, and in which buckets they seem to make each other."""
    telemetry.trace(tracing.received(routed.asked))
    for bucket in loops.suspected(routed.asked):
        telemetry.logger.warning(
            "keys grow by the same piece again and again, as they do where what a target starts "
            "writes under a prefix that its own rule asks for: a loop, which costs money",
            bucket=bucket,
        )
        telemetry.count(LoopsSuspected=1)


handler = build(os.environ)
