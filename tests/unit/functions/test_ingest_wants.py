"""What ingest's function adds for the destinations that want it: facts, and uncovered versions."""

import json
import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import pytest

from bucketcast.delivery.envelope import unpack
from bucketcast.destination import TargetArn, TopicArn
from bucketcast.event import Event
from bucketcast.rules import Rule
from bucketcast.rules.conditions import Condition
from bucketcast.settings.environment import ANY_BUCKET, ObjectFacts
from bucketcast.shapes.ceph import writer
from bucketcast.state.rules import Rules
from bucketcast.topics.attributes import parse_attributes
from bucketcast.topics.aws.topics import DesiredTopic
from tests.contract.oracle import visible
from tests.unit.dynamic_targets.account import Account
from tests.unit.functions.test_ingest import build
from tests.unit.ingest.versioned_bucket import VersionedBucket
from tests.unit.moto_aws import DYNAMIC, REGION
from tests.unit.samples import lambda_context, message, received, record, sqs_record

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

HOOK, MIRROR = TargetArn("hook", "webhook"), TargetArn("mirror", "redis")
DYNAMIC_MIRROR = TargetArn("copy", "postgresql")
TOPIC = TopicArn(REGION, "acme", "news")
EVENTS = ("s3:ObjectCreated:*", "s3:ObjectRemoved:*")
POSTGRES = {"connection_string": "host=db user=u password=p dbname=d", "table": "t"}
FACTS = ObjectFacts(frozenset({ANY_BUCKET}), {}, frozenset({MIRROR.arn}), ("metadata", "tags"))


class Stack:
    """Ingest with two deployed targets, and the account in which dynamic ones are made."""

    def __init__(self, account: Account, s3: "S3Client", patch: pytest.MonkeyPatch) -> None:
        self.account, self.s3, self._patch = account, s3, patch
        self.urls: dict[str, str] = {}
        for name in ("ingress", "ingress-dead", "webhook-hook", "redis-mirror"):
            self._make_queue(f"Bucketcast-{name}")
        self._make_queue("Bucketcast-dynamic-webhook-once")
        self.rules = Rules(account.table_name, account.dynamodb)
        self.targets = account.targets()

    def _make_queue(self, name: str) -> None:
        self.urls[name] = self.account.sqs.create_queue(QueueName=name)["QueueUrl"]

    def add_dynamic(self, to: TargetArn, settings: Mapping[str, str]) -> None:
        target = self.targets.put(to.kind, to.id, settings).target
        self.urls[to.arn] = DYNAMIC.url(target.queue)

    def add_topic(self, **attributes: str) -> None:
        values = {"push-endpoint": "https://example.org/", **attributes}
        self.account.topics().put(TOPIC, lambda *_: DesiredTopic("ann", parse_attributes(values)))

    def add_rule(self, to: TargetArn | TopicArn, *conditions: Condition) -> None:
        self.rules.add(Rule(bucket="uploads", arn=to.plain, events=EVENTS, conditions=conditions))

    def handler(self, facts: ObjectFacts = FACTS) -> Callable[..., None]:
        handle = build(self._patch, self.urls["Bucketcast-ingress"], facts, HOOK.arn, MIRROR.arn)

        def call(*bodies: str) -> None:
            records = [sqs_record(body, number=number) for number, body in enumerate(bodies)]
            assert handle({"Records": records}, lambda_context()) == {"batchItemFailures": []}

        return call

    def sent(self, queue: str) -> list[Event]:
        """The events that wait in a queue, which are taken out of it."""
        events: list[Event] = []
        url = self.urls[queue]
        while found := received(self.account.sqs, url):
            for each in found:
                events += [delivery.event for delivery in unpack(each["Body"])]
                self.account.sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
        return events


@pytest.fixture
def stack(s3: "S3Client", state_table: str, monkeypatch: pytest.MonkeyPatch) -> Stack:
    s3.create_bucket(Bucket="uploads")
    return Stack(Account(state_table), s3, monkeypatch)


