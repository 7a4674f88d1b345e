"""`bucketcast topic`, with the fields of `radosgw-admin topic`."""

import json
import os
import signal
from typing import Any
from unittest.mock import DEFAULT, Mock

import pytest
from msgspec.structs import asdict

from bucketcast.aws.counters import Counters, Counts
from bucketcast.aws.rules import Rules
from bucketcast.aws.runtime.table import Table
from bucketcast.aws.topics import backlog
from bucketcast.aws.topics.delivery_stop import is_stopped, stopped
from bucketcast.aws.topics.factory import topics_of
from bucketcast.aws.topics.topics import Wanted
from bucketcast.delivery.envelope import Delivery, Envelope, pack, unpack
from bucketcast.queues import Queue, dead_letter
from bucketcast.queues.depth import depth
from bucketcast.queues.measured import Queued
from bucketcast.rules import Rule
from bucketcast.topics.attributes import checked
from bucketcast.topics.model import Topic, TopicArn
from tests.unit.aws import TABLE, MotoAws, refusal
from tests.unit.cli.conftest import Run, cells
from tests.unit.conftest import Watch
from tests.unit.made import event, received
from tests.unit.runtime_targets import RUNTIME, make_functions

LOGIN = {"push-endpoint": "https://u:hunter2@h/x", "persistent": "true", "OpaqueData": "me"}


@pytest.fixture(autouse=True)
def with_runtime(aws: MotoAws) -> None:
    aws.outputs["RuntimeOutput"] = json.dumps(asdict(RUNTIME))
    make_functions(aws.iam, aws.mappings)


def make(aws: MotoAws, name: str, tenant: str = "", owner: str = "ann", **given: str) -> Topic:
    attributes = checked({key.replace("push_", "push-"): text for key, text in given.items()})
    topics = topics_of("Bucketcast", TABLE, aws)
    return topics.put(TopicArn("r", tenant, name), lambda *_: Wanted(owner, attributes))


def queue(aws: MotoAws, topic: Topic) -> str:
    made = Table(TABLE, aws.dynamodb).target(topic.target_arn)
    assert made is not None
    return RUNTIME.url(made.queue)


def test_topics_are_listed_with_whose_they_are_and_who_names_them(run: Run, aws: MotoAws) -> None:
    make(aws, "a", push_endpoint="http://h/")
    hook = make(aws, "b", "acme", "bob", **LOGIN)
    Rules(TABLE, aws.dynamodb).add(Rule(bucket="uploads", arn=hook.arn, events=("put",)))
    rows = cells(run("topic", "ls").out)
    assert rows[1:] == [
        ["arn:aws:sns:r::a", "ann", "http://h/", "no", "-", "-"],
        ["arn:aws:sns:r:acme:b", "acme$bob", "https://h/x", "yes", "uploads", "-"],
    ]
    listed = run("topic", "ls", "--tenant", "acme", "--json").document["topics"]
    found = run("topic", "get", "b", "--tenant", "acme", "--json").document
    assert {"status": "success", **listed[0]} == found
    assert len(listed) == 1
    assert [
        each["name"] for each in run("topic", "ls", "--uid", "ann", "--json").document["topics"]
    ]
    assert run("topic", "ls", "--uid", "eve").out == ""


@pytest.mark.parametrize("call", [("rm",), ("rm", "--discard"), ("add", "endpoint=http://h/")])
def test_the_target_of_a_topic_is_changed_by_the_topic_alone(
    run: Run, aws: MotoAws, call: tuple[str, ...]
) -> None:
    """Without it ingest would keep the topic's events, and send none."""
    topic = make(aws, "b", push_endpoint="http://h/x", persistent="true")
    stored = Table(TABLE, aws.dynamodb).target(topic.target_arn)
    refused = run("target", call[0], f"webhook:{topic.id}", *call[1:])
    assert refused.code == 1
    assert "change or remove the topic" in refused.err
    assert Table(TABLE, aws.dynamodb).target(topic.target_arn) == stored


def test_topics_are_listed_in_pages(run: Run, aws: MotoAws) -> None:
    for name in ("a", "b", "c"):
        make(aws, name)
    page = run("topic", "ls", "--max-entries", "2", "--json").document
    assert ([each["name"] for each in page["topics"]], page["truncated"]) == (["a", "b"], True)
    rest = run("topic", "ls", "--max-entries", "2", "--marker", page["marker"], "--json").document
    assert [each["name"] for each in rest["topics"]] == ["c"]
    assert "truncated" not in rest


def test_a_topic_is_shown_in_radosgw_admin_s_fields_without_its_login(
    run: Run, aws: MotoAws
) -> None:
    make(aws, "b", "acme", "bob", max_retries="3", **LOGIN)
    ran = run("topic", "get", "arn:aws:sns:elsewhere:acme:b", "--json")
    assert ran.document == {
        "status": "success",
        "owner": "acme$bob",
        "name": "b",
        "dest": {
            "push_endpoint": "https://h/x",
            "push_endpoint_args": "",
            "push_endpoint_topic": "b",
            "stored_secret": True,
            "persistent": True,
            "persistent_queue": "acme:b",
            "time_to_live": "None",
            "max_retries": "3",
            "retry_sleep_duration": "None",
        },
        "arn": "arn:aws:sns:r:acme:b",
        "opaqueData": "me",
        "policy": "",
        "subscribed_buckets": [],
    }
    printed = run("topic", "get", "b", "--tenant", "acme").out
    assert "push_endpoint: https://h/x\n" in printed
    assert "hunter2" not in printed


