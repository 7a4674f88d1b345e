"""Topics on their way: which queue ingest finds, and the one attempt of those not persistent."""

import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import chain, repeat
from threading import Event as Signal
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.delivery.messages import Item, Message, Received
from bucketcast.delivery.policy import ATTRIBUTE, History
from bucketcast.delivery.queue import Queue
from bucketcast.destination import Destination, TopicArn
from bucketcast.errors import NotConnected, Rejected, Retryable, TimedOut
from bucketcast.event import Event
from bucketcast.ingest.fanout import Fanout
from bucketcast.state.counters import Counters, Counts
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import Topic
from bucketcast.targets import base
from bucketcast.topics.attributes import parse_attributes
from bucketcast.topics.aws.topics import DesiredTopic
from tests.unit.delivery.bench import NEW
from tests.unit.dynamic_targets.account import Account
from tests.unit.functions.test_dispatch import Fake, invocation
from tests.unit.functions.test_dynamic import webhooks_environ
from tests.unit.moto_aws import DYNAMIC, REGION
from tests.unit.samples import depth, event, lambda_context, received

SHARED = "Bucketcast-dynamic-webhook-once"
URL = {"push-endpoint": "https://example.org/hook"}


class Stack:
    """The account with topics, and the webhooks' function as Lambda would load it."""

    def __init__(self, account: Account, module: Any, environ: dict[str, str]) -> None:
        self.account = account
        self.build: Callable[[], Any] = lambda: module.build(environ, lambda _: Fake)
        self.handler = self.build()
        self.topics = account.topics()

    def put(self, name: str, attributes: Mapping[str, str] = URL) -> Topic:
        desired = DesiredTopic("ann", parse_attributes(attributes))
        return self.topics.put(TopicArn(REGION, "acme", name), lambda *_: desired)

    def fanout(self, end: str = "") -> Fanout:
        """Ingest's way to the queues of topics."""
        queues, known = f"{DYNAMIC.queues}/Bucketcast-*{end}", self.account.destination_cache()
        return Fanout(queues, self.account.sqs, deployed=lambda _: False, dynamic_queue=known.queue)

    def __call__(
        self,
        *bodies: tuple[str, str],
        queue: str = SHARED,
        receives: int = 1,
        seconds: int = 60,
        then: int | None = None,
        history: History = History(),  # noqa: B008 - immutable
    ) -> list[str]:
        records = [
            invocation(text, history=history._replace(topic=arn))["Records"][0]
            for arn, text in bodies
        ]
        for n, record in enumerate(records):
            record |= {"messageId": str(n), "receiptHandle": f"receipt {n}"}
            record["eventSourceARN"] = DYNAMIC.arn(queue)
            record["attributes"]["ApproximateReceiveCount"] = str(receives)
        left = chain([seconds], repeat(seconds if then is None else then))
        context = lambda_context(get_remaining_time_in_millis=lambda: 1_000 * next(left))
        answer = self.handler({"Records": records}, context)
        return [each["itemIdentifier"] for each in answer["batchItemFailures"]]

    def counts(self) -> dict[str, Counts]:
        return dict(Counters(self.account.table_name, lambda: self.account.dynamodb).read())


@pytest.fixture
def stack(state_table: str, monkeypatch: pytest.MonkeyPatch) -> Stack:
    environ = webhooks_environ(state_table, monkeypatch)
    account = Account(state_table)
    account.sqs.create_queue(QueueName=SHARED)
    return Stack(account, import_module("functions.dispatch.dynamic"), environ)


def body(arn: str, *keys: str) -> tuple[str, str]:
    """The topic and the body of a message."""
    return arn, next(pack([Delivery("one", event(key), named=True) for key in keys])).body


def test_ingest_finds_the_queue_of_each_kind_of_topic(stack: Stack) -> None:
    kept, once = stack.put("kept", {**URL, "persistent": "true"}), stack.put("once")
    book = stack.account.destination_cache()
    assert (book.queue(Destination.of(kept.arn)) or "").startswith(
        f"Bucketcast-dynamic-topic-{kept.id}-"
    )
    assert book.queue(TopicArn("default", "acme", "once")) == SHARED
    assert book.queue(TopicArn(REGION, "acme", "never")) is None
    stack.put("silent", {})
    book.begin()
    assert book.queue(TopicArn(REGION, "acme", "silent")) is None
    stack.topics.delete(TopicArn(REGION, "acme", "once"), lambda _: None)
    book.begin()
    assert book.queue(Destination.of(once.arn)) is None


