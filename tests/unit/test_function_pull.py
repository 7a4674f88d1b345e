"""Events on their way to subscriptions: which queue ingest finds, and what is stored."""

import json
from importlib import import_module
from typing import Any
from urllib.parse import quote_plus

import boto3
import pytest

from bucketcast import sources
from bucketcast.aws.runtime.orphans import PULL, OrphanedTargetsError, require_functions
from bucketcast.aws.runtime.resources import Resources
from bucketcast.aws.topics.stored_events import StoredEvents
from bucketcast.aws.topics.subscriptions import Subscriptions
from bucketcast.aws.topics.table import TopicTable
from bucketcast.aws.topics.topics import Topics, Wanted
from bucketcast.delivery.envelope import Delivery, Envelope, pack, unpack
from bucketcast.event import Event
from bucketcast.ingest import TargetBatch
from bucketcast.queues import Queue
from bucketcast.queues.fanout import Fanout
from bucketcast.topics.attributes import checked
from bucketcast.topics.model import Topic, TopicArn, pull_arn
from tests.unit.aws import REGION
from tests.unit.made import event, message, received, record, recorded
from tests.unit.runtime_targets import RUNTIME, Account
from tests.unit.test_aws_stored_events import make_events_table
from tests.unit.test_function_dispatch import SECONDS, Context, invocation

QUEUE = "Bucketcast-runtime-pull"
ARN = TopicArn(REGION, "acme", "t1")
URL = {"push-endpoint": "https://example.org/hook"}


class Stack:
    """The account with a topic and the function as Lambda would load it."""

    def __init__(self, account: Account, module: Any, environ: dict[str, str]) -> None:
        self.account = account
        self.handler = module.build(environ)
        self.items = TopicTable(account.table_name, account.dynamodb)
        resources = Resources(RUNTIME, account.sqs, account.functions, account.secrets, timeout=0)
        self.topics = Topics(self.items, RUNTIME, account.targets(), resources, lambda: account.now)
        self.subscriptions = Subscriptions(account.table_name, account.dynamodb)
        self.events = StoredEvents("events", account.dynamodb, 7)

    def put(self, **given: str) -> Topic:
        return self.topics.put(ARN, lambda *_: Wanted("ann", checked(given)))

    def subscribe(self, name: str) -> str:
        return self.subscriptions.put("acme", "ann", name, ARN, lambda *_: None).partition

    def __call__(self, *bodies: str) -> list[str]:
        call = invocation(*bodies)
        for each in call["Records"]:
            each["eventSourceARN"] = RUNTIME.arn(QUEUE)
        answer = self.handler(call, Context(60 * SECONDS))
        return [each["itemIdentifier"] for each in answer["batchItemFailures"]]

    def stored(self, partition: str) -> list[Any]:
        return [json.loads(each.record) for each in self.events.page(partition, 1_000).events]

    def dead(self) -> list[Any]:
        answer = self.account.sqs.receive_message(
            QueueUrl=f"{RUNTIME.queues}/{QUEUE}-dead",
            MaxNumberOfMessages=10,
            MessageAttributeNames=["All"],
        )
        return list(answer.get("Messages", []))