def test_what_waits_is_counted_and_shown_and_stays(run: Run, aws: MotoAws) -> None:
    url = queue(aws, topic := make(aws, "b", **LOGIN))
    waiting = [Delivery("n1", event(key=f"k{number}"), named=True) for number in range(3)]
    for one in waiting:
        for packed in pack([one], 1_800_000_000_000):
            aws.sqs.send_message(QueueUrl=url, MessageBody=packed.body)
    Counters(TABLE, lambda: aws.dynamodb).add(topic.target_arn, Counts(sent=5, failed=2, dead=1))
    for _ in range(2):
        ran = run("topic", "stats", "b", "--json")
        assert ran.document == {
            "status": "success",
            "Topic Stats": {"Reservations": 0, "Size": 0, "Entries": 3},
            "messages": 3,
            "pushed": 5,
            "failed": 2,
            "dead": 1,
            "stopped": False,
        }
        found = run("topic", "dump", "b", "--json").document
        records = [each["entry"]["event"] for each in found["entries"]]
        assert sorted(each["s3"]["object"]["key"] for each in records) == ["k0", "k1", "k2"]
        assert {each["opaqueData"] for each in records} == {"me"}
        assert found["hidden_messages"] == 0
    assert len(run("topic", "dump", "b", "--max-entries", "1").out.splitlines()) == 1


def test_ten_thousand_events_are_counted_and_shown_as_they_come(run: Run, aws: MotoAws) -> None:
    url = queue(aws, topic := make(aws, "b", **LOGIN))
    waiting = [Delivery("n1", event(key=f"k{number}"), named=True) for number in range(10_000)]
    bodies = [one.body for one in pack(waiting, 1, history=Envelope(1, topic=topic.arn))]
    for body in bodies:
        aws.sqs.send_message(QueueUrl=url, MessageBody=body)
    size = sum(map(len, bodies))
    queued = Queued(10_000, size)
    Counters(TABLE, lambda: aws.dynamodb).add(url.rpartition("/")[2], queued)
    stats = run("topic", "stats", "b", "--json").document
    assert stats["Topic Stats"] == {"Reservations": 0, "Size": size, "Entries": 10_000}
    assert stats["messages"] == len(bodies) == 10
    line = f"10,000 events waiting, {size:,} bytes in 10 messages"
    assert line in run("topic", "stats", "b").out
    entries = run("topic", "dump", "b", "--json").document["entries"]
    keys = {each["entry"]["event"]["s3"]["object"]["key"] for each in entries}
    assert len(entries) == len(keys) == 10_000
    assert len(run("topic", "dump", "b", "--max-entries", "7").out.splitlines()) == 7
    assert len(run("topic", "dump", "b").out.splitlines()) == 10_000, "all were given back"


def test_topic_ls_keeps_only_the_messages_of_one_call_in_memory(run: Run, aws: MotoAws) -> None:
    """The receipts stay, the bodies do not."""
    assert run("topic", "ls").code == 0
    url = queue(aws, make(aws, "b", **LOGIN))
    for number in range(30):
        (packed,) = pack([Delivery("n1", event(key=f"k{number}"))], 1)
        aws.sqs.send_message(QueueUrl=url, MessageBody=packed.body)
    prompts: list[str] = []
    aws.sqs.meta.events.register(
        "before-call.sqs.ReceiveMessage", lambda **_: prompts.append("asked")
    )
    events = backlog.waiting(url, aws.sqs)
    next(events)
    assert len(prompts) == 1
    assert depth(url, aws.sqs).visible == 20
    events.close()
    assert depth(url, aws.sqs) == (30, 0, 0)


def test_inaccurate_counters_never_report_less_than_the_messages(run: Run, aws: MotoAws) -> None:
    url = queue(aws, make(aws, "b", **LOGIN))
    counters = Counters(TABLE, lambda: aws.dynamodb)
    counters.add(url.rpartition("/")[2], Queued(-5, -100))
    stats = run("topic", "stats", "b", "--json").document
    assert stats["Topic Stats"] == {"Reservations": 0, "Size": 0, "Entries": 0}
    (packed,) = pack([Delivery("n1", event(key="k"))], 1)
    aws.sqs.send_message(QueueUrl=url, MessageBody=packed.body)
    stats = run("topic", "stats", "b", "--json").document
    assert stats["Topic Stats"] == {"Reservations": 0, "Size": 0, "Entries": 1}
    counters.add(url.rpartition("/")[2], Queued(50, 1_000))
    run("topic", "rm", "b")
    assert counters.queued(url.rpartition("/")[2]) == Queued()