def put(stack: Stack, key: str = "a") -> str:
    made = stack.s3.put_object(
        Bucket="uploads",
        Key=key,
        Body=b"1",
        ContentType="text/x-red",
        Metadata={"color": "Blue"},
        Tagging="env=prod&team=red",
    )
    return message(record(key, s3__object__size=1, s3__object__eTag=made["ETag"].strip('"')))


RULES_OF_OTHERS = [
    (),
    (Condition("metadata:x-amz-meta-color", ("Blue",)),),
    (Condition("tag:team", ("red",)),),
]


@pytest.mark.parametrize("conditions", RULES_OF_OTHERS)
def test_a_topics_record_has_metadata_and_tags_as_rgws_has_unless_that_is_off(
    stack: Stack, conditions: tuple[Condition, ...]
) -> None:
    stack.add_topic()
    stack.add_rule(TOPIC)
    stack.add_rule(HOOK, *conditions)
    stack.handler()(put(stack))
    (event,) = stack.sent("Bucketcast-dynamic-webhook-once")
    (sent,) = json.loads(writer("")(event))["Records"]
    assert sent["s3"]["object"]["metadata"] == [{"key": "x-amz-meta-color", "val": "Blue"}]
    assert sent["s3"]["object"]["tags"] == [
        {"key": "env", "val": "prod"},
        {"key": "team", "val": "red"},
    ]
    (event,) = stack.sent("Bucketcast-webhook-hook")
    assert (event.metadata, event.tags, event.content_type) == (None, None, None)
    stack.handler(ObjectFacts(FACTS.buckets, FACTS.targets, FACTS.mirrors))(put(stack))
    (event,) = stack.sent("Bucketcast-dynamic-webhook-once")
    assert (event.metadata, event.tags) == (None, None)


@pytest.mark.parametrize("attributes", [None, {"push-endpoint": ""}])
def test_nothing_is_read_for_a_topic_that_gets_no_events(
    stack: Stack, attributes: dict[str, str] | None
) -> None:
    if attributes is not None:
        stack.add_topic(**attributes)
    stack.add_rule(TOPIC)
    body = put(stack)
    reads: list[str] = []
    stack.s3.meta.events.register("before-call.s3", lambda model, **_: reads.append(model.name))
    stack.handler()(body)
    assert reads == []


def test_a_dynamic_mirror_equals_the_listing_as_a_deployed_one_does(stack: Stack) -> None:
    """After any order of events; versions and markers were put, removed by their ids, uncovered."""
    stack.s3.put_bucket_versioning(Bucket="uploads", VersioningConfiguration={"Status": "Enabled"})
    stack.add_dynamic(DYNAMIC_MIRROR, POSTGRES)
    for to in (HOOK, MIRROR, DYNAMIC_MIRROR):
        stack.add_rule(to)
    chance = random.Random(1)  # noqa: S311 - no secret
    bucket, handle = VersionedBucket(stack.s3, chance), stack.handler()
    waiting: list[str] = []
    for _ in range(10):
        waiting += [message(bucket.changed()) for _ in range(20)]
        chance.shuffle(waiting)
        taken = [waiting.pop() for _ in range(chance.randint(1, len(waiting)))]
        handle(*taken)
        waiting += chance.sample(taken, len(taken) // 5)
    handle(*waiting)
    sent = {name: stack.sent(name) for name in (*QUEUES, DYNAMIC_MIRROR.arn)}
    reported = len(sent["Bucketcast-webhook-hook"])
    assert reported >= 200
    listing = bucket.listing()
    for name in ("Bucketcast-redis-mirror", DYNAMIC_MIRROR.arn):
        chance.shuffle(sent[name])
        assert len(sent[name]) > reported, "nothing was uncovered"
        assert rows(sent[name]) == listing
    assert rows(sent["Bucketcast-webhook-hook"]) != listing, "events alone would do"


def rows(events: list[Event]) -> dict[str, tuple[int, str]]:
    return {key: (row.size, row.etag) for key, row in visible(events).items()}


QUEUES = ("Bucketcast-webhook-hook", "Bucketcast-redis-mirror")