@pytest.fixture
def stack(rules_table: str, monkeypatch: pytest.MonkeyPatch) -> Stack:
    account = Account(rules_table)
    make_events_table(account.dynamodb)
    for name in (QUEUE, f"{QUEUE}-dead"):
        account.sqs.create_queue(QueueName=name)
    environ = {
        "BUCKETCAST_RULES_TABLE": rules_table,
        "BUCKETCAST_EVENTS_TABLE": "events",
        "BUCKETCAST_QUEUE_URL": f"{RUNTIME.queues}/{QUEUE}",
        "BUCKETCAST_DEAD_QUEUE_URL": f"{RUNTIME.queues}/{QUEUE}-dead",
        "BUCKETCAST_TOPICS": '{"pull": true}',
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    for name, text in environ.items():
        monkeypatch.setenv(name, text)
    boto3.setup_default_session()
    return Stack(account, import_module("functions.dispatch.pull"), environ)


def body(*keys: str, topic: str = str(ARN), rule: str = "n1", raw: bytes = b"") -> str:
    more: dict[str, Any] = {"record": raw} if raw else {}
    return packed(*(event(key=key, **more) for key in keys), topic=topic, rule=rule)


def packed(*events: Event, topic: str = str(ARN), rule: str = "n1") -> str:
    deliveries = [Delivery(rule, each, named=True) for each in events]
    (one,) = pack(deliveries, 1_800_000_000_000, history=Envelope(0, topic=topic))
    return one.body


def test_an_event_is_stored_once_for_each_subscription(stack: Stack) -> None:
    stack.put(OpaqueData="me")
    partitions = [stack.subscribe(name) for name in ("s1", "s2")]
    assert stack(body("a", "b")) == []
    # As SQS does it, and as an ingest does that was killed before it deleted its message.
    assert stack(body("a", "b"), body("b")) == []
    for partition in partitions:
        records = stack.stored(partition)
        assert sorted(each["s3"]["object"]["key"] for each in records) == ["a", "b"]
        assert [each["opaqueData"] for each in records] == ["me", "me"]
        assert {each["s3"]["configurationId"] for each in records} == {"n1"}
        assert records == sorted(records, key=lambda each: str(each["eventId"]))


def test_each_notification_has_an_event_of_its_own(stack: Stack) -> None:
    stack.put()
    partition = stack.subscribe("s1")
    stack(body("a", rule="n1"), body("a", rule="n2"))
    assert len({each["eventId"] for each in stack.stored(partition)}) == 2


def test_acknowledged_events_that_come_again_are_not_seen(stack: Stack) -> None:
    stack.put()
    partition = stack.subscribe("s1")
    stack(body("a", "b"))
    for each in stack.stored(partition):
        stack.events.acknowledge(partition, each["eventId"])
    stack(body("a", "b"))
    assert stack.stored(partition) == []


def test_an_event_that_both_sources_report_is_seen_once(stack: Stack) -> None:
    stack.put()
    partition = stack.subscribe("s1")
    by_eventbridge = json.loads(recorded("eventbridge/object-created"))
    detail = by_eventbridge["detail"]
    about = {**detail["object"], "eTag": detail["object"]["etag"]}
    about |= {"versionId": about["version-id"], "sequencer": f"00{about['sequencer'].upper()}"}
    by_notification = message(
        record(
            eventTime="2026-01-02T03:04:05.678Z",
            responseElements={"x-amz-request-id": detail["request-id"]},
            s3__object={**about, "key": quote_plus(about["key"])},
        )
    )
    for text in (by_notification, json.dumps(by_eventbridge)):
        stack(packed(*sources.events(text)))
    (stored,) = stack.stored(partition)
    stack.events.acknowledge(partition, stored["eventId"])
    stack(packed(*sources.events(by_notification)))
    assert stack.stored(partition) == []


def test_what_is_for_nobody_any_more_goes_nowhere(stack: Stack) -> None:
    stack.put()
    assert stack(body("a")) == []
    partition = stack.subscribe("s1")
    stack.topics.delete(ARN, lambda _: None)
    assert stack(body("a")) == []
    assert stack.stored(partition) == []
    assert stack.dead() == []


def test_what_cannot_be_stored_is_buried_with_its_reason(stack: Stack) -> None:
    stack.put()
    partition = stack.subscribe("s1")
    assert stack(body("a", topic="arn:aws:sns:nothing"), "no envelope", body("b")) == []
    assert [each["s3"]["object"]["key"] for each in stack.stored(partition)] == ["b"]
    assert len(stack.dead()) == 2


def test_where_the_table_does_not_answer_events_come_back(stack: Stack) -> None:
    stack.put()
    partition = stack.subscribe("s1")
    stack.account.dynamodb.delete_table(TableName="events")
    assert stack(body("a", "b")) == []
    answer = stack.account.sqs.get_queue_attributes(
        QueueUrl=f"{RUNTIME.queues}/{QUEUE}", AttributeNames=["All"]
    )
    assert answer["Attributes"]["ApproximateNumberOfMessagesDelayed"] == "1"
    make_events_table(stack.account.dynamodb)
    stack(body("a", "b"))
    assert len(stack.stored(partition)) == 2


def test_the_age_of_events_is_reported_where_the_alarm_looks(
    stack: Stack, capsys: pytest.CaptureFixture[str]
) -> None:
    stack.put()
    stack.subscribe("s1")
    stack(body("a"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (metrics,) = [line for line in lines if "OldestEventAge" in line]
    assert metrics["target"] == "pull"
    (counted,) = [line for line in lines if "EventsDelivered" in line]
    assert counted["target"] == pull_arn(str(ARN))


@pytest.mark.parametrize(
    ("given", "subscribed", "queues"),
    [
        ({}, False, []),
        ({}, True, [QUEUE]),
        (URL, False, ["Bucketcast-runtime-webhook-once"]),
        (URL, True, ["Bucketcast-runtime-webhook-once", QUEUE]),
    ],
)
def test_ingest_sends_to_whoever_pushes_and_to_whoever_stores(
    stack: Stack, given: dict[str, str], *, subscribed: bool, queues: list[str]
) -> None:
    stack.put(**given)
    if subscribed:
        stack.subscribe("s1")
    account = stack.account
    account.sqs.create_queue(QueueName="Bucketcast-runtime-webhook-once")
    book = account.book()
    book.begin()
    fanout = Fanout(
        f"{RUNTIME.queues}/Bucketcast-",
        account.sqs,
        Queue(f"{RUNTIME.queues}/ingress-dead", account.sqs),
        fifo=False,
        deployed=lambda _: False,
        runtime_queue=book.queue,
    )
    assert fanout.send(str(ARN), TargetBatch([Delivery("n1", event(), named=True)], ["m"])) == []
    for name in ("Bucketcast-runtime-webhook-once", QUEUE):
        found = received(account.sqs, f"{RUNTIME.queues}/{name}")
        assert len(found) == queues.count(name)
        for each in found:
            envelope, (delivery,) = unpack(each["Body"])
            assert (envelope.topic, delivery.rule) == (str(ARN), "n1")
    assert fanout.take_skipped() == ({} if queues else {str(ARN): 1})
    assert fanout.forward(pull_arn(str(ARN)), body("a")) is None


def test_a_deploy_without_the_function_is_refused_while_there_are_subscriptions(
    stack: Stack,
) -> None:
    stack.put()
    table = stack.account.table
    require_functions(table, stack.items, [PULL], [])
    stack.subscribe("s1")
    require_functions(table, stack.items, [PULL], [PULL])
    with pytest.raises(OrphanedTargetsError, match="DELETE /subscriptions/NAME"):
        require_functions(table, stack.items, [PULL], [])