@pytest.fixture
def switch(aws: MotoAws, watch: Watch) -> Mock:
    """Every change of an event source mapping."""
    return watch(aws.mappings, "update_event_source_mapping")


def test_what_is_hidden_is_waited_for_and_delivery_goes_on_behind_it(
    run: Run, aws: MotoAws, switch: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = queue(aws, make(aws, "b", **LOGIN))
    (packed,) = pack([Delivery("n1", event(key="k"))], 1)
    aws.sqs.send_message(QueueUrl=url, MessageBody=packed.body)
    aws.sqs.receive_message(QueueUrl=url, VisibilityTimeout=2)
    assert run("topic", "dump", "b", "--json").document["entries"] == []
    ran = run("topic", "dump", "b", "--wait", "30")
    assert ran.out == "s3:ObjectCreated:Put uploads/k\n", ran.err
    assert "1 message in flight" in ran.err
    assert [each.kwargs["Enabled"] for each in switch.call_args_list] == [False, True]
    monkeypatch.setattr(backlog, "waiting", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("topic", "dump", "b", "--wait", "1")
    assert [each.kwargs["Enabled"] for each in switch.call_args_list] == [False, True] * 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_delivery_stopped(aws: MotoAws, switch: Mock, number: int) -> None:
    url = queue(aws, make(aws, "b", **LOGIN))
    before = signal.getsignal(number)

    def interrupt(*, Enabled: bool, **_: Any) -> Any:  # noqa: N803 - boto3's name
        if Enabled:
            os.kill(os.getpid(), number)  # once more, out of impatience
        return DEFAULT

    switch.side_effect = interrupt

    def dump() -> None:
        with stopped(url, aws.sqs, aws.mappings):
            assert is_stopped(url, aws.sqs, aws.mappings)
            os.kill(os.getpid(), number)

    with pytest.raises(KeyboardInterrupt):
        dump()
    assert not is_stopped(url, aws.sqs, aws.mappings)
    assert signal.getsignal(number) is before


def test_a_delivery_that_stays_stopped_is_named(run: Run, aws: MotoAws, switch: Mock) -> None:
    url = queue(aws, make(aws, "b", **LOGIN))
    assert not run("topic", "stats", "b", "--json").document["stopped"]
    expired = refusal("ExpiredTokenException", "UpdateEventSourceMapping")
    switch.side_effect = [DEFAULT, expired]  # it stops, and cannot start again
    ran = run("topic", "dump", "b", "--wait", "1")
    assert ran.code == 1
    assert "aws lambda update-event-source-mapping --uuid " in ran.err
    assert "still stopped" in ran.err
    assert run("topic", "stats", "b", "--json").document["stopped"]
    assert (
        "`bucketcast topic dump b --wait 1` starts the delivery" in run("topic", "stats", "b").err
    )
    switch.side_effect = None
    assert run("topic", "dump", "b", "--wait", "1").code == 0
    assert not is_stopped(url, aws.sqs, aws.mappings)


def test_dead_letters_are_redriven_to_a_topic(run: Run, aws: MotoAws) -> None:
    url = queue(aws, topic := make(aws, "b", **LOGIN))
    letters = aws.queue("Bucketcast-webhook-primary-dead")
    (packed,) = pack([Delivery("r1", event(key="k"))], 1)
    assert not Queue(letters, aws.sqs).send([dead_letter(packed.body, "no", target="t")])
    ran = run("dlq", "redrive", "webhook:primary", "--to", topic.arn)
    assert (ran.code, ran.out) == (0, f"1 event sent to {topic.target_arn}\n"), ran.err
    (found,) = received(aws.sqs, url)
    assert [one.event.key for one in unpack(found["Body"])[1]] == ["k"]
    once = make(aws, "once", push_endpoint="http://h/")
    for to, expected in ((once.arn, "it is not persistent"), (f"{once.arn}x", "no topic oncex")):
        ran = run("dlq", "redrive", "webhook:primary", "--to", to)
        assert (ran.code, expected in ran.err) == (1, True), ran.err


def test_deleting_twice_is_no_error_and_removes_the_queue(run: Run, aws: MotoAws) -> None:
    make(aws, "b", **LOGIN)
    assert run("topic", "rm", "b").out == "Deleted b\n"
    assert run("topic", "rm", "b").out == "No such topic: b\n"
    assert Table(TABLE, aws.dynamodb).targets() == []


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("get", "b"), 1, "no topic b; `bucketcast topic ls` lists them"),
        (("get", "b", "--tenant", "acme"), 1, "no topic b of the tenant acme"),
        (("stats", "a"), 1, "has no queue: it is not persistent"),
        (("dump", "a"), 1, "has no queue: it is not persistent"),
        (("get", "arn:aws:sqs:x"), 2, "TopicArn: found 'arn:aws:sqs:x'"),
    ],
)
def test_what_cannot_be_says_so(
    run: Run, aws: MotoAws, words: tuple[str, ...], code: int, expected: str
) -> None:
    make(aws, "a", push_endpoint="http://h/")
    ran = run("topic", *words)
    assert (ran.code, expected in ran.err) == (code, True), ran.err
