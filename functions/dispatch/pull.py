"""Dispatch's entry for subscriptions: events are stored, to be pulled and acknowledged.

All topics share one queue, so a message says whose it is. Events are handled like any target's:
what the table does not take now is tried again, and what it will never take becomes a dead letter.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from bucketcast import telemetry
from bucketcast.aws.runtime.orphans import PULL
from bucketcast.aws.topics.stored_events import LARGEST_RECORD, Stored, StoredEvents
from bucketcast.aws.topics.table import TopicTable
from bucketcast.delivery.envelope import seal
from bucketcast.dispatch import Dispatcher
from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.queues import Queue, heartbeat
from bucketcast.queues.target import TargetQueue
from bucketcast.settings.environment import PullSettings
from bucketcast.shapes import ceph
from bucketcast.targets.base import Failures, Target
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import TopicArn, pull_arn
from functions.dispatch.batch import Handler, deliver

_BATCH = 500
_LONGEST_SEND = 30.0
"""As long as storing goes on for, and then the pauses of one write."""


class Store(Target):
    """The subscriptions of one topic, as a target."""

    arn_type = "pull"
    client = "boto3"
    settings = None  # nobody configures it, and it has no secrets

    def __init__(self, arn: str, topics: TopicTable, events: StoredEvents) -> None:
        self._arn = arn
        self._topics = topics
        self._events = events

    @property
    def where(self) -> str:
        return self._arn

    @property
    def max_send_seconds(self) -> float:
        return _LONGEST_SEND

    @property
    def first_alone(self) -> bool:
        """An event that is stored twice is the same."""
        return False

    def send(self, events: Sequence[Event]) -> Failures:
        """Store a batch for each subscription that the topic has now."""
        try:
            topic = self._topics.topic(TopicArn.parse(self._arn))
            if topic is None or not topic.subscriptions:
                telemetry.logger.info("no subscription is left", topic=self._arn)
                return {}
            failures: dict[int, DeliveryError] = {}
            rows: dict[int, Stored] = {}
            for index, event in enumerate(events):
                row = Stored(*ceph.with_id(event, topic.opaque_data))
                if len(row.record) > LARGEST_RECORD:
                    size = f"{len(row.record):,} bytes"
                    failures[index] = Rejected(f"{size}; a row holds {LARGEST_RECORD:,}")
                else:
                    rows[index] = row
            left = self._events.store(topic.subscriptions, rows.values())
        except TopicError as error:
            raise Rejected(f"a message for no topic: {error}") from None
        except (BotoCoreError, ClientError) as error:
            raise Retryable(str(error)) from error
        late = Retryable("DynamoDB did not take all events in time")
        return failures | {index: late for index, row in rows.items() if row.id in left}

    def probe(self) -> None:
        """Do nothing: there is no connection."""

    def close(self) -> None:
        """Do nothing: there is no connection."""


def build(environ: Mapping[str, str]) -> Handler:
    """Return the handler for all subscriptions of a stack."""
    settings = PullSettings.from_environ(environ)
    sqs, dynamodb = boto3.client("sqs"), boto3.client("dynamodb")
    topics = TopicTable(settings.rules_table, dynamodb)
    events = StoredEvents(settings.events_table, dynamodb, settings.topics.events_retention_days)
    own, dead = Queue(settings.queue_url, sqs), Queue(settings.dead_queue_url, sqs)
    heartbeats = Queue(settings.queue_url, boto3.client("sqs", config=heartbeat.CLIENT))

    def dispatcher(arn: str) -> Dispatcher:
        connect: Callable[[bool], Target] = partial(_connect, arn, topics, events)
        queue = TargetQueue(pull_arn(arn), own, dead, fifo=False, heartbeats=heartbeats)
        return Dispatcher(connect, queue, batch_size=_BATCH, in_order=False)

    def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        failures: list[Any] = []
        for arn, records in _by_topic(event["Records"]).items():
            part = {"Records": records}
            answer = deliver(pull_arn(arn), dispatcher(arn), part, context, aged=PULL)
            failures += answer["batchItemFailures"]
        return {"batchItemFailures": failures}

    return handler


def _connect(arn: str, topics: TopicTable, events: StoredEvents, _fresh: bool) -> Target:  # noqa: FBT001
    return Store(arn, topics, events)


def _by_topic(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the messages by the topic that they name, "" for those that cannot be read."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        try:
            arn = seal(record["body"]).topic
        except ValueError:
            arn = ""
        found.setdefault(arn, []).append(record)
    return found


handler = telemetry.logger.inject_lambda_context(build(os.environ))
