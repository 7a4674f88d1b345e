"""The ingest function: messages of the ingress queue in, messages on the targets' queues out."""

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from bucketcast import telemetry
from bucketcast.aws import function_clients
from bucketcast.delivery import dead_letters, tracing
from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.messages import message
from bucketcast.delivery.policy import Policy
from bucketcast.delivery.queue import Queue
from bucketcast.destination import TopicArn
from bucketcast.ingest.aws.object_facts import ObjectReader
from bucketcast.ingest.fanout import Fanout
from bucketcast.ingest.intake import Intake
from bucketcast.ingest.routing import Routes
from bucketcast.limits import COUNT_SECONDS, INGEST_CHUNK_BYTES
from bucketcast.listen.aws.cache import ListenerCache
from bucketcast.listen.aws.listeners import Table as Listeners
from bucketcast.rules.conditions import facts_of
from bucketcast.settings.environment import IngestSettings
from bucketcast.state.counters import TOPICS, Counters, Counts, Triggered
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.rule_cache import RuleCache
from bucketcast.state.rules import Rules
from bucketcast.topics.aws.destination_cache import DestinationCache

Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


def build(environ: Mapping[str, str]) -> Handler:
    """Return the handler for these settings; clients and rules are kept between calls."""
    settings = IngestSettings.from_environ(environ)
    sqs = function_clients.client("sqs")
    dynamodb = function_clients.client("dynamodb")
    table = settings.state_table
    listeners = ListenerCache(Listeners(table, dynamodb))
    rules = RuleCache(Rules(table, dynamodb), listeners)
    facts = settings.object_facts
    dynamic = DestinationCache(
        Table(table, dynamodb),
        settings.dynamic_prefix,
        facts_of(facts.topics),
    )
    counters = Counters(
        table, partial(function_clients.client, "dynamodb", function_clients.OPTIONAL_CALL)
    )
    objects = (
        ObjectReader(
            function_clients.client("s3", function_clients.OPTIONAL_CALL),
            facts,
            environ["AWS_LAMBDA_FUNCTION_NAME"],
            deployed=settings.targets.__contains__,
            dynamic=dynamic.wants,
        )
        if facts.buckets
        else None
    )
    fanout = Fanout(
        settings.target_queues,
        sqs,
        deployed=settings.targets.__contains__,
        dynamic_queue=dynamic.queue,
        listener_queue=listeners.queue,
    )
    dead = Queue(settings.ingress_dead_queue_url, sqs)
    own = Consumer(Queue(settings.ingress_queue_url, sqs), partial(dead_letters.write, queue=dead))
    triggered = 0

    def on_routed(routes: Routes, at: int) -> None:
        nonlocal triggered
        matched = (hit.to for _, hits in routes.matches for hit in hits)
        triggered += sum(isinstance(to, TopicArn) for to in matched)
        _report(routes, at)

    intake = Intake(rules, objects, fanout, on_routed)
    engine = Engine(own, intake, chunk_bytes=INGEST_CHUNK_BYTES)

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        nonlocal triggered
        dynamic.begin()
        triggered = 0
        queue = event["Records"][0]["eventSourceARN"].rpartition(":")[2]

        def remaining() -> float:
            return float(context.get_remaining_time_in_millis()) / 1000

        outcome = engine(
            map(message, event["Records"]),
            Policy(),
            now=round(time.time() * 1000),
            remaining=remaining,
            on_begun=partial(telemetry.report_age, queue),
        )
        if outcome.reason is not None:
            telemetry.logger.warning(
                "not all events were sent on",
                reason=str(outcome.reason),
                retried=outcome.retried,
                dead=outcome.dead,
                waiting=outcome.waiting,
            )
        counts = intake.take_counts()
        telemetry.measure(
            telemetry.INGRESS,
            EventsReceived=counts.events,
            EventsMatched=counts.matched,
            MessagesBroken=counts.broken,
        )

        def is_late() -> bool:
            return remaining() < COUNT_SECONDS

        counters.add(TOPICS, Triggered(triggered), is_late=is_late)
        for arn, number in fanout.take_skipped().items():
            counters.add(arn, Counts(skipped=number), is_late=is_late)
        return {"batchItemFailures": [{"itemIdentifier": id_} for id_ in sorted(outcome.stay)]}

    return handler


@telemetry.observer
def _report(routes: Routes, at: int) -> None:
    """Log traces."""
    telemetry.trace(tracing.received(routes.matches, at))


handler = telemetry.logger.inject_lambda_context(build(os.environ))