def routed(key: str, history: History = NEW) -> Item:
    """An event of a message of the ingress queue."""
    nothing: Any = None
    delivery = Delivery("one", event(key), named=True)
    return Item(Received(Message(key, key, "", 1, 1, history), nothing), delivery)


def test_events_redriven_to_ingest_have_no_limits_of_their_topic(stack: Stack) -> None:
    topic = stack.put("once")
    box = [routed("a"), routed("b", History(redriven=True)), routed("c")]
    assert not [*stack.fanout().send({Destination.of(topic.arn): box}, lambda: 60.0)]
    marks = {
        each.event.key: History.read(one["texts"][ATTRIBUTE]).redriven
        for one in received(stack.account.sqs, DYNAMIC.url(SHARED))
        for each in unpack(one["Body"])
    }
    assert marks == {"a": False, "b": True, "c": False}


def test_a_message_names_its_topic(stack: Stack) -> None:
    topic, gone = stack.put("once"), TopicArn(REGION, "acme", "gone")
    fanout, box = stack.fanout(".fifo"), [routed("a")]
    assert not [*fanout.send({Destination.of(topic.arn): box, gone: box}, lambda: 60.0)]
    (message,) = received(stack.account.sqs, DYNAMIC.url(SHARED))
    (delivery,) = unpack(message["Body"])
    assert History.read(message["texts"][ATTRIBUTE]).topic == topic.arn
    assert (delivery.rule, delivery.named) == ("one", True)
    assert fanout.take_skipped() == {gone.arn: 1}


def test_each_topic_has_its_own_endpoint_and_login(stack: Stack) -> None:
    first = stack.put("first", {"push-endpoint": "https://a:b@example.org/1"})
    second = stack.put("second")
    assert stack(body(first.arn, "x", "y"), body(second.arn, "z"), body(first.arn, "v")) == []
    assert [sent for sent in Fake.sent if sent[0]] == [
        ("Basic YTpi", ["x"]),
        ("Basic YTpi", ["y", "v"]),
    ]
    assert [sent for sent in Fake.sent if not sent[0]] == [("", ["z"])]
    assert stack.counts() == {first.arn: Counts(sent=3), second.arn: Counts(sent=1)}


def test_failed_event_is_lost_counted_and_not_retried(stack: Stack) -> None:
    topic = stack.put("once")
    Fake.errors = {"a": Retryable("busy"), "b": Rejected("never"), "d": NotConnected("gone")}
    assert stack(body(topic.arn, "a", "b", "c")) == []
    assert stack(body(topic.arn, "d")) == []
    assert [keys for _, keys in Fake.sent] == [["a"], ["b", "c"], ["d"]]
    assert stack.counts() == {topic.arn: Counts(sent=1, dead=3)}
    assert received(stack.account.sqs, DYNAMIC.url(SHARED)) == []


def test_events_of_a_deleted_topic_are_lost(stack: Stack) -> None:
    topic = stack.put("once")
    stack.topics.delete(TopicArn(REGION, "acme", "once"), lambda _: None)
    assert stack(body(topic.arn, "x"), ("", "no envelope"), body("", "y")) == []
    assert Fake.sent == []
    assert stack.counts() == {topic.arn: Counts(dead=1)}


def test_events_out_of_time_are_visible_again_at_once(stack: Stack) -> None:
    topic = stack.put("once")
    assert stack(body(topic.arn, "x"), then=2) == []
    assert Fake.sent == []
    (again,) = received(stack.account.sqs, DYNAMIC.url(SHARED))
    assert [each.event.key for each in unpack(again["Body"])] == ["x"]
    assert stack.counts() == {}


def test_first_batches_of_a_short_function_are_sent(stack: Stack) -> None:
    """Where the time limit was lowered they were sent to the queue again at once, and for ever."""
    first, second = stack.put("first"), stack.put("second")
    assert stack(body(first.arn, "x"), body(second.arn, "y"), seconds=5) == []
    assert sorted(Fake.sent) == [("", ["x"]), ("", ["y"])]


