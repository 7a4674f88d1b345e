"""`bucketcast topic`, with the fields of `radosgw-admin topic`."""

import json

import pytest
from msgspec.structs import asdict, replace

from bucketcast.envelope import Delivery, pack
from bucketcast.rules import Rule
from bucketcast.store.counters import Counters, Counts
from bucketcast.store.rules import Rules
from bucketcast.store.runtime.table import Table
from bucketcast.store.topics.opened import topics_of
from bucketcast.store.topics.topics import Wanted
from bucketcast.topics.attributes import checked
from bucketcast.topics.model import Topic, TopicArn
from tests.unit.cli.conftest import Run, cells
from tests.unit.fake_aws import REGION, TABLE, FakeAws, _client
from tests.unit.made import event
from tests.unit.runtime_targets import ACCOUNT, RUNTIME, make_functions

HERE = replace(
    RUNTIME,
    queues=f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}",
    queue_arns=f"arn:aws:sqs:{REGION}:{ACCOUNT}",
)
LOGIN = {"push-endpoint": "https://u:hunter2@h/x", "persistent": "true", "OpaqueData": "me"}


@pytest.fixture(autouse=True)
def with_runtime(aws: FakeAws) -> None:
    aws.outputs["RuntimeOutput"] = json.dumps(asdict(HERE))
    aws.mappings = _client("lambda")
    aws.secretsmanager = _client("secretsmanager")
    aws.s3 = _client("s3")
    make_functions(_client("iam"), aws.mappings)


def make(aws: FakeAws, name: str, tenant: str = "", owner: str = "ann", **given: str) -> Topic:
    attributes = checked({key.replace("push_", "push-"): text for key, text in given.items()})
    topics = topics_of("Bucketcast", TABLE, aws)
    return topics.put(TopicArn("r", tenant, name), lambda *_: Wanted(owner, attributes))


def queue(aws: FakeAws, topic: Topic) -> str:
    made = Table(TABLE, aws.dynamodb).target(topic.target_arn)
    assert made is not None
    _forget_mappings(made.queue)
    return HERE.url(made.queue)


def _forget_mappings(name: str) -> None:
    from moto.sqs.models import sqs_backends  # noqa: PLC0415 - after the clients

    sqs_backends[ACCOUNT][REGION].queues[name].lambda_event_source_mappings.clear()


def test_topics_are_listed_with_whose_they_are_and_who_names_them(run: Run, aws: FakeAws) -> None:
    make(aws, "a", push_endpoint="http://h/")
    hook = make(aws, "b", "acme", "bob", **LOGIN)
    aws.s3.create_bucket(Bucket="uploads")
    Rules(TABLE, aws.dynamodb).add(Rule(bucket="uploads", arn=hook.arn, events=("put",)))
    rows = cells(run("topic", "ls").out)
    assert rows[1:] == [
        ["arn:aws:sns:r::a", "ann", "http://h/", "no", "-"],
        ["arn:aws:sns:r:acme:b", "acme$bob", "https://h/x", "yes", "uploads"],
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
    run: Run, aws: FakeAws, call: tuple[str, ...]
) -> None:
    """Without it ingest would keep the topic's events, and send none."""
    topic = make(aws, "b", push_endpoint="http://h/x", persistent="true")
    there = Table(TABLE, aws.dynamodb).target(topic.target_arn)
    refused = run("target", call[0], f"webhook:{topic.id}", *call[1:])
    assert refused.code == 1
    assert "change or remove the topic" in refused.err
    assert Table(TABLE, aws.dynamodb).target(topic.target_arn) == there


def test_topics_are_listed_in_pages(run: Run, aws: FakeAws) -> None:
    for name in ("a", "b", "c"):
        make(aws, name)
    page = run("topic", "ls", "--max-entries", "2", "--json").document
    assert ([each["name"] for each in page["topics"]], page["truncated"]) == (["a", "b"], True)
    rest = run("topic", "ls", "--max-entries", "2", "--marker", page["marker"], "--json").document
    assert [each["name"] for each in rest["topics"]] == ["c"]
    assert "truncated" not in rest


def test_a_topic_is_shown_in_radosgw_admin_s_fields_without_its_login(
    run: Run, aws: FakeAws
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
    shown = run("topic", "get", "b", "--tenant", "acme").out
    assert "push_endpoint: https://h/x\n" in shown
    assert "hunter2" not in shown


def test_what_waits_is_counted_and_shown_and_stays(run: Run, aws: FakeAws) -> None:
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
            "Topic Stats": {"Reservations": 0, "Entries": 3},
            "pushed": 5,
            "failed": 2,
            "dead": 1,
        }
        found = run("topic", "dump", "b", "--json").document
        records = [each["entry"]["event"] for each in found["entries"]]
        assert sorted(each["s3"]["object"]["key"] for each in records) == ["k0", "k1", "k2"]
        assert {each["opaqueData"] for each in records} == {"me"}
        assert found["hidden_messages"] == 0
    assert len(run("topic", "dump", "b", "--max-entries", "1").out.splitlines()) == 1


def test_deleting_is_no_error_twice_and_takes_the_queue(run: Run, aws: FakeAws) -> None:
    make(aws, "b", **LOGIN)
    assert run("topic", "rm", "b").out == "Deleted b\n"
    assert run("topic", "rm", "b").out == "There was no topic b\n"
    assert Table(TABLE, aws.dynamodb).targets() == []


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("get", "b"), 1, "no topic b: `bucketcast topic ls` shows all"),
        (("get", "b", "--tenant", "acme"), 1, "no topic b of the tenant acme"),
        (("stats", "a"), 1, "has no queue: it is not persistent"),
        (("dump", "a"), 1, "has no queue: it is not persistent"),
        (("get", "arn:aws:sqs:x"), 2, "TopicArn: found 'arn:aws:sqs:x'"),
    ],
)
def test_what_cannot_be_says_so(
    run: Run, aws: FakeAws, words: tuple[str, ...], code: int, said: str
) -> None:
    make(aws, "a", push_endpoint="http://h/")
    ran = run("topic", *words)
    assert (ran.code, said in ran.err) == (code, True), ran.err
