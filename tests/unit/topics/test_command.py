"""`bucketcast topic`, with the fields of `radosgw-admin topic`."""

import pytest

from bucketcast.delivery.dead_letters import Dead, write
from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Queue
from bucketcast.rules import Rule
from bucketcast.state.counters import Counts
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import Topic
from tests.unit.conftest import Run, cells
from tests.unit.dynamic_targets.account import add_dynamic_targets, put_topic
from tests.unit.moto_aws import DYNAMIC, TABLE, MotoAws
from tests.unit.samples import event, received

HTTP = {"push-endpoint": "http://h/"}
LOGIN = {"push-endpoint": "https://u:hunter2@h/x", "persistent": "true", "OpaqueData": "me"}


@pytest.fixture(autouse=True)
def with_dynamic(aws: MotoAws) -> None:
    add_dynamic_targets(aws)


def queues(topic: Topic) -> tuple[str, str]:
    """The URLs of a topic's queue and of its dead-letter queue."""
    return DYNAMIC.url(topic.queue), DYNAMIC.url(topic.dead)


def test_ls_shows_owners_and_buckets_of_topics(run: Run, aws: MotoAws) -> None:
    put_topic(aws, "a", HTTP)
    hook = put_topic(aws, "b", LOGIN, "acme", "bob")
    for bucket, disabled in (("uploads", False), ("archive", True)):
        rule = Rule(bucket=bucket, arn=hook.arn, events=("put",), disabled=disabled)
        aws.rules.add(rule)
    rows = cells(run("topic", "ls").out)
    assert rows[1:] == [
        ["arn:aws:sns:r::a", "ann", "http://h/", "no", "-"],
        ["arn:aws:sns:r:acme:b", "acme$bob", "https://h/x", "yes", "uploads"],
    ]
    listed = run("topic", "ls", "--tenant", "acme", "--json").document["topics"]
    for named in (["b"], ["--topic", "b"], ["--topic=b"]):  # the last two are radosgw-admin's
        document = run("topic", "get", *named, "--tenant", "acme", "--json").document
        assert {"status": "success", **listed[0]} == document
    assert [run("topic", "get", *names).code for names in ([], ["b", "--topic", "b"])] == [2, 2]
    assert len(listed) == 1
    assert [
        topic["name"] for topic in run("topic", "ls", "--uid", "ann", "--json").document["topics"]
    ]
    assert run("topic", "ls", "--uid", "eve").out == ""


def test_a_sick_topic_is_named_where_its_target_is_shown(run: Run, aws: MotoAws) -> None:
    topic = put_topic(aws, "b", {**HTTP, "persistent": "true"})
    aws.answers["Bucketcast-dynamic-webhook"] = {"online": True, "why": "", "where": "h"}
    assert topic.arn in [row[0] for row in cells(run("target", "ls").out)]
    (listed,) = (
        target
        for target in run("target", "ls", "--json").document["targets"]
        if target["arn"] == topic.arn
    )
    assert listed["topic"] == topic.arn
    alarms = aws.cloudwatch.describe_alarms()["MetricAlarms"]
    assert len(alarms) == 2
    for alarm in alarms:
        assert alarm["AlarmDescription"].startswith(f"{topic.arn}: ")


def test_get_shows_radosgw_admins_fields_without_the_login(run: Run, aws: MotoAws) -> None:
    put_topic(aws, "b", {**LOGIN, "max_retries": "3"}, "acme", "bob")
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
    for line in ("persistent: yes", "time_to_live: -", "max_retries: 3", "subscribed_buckets: -"):
        assert f"{line}\n" in printed
    assert not {"True", "None", "[]", "''"}.intersection(printed.split())


def dead_letter(aws: MotoAws, url: str, body: str) -> None:
    letter = Dead(body, History(), "Rejected", "no")
    assert not write([letter], Queue(url, aws.sqs), "t")


def test_stats_reports_the_counts_of_sqs(run: Run, aws: MotoAws) -> None:
    topic = put_topic(aws, "b", LOGIN)
    url, dead = queues(topic)
    waiting = [Delivery("n1", event(key=f"k{number}"), named=True) for number in range(4)]
    bodies = [packed.body for entry in waiting for packed in pack([entry])]
    for body in bodies[:3]:
        aws.sqs.send_message(QueueUrl=url, MessageBody=body)
    aws.sqs.send_message(QueueUrl=url, MessageBody=bodies[3], DelaySeconds=900)
    aws.sqs.receive_message(QueueUrl=url, VisibilityTimeout=600)
    dead_letter(aws, dead, bodies[0])
    aws.counters.add(topic.arn, Counts(sent=5, failed=2, dead=1))
    for _ in range(2):
        assert run("topic", "stats", "b", "--json").document == {
            "status": "success",
            "Topic Stats": {"Entries": 4},
            "messages": 4,
            "visible": 2,
            "in_flight": 1,
            "delayed": 1,
            "dead_letters": 1,
            "pushed": 5,
            "failed": 2,
            "dead": 1,
        }
    assert run("topic", "stats", "b").out.splitlines() == [
        "4 messages waiting: 2 visible, 1 in flight, 1 delayed",
        "1 message in the dead-letter queue",
        "5 events pushed, 2 failed attempts, 1 dead",
    ]


def test_dead_letters_are_redriven_to_a_topic(run: Run, aws: MotoAws) -> None:
    url, _ = queues(topic := put_topic(aws, "b", LOGIN))
    letters = aws.queue("Bucketcast-webhook-primary-dead")
    (packed,) = pack([Delivery("r1", event(key="k"))])
    dead_letter(aws, letters, packed.body)
    ran = run("dlq", "redrive", "webhook:primary", "--to", topic.arn)
    assert (ran.code, ran.out) == (0, f"1 event sent to {topic.arn}\n"), ran.err
    (message,) = received(aws.sqs, url)
    assert [entry.event.key for entry in unpack(message["Body"])] == ["k"]
    once = put_topic(aws, "once", HTTP)
    for to, expected in (
        (once.arn, "it is not persistent"),
        (f"{once.arn}x", "there is no such topic"),
    ):
        assert expected in run("dlq", "redrive", "webhook:primary", "--to", to).said(1)


def test_rm_removes_the_queue_and_may_be_repeated(run: Run, aws: MotoAws) -> None:
    put_topic(aws, "b", LOGIN)
    assert "all events that wait in its queue?" in run("topic", "rm", "b").said(2)
    assert Table(TABLE, aws.dynamodb).targets()
    assert run("topic", "rm", "b", "--yes").out == "Deleted b\n"
    assert run("topic", "rm", "b").out == "No such topic: b\n"
    assert Table(TABLE, aws.dynamodb).targets() == []


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("get", "b"), 1, "no topic b; `bucketcast topic ls` lists them"),
        (("get", "b", "--tenant", "acme"), 1, "no topic b of the tenant acme"),
        (("stats", "a"), 1, "the topic a is not persistent: it has no queue"),
        (("stats", "c"), 1, "the topic c has no push-endpoint: it has no queue"),
        (("get", "arn:aws:sqs:x"), 2, "invalid ARN 'arn:aws:sqs:x': the form is arn:aws:sns:"),
    ],
)
def test_invalid_commands_name_the_reason(
    run: Run, aws: MotoAws, words: tuple[str, ...], code: int, expected: str
) -> None:
    put_topic(aws, "a", HTTP)
    put_topic(aws, "c", {"persistent": "true"})
    assert expected in run("topic", *words).said(code)