def test_messages_are_kept_in_flight_until_the_call_ends(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a topic that had answered were seen again while another topic hung."""
    quick, slow = stack.put("quick"), stack.put("slow")
    sent, beaten = Signal(), Signal()

    def send(_: Fake, events: Sequence[Event]) -> base.Failures:
        if events[0].key == "slow":
            assert sent.wait(10)
            assert beaten.wait(10)
        return {}

    def postpone(_: Queue, receipts: Mapping[str, int]) -> None:
        if sent.is_set() and "receipt 0" in receipts:
            beaten.set()

    add = Counters.add

    def count(*given: Any) -> None:
        add(*given)
        sent.set()

    monkeypatch.setattr(Fake, "send", send)
    monkeypatch.setattr(Counters, "add", count)
    monkeypatch.setattr(Queue, "postpone", postpone)
    monkeypatch.setattr("bucketcast.delivery.heartbeat.HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr("functions.dispatch.once.FIRST_HEARTBEAT_SECONDS", 0.0)
    assert stack(body(quick.arn, "quick"), body(slow.arn, "slow")) == []
    assert stack.counts() == {quick.arn: Counts(sent=1), slow.arn: Counts(sent=1)}


def test_a_topic_that_cannot_be_read_costs_no_other(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All messages of its call came back, and those of others were sent again."""
    well, broken = stack.put("well"), stack.put("broken")
    read = Table.topic

    def topic(table: Table, arn: TopicArn) -> Topic | None:
        if arn.name == "broken":
            raise ValueError("no such form")
        return read(table, arn)

    monkeypatch.setattr(Table, "topic", topic)
    assert stack(body(well.arn, "x"), body(broken.arn, "y")) == ["1"]
    assert stack.counts() == {well.arn: Counts(sent=1)}


def test_first_event_without_an_answer_is_waited_for_by_one_function(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each function waited for several of every topic before it gave the topic up."""
    topic = stack.put("once")
    now = round(time.time() * 1_000)
    monkeypatch.setattr("bucketcast.delivery.breaker._now", lambda: now)
    Fake.errors = {"a": TimedOut("no answer")}
    assert stack(body(topic.arn, "a")) == []
    stack.handler = stack.build()
    assert stack(body(topic.arn, "b")) == []
    assert [keys for _, keys in Fake.sent] == [["a"]]
    assert stack.counts() == {topic.arn: Counts(dead=2)}


def test_untried_events_are_not_lost(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table refuses for as long as it does: a received message that is not tried is new."""
    topic = stack.put("once")

    def denied(_: object) -> None:
        raise ClientError({"Error": {"Code": "ThrottlingException"}}, "GetItem")

    with monkeypatch.context() as refusing:
        refusing.setattr(stack.handler._table, "topic", denied)
        assert stack(body(topic.arn, "x"), receives=3) == []
    assert stack.counts() == {}
    assert depth(stack.account.sqs, DYNAMIC.url(SHARED), "Delayed") == 1
    assert stack(body(topic.arn, "x")) == []
    assert Fake.sent == [("", ["x"])]


def test_a_persistent_topic_drops_events_at_its_limits(stack: Stack) -> None:
    limits = {"max_retries": "1", "retry_sleep_duration": "0"}
    topic = stack.put("kept", {**URL, "persistent": "true", **limits})
    queue = stack.account.destination_cache().queue(Destination.of(topic.arn))
    assert queue
    stack.account.fill(queue)  # moto calls no function for it from now on
    received(stack.account.sqs, DYNAMIC.url(queue))
    Fake.errors = {"x": Retryable("busy")}
    assert stack(body(topic.arn, "x", "y"), queue=queue) == []
    (again,) = received(stack.account.sqs, DYNAMIC.url(queue), wait=3)
    history = History.read(again["texts"][ATTRIBUTE])
    assert stack((topic.arn, again["Body"]), queue=queue, history=history) == []
    assert [keys for _, keys in Fake.sent] == [["x"], ["y"], ["x"]]
    (target,) = stack.account.table.targets()
    (dead,) = received(stack.account.sqs, DYNAMIC.url(target.dead))
    assert dead["texts"]["reason"] == "busy (max_retries of 1: 2 tries failed)"
    assert stack.counts() == {topic.arn: Counts(sent=1, failed=1, dead=1)}
