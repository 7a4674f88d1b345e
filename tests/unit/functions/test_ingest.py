"""Ingest's function, from the messages that Lambda hands over to what waits for each target."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from bucketcast import sources
from bucketcast.delivery.envelope import unpack
from bucketcast.delivery.policy import ATTRIBUTE, History
from bucketcast.ingest.intake import Counts as IngestCounts
from bucketcast.ingest.intake import Intake
from bucketcast.limits import COUNT_SECONDS
from bucketcast.listen.aws.listeners import Listeners
from bucketcast.listen.aws.listeners import Table as ListenerTable
from bucketcast.listen.listener import ListenFilter
from bucketcast.rules import Rule
from bucketcast.settings.environment import DeployedTargets, ObjectFacts
from bucketcast.state.counters import Counters, Counts
from bucketcast.state.rules import Rules
from tests.unit.moto_aws import TABLE as STATE_TABLE
from tests.unit.samples import depth, lambda_context, message, received, record, sqs_record

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

HOOK = "arn:minio:sqs::primary:webhook"
TABLE = "arn:minio:sqs::_:postgresql"
LOST = "arn:minio:sqs::lost:redis"
DAY = 86_400
Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


@dataclass
class Ingest:
    """The deployed part of ingest, and the handler as Lambda would load it."""

    handler: Handler
    rules: Rules
    sqs: "SQSClient"
    urls: dict[str, str]

    def __call__(self, *bodies: str) -> list[str]:
        """Return the ids of the messages to be seen again, which are their indexes."""
        records = [_record(n, body) for n, body in enumerate(bodies)]
        return self.handle(*records)

    def handle(self, *records: Mapping[str, Any], context: Any = None) -> list[str]:
        answer = self.handler({"Records": records}, context or lambda_context())
        assert answer.keys() == {"batchItemFailures"}
        return [each["itemIdentifier"] for each in answer["batchItemFailures"]]

    def put(self, arn: str = HOOK, *, prefix: str = "", bucket: str = "uploads") -> None:
        self.rules.add(Rule(bucket=bucket, arn=arn, events=("s3:ObjectCreated:*",), prefix=prefix))

    def keys(self, queue: str) -> list[list[str]]:
        found = received(self.sqs, self.urls[queue])
        return [[each.event.key for each in unpack(one["Body"])] for one in found]

    def waiting(self) -> list[dict[str, Any]]:
        """The messages in the ingress queue, as Lambda hands them over; they are taken out."""
        found: list[dict[str, Any]] = []
        end = time.monotonic() + 180
        while not found and time.monotonic() < end:
            for each in received(self.sqs, self.urls["ingress"]):
                one = sqs_record(each["Body"], beside=each["texts"])
                found.append(one | {"messageId": each["MessageId"]})
                self.sqs.delete_message(
                    QueueUrl=self.urls["ingress"], ReceiptHandle=each["ReceiptHandle"]
                )
        return found

    def any_waiting(self) -> bool:
        return any(depth(self.sqs, self.urls["ingress"], which) for which in ("", "Delayed"))

    def dead(self) -> list[dict[str, Any]]:
        return received(self.sqs, self.urls["ingress-dead"])


def _record(index: int, body: str, age: float = 0.0, to: str = "") -> dict[str, Any]:
    told = {ATTRIBUTE: History(to=to).json} if to else {}
    return sqs_record(body, number=index, sent=round((time.time() - age) * 1_000), beside=told)


def _keys(waiting: Mapping[str, Any]) -> list[str]:
    return [each.event.key for each in unpack(waiting["body"])]


@pytest.fixture
def ingest(
    sqs: "SQSClient",
    s3: "S3Client",
    dynamodb: "DynamoDBClient",
    state_table: str,
    monkeypatch: pytest.MonkeyPatch,
) -> Ingest:
    s3.create_bucket(Bucket="uploads")
    names = ("ingress", "ingress-dead", "webhook-primary", "postgres-_")
    urls = {name: sqs.create_queue(QueueName=f"Bucketcast-{name}")["QueueUrl"] for name in names}
    facts = ObjectFacts(frozenset({"uploads"}), {TABLE: ["tags"]})
    handler = build(monkeypatch, urls["ingress"], facts, HOOK, TABLE, LOST)
    return Ingest(handler, Rules(state_table, dynamodb), sqs, urls)


def build(patch: pytest.MonkeyPatch, ingress: str, facts: ObjectFacts, *targets: str) -> Handler:
    """Build the handler as Lambda does, with its queues beside this one."""
    environ = {
        "BUCKETCAST_STATE_TABLE": STATE_TABLE,
        "BUCKETCAST_TARGET_QUEUES": ingress.removesuffix("ingress") + "*",
        "BUCKETCAST_INGRESS_DEAD_QUEUE_URL": f"{ingress}-dead",
        "BUCKETCAST_OBJECT_FACTS": facts.to_text(),
        "BUCKETCAST_TARGETS": DeployedTargets.of(targets).to_text(),
        "AWS_LAMBDA_FUNCTION_NAME": "Bucketcast-ingest",
        "POWERTOOLS_SERVICE_NAME": "ingest",
    }
    for name, text in environ.items():  # the module builds a handler when it is imported
        patch.setenv(name, text)
    handler: Handler = import_module("functions.ingest.handler").build(environ)
    return handler


def test_broken_message_is_dead_lettered_with_its_reason(ingest: Ingest) -> None:
    ingest.put()
    rubbish = ["rubbish", "{}", message(record(s3__bucket__name="")), "x" * 1_048_576]
    assert ingest(message(record("a")), *rubbish, message(record("b"))) == []
    assert ingest.keys("webhook-primary") == [["a", "b"]]
    dead = ingest.dead()
    assert [each["Body"] for each in dead][:3] == rubbish[:3]
    assert json.loads(dead[3]["Body"]).keys() == {"zstd"}
    reasons = [each["texts"]["reason"] for each in dead]
    assert reasons[0].startswith("the message is not a JSON object")
    assert "no Records, s3:TestEvent or S3 detail-type" in reasons[1]
    assert "$.s3.bucket.name" in reasons[2]
    assert {each["texts"]["error"] for each in dead} == {"BadEvent"}


def test_counts_are_written_for_cloudwatch(
    ingest: Ingest, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest.put(prefix="a")
    ingest(message(record("a")), message(record("b")), "rubbish")
    lines = [text for text in capsys.readouterr().out.splitlines() if '"_aws"' in text]
    (counts,) = map(json.loads, lines)
    assert counts["target"] == "ingress"
    names = ("EventsReceived", "EventsMatched", "MessagesBroken")
    assert [counts[name] for name in names] == [2, 1, 1]


def test_silent_s3_leaves_time_to_send_other_events(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was waited for with each chunk: two took longer than the function may."""
    answered = threading.Event()
    monkeypatch.setattr(
        "bucketcast.ingest.aws.object_facts.ObjectReader._read", lambda *_: answered.wait(60)
    )
    ingest.put(TABLE)
    ingest.put(bucket="photos")
    other = message(record("b", s3__bucket__name="photos"))
    bodies = [message(record(key)) + " " * 700_000 for key in ("a", "c", "d")]
    end = time.monotonic() + 10.5
    context = lambda_context(get_remaining_time_in_millis=lambda: 1_000 * (end - time.monotonic()))
    try:
        records = [_record(n, body) for n, body in enumerate([*bodies, other])]
        assert ingest.handle(*records, context=context) == []
    finally:
        answered.set()
    assert context.get_remaining_time_in_millis() > 0
    assert ingest.keys("webhook-primary") == [["b"]]
    assert sorted(key for one in ingest.waiting() for key in _keys(one)) == ["a", "c", "d"]


def test_unreadable_addressed_message_stops_no_other(ingest: Ingest) -> None:
    ingest.put()
    strange = _record(0, "x", to="no arn")
    assert ingest.handle(strange, _record(1, message(record("a")))) == []
    assert ingest.keys("webhook-primary") == [["a"]]
    assert [each["Body"] for each in ingest.dead()] == ["x"]


def test_addressed_records_go_to_their_target_without_a_rule(
    ingest: Ingest, capsys: pytest.CaptureFixture[str]
) -> None:
    ingest.put()
    test = _record(0, message(record("a")), to=TABLE)
    assert ingest.handle(test, _record(1, message(record("b")))) == []
    assert ingest.keys("postgres-_") == [["a"]]
    assert ingest.keys("webhook-primary") == [["b"]]
    assert f'"{TABLE} bucketcast-test":[' in capsys.readouterr().out


def test_bug_of_ours_stops_one_message_only(
    ingest: Ingest, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(body: str) -> Any:
        if "poison" in body:
            raise KeyError("a bug")
        return read(body)

    ingest.put()
    read = sources.events
    monkeypatch.setattr("bucketcast.sources.events", stumble)
    assert ingest(message(record("a")), message(record("poison")), message(record("b"))) == []
    assert ingest.keys("webhook-primary") == [["a", "b"]]
    assert ingest.dead() == []
    (back,) = ingest.waiting()
    assert back["body"] == message(record("poison"))
    old = _record(1, message(record("poison")), age=13 * DAY + 60)
    assert ingest.handle(old) == []
    (letter,) = ingest.dead()
    assert letter["Body"] == message(record("poison"))
    assert letter["texts"]["reason"] == "unexpected KeyError: 'a bug'"
    created = History.read(letter["texts"][ATTRIBUTE]).created
    assert created == int(old["attributes"]["SentTimestamp"])


def test_events_are_counted_once_for_each_notification_of_a_topic(
    ingest: Ingest, dynamodb: "DynamoDBClient", state_table: str
) -> None:
    counters = Counters(state_table, lambda: dynamodb)
    assert counters.read_triggered() == 0
    for name in ("n1", "n2"):
        names = ("s3:ObjectCreated:*",)
        rule = Rule(bucket="uploads", arn="arn:aws:sns:r::t1", events=names, name=name)
        ingest.rules.add(rule)
    ingest.put(HOOK)
    assert ingest(message(record("a"), record("b"))) == []
    assert ingest(message(record("c"))) == []
    assert counters.read_triggered() == 6


@pytest.mark.parametrize("report", ["delivery.tracing.received", "telemetry._write"])
def test_a_report_that_fails_holds_up_no_event(
    ingest: Ingest,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    report: str,
) -> None:
    """They went to their targets again and again."""

    def fail(*_: Any) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(f"bucketcast.{report}", fail)
    ingest.put()
    assert ingest(message(record("a"))) == []
    assert ingest.keys("webhook-primary") == [["a"]]
    assert not ingest.any_waiting()
    assert "a report is missing" in caplog.text


def test_a_call_that_is_nearly_over_counts_nothing(
    ingest: Ingest,
    dynamodb: "DynamoDBClient",
    state_table: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would be killed while the table does not answer, and do all its work again."""
    gone = "arn:minio:sqs::gone:webhook"
    counters = Counters(state_table, lambda: dynamodb)
    ingest.put(gone)
    left = [30_000.0]

    def take_counts(intake: Intake) -> IngestCounts:
        left[0] = 1_000 * COUNT_SECONDS - 1
        return intake.counts

    context = lambda_context(get_remaining_time_in_millis=lambda: left[0])
    with monkeypatch.context() as late:
        late.setattr(Intake, "take_counts", take_counts)
        assert ingest.handle(_record(0, message(record("a"))), context=context) == []
    assert counters.read() == {}
    assert ingest(message(record("b"))) == []
    assert counters.read() == {gone: Counts(skipped=2)}


def test_listener_gets_events_and_a_removed_one_stops_no_other(
    ingest: Ingest, state_table: str, dynamodb: "DynamoDBClient"
) -> None:
    ingest.put()
    prefix = ingest.urls["ingress"].rpartition("/")[0]
    listeners = Listeners(
        "Bucketcast", ListenerTable(state_table, dynamodb), ingest.sqs, lambda: prefix
    )
    listeners.renew()
    stays, goes = (
        listeners.acquire(ListenFilter("anna", "uploads", ("s3:ObjectCreated:*",), key))
        for key in ("", "a")
    )
    assert ingest(message(record("a"))) == []
    # Its client went away, and ingest does not know it yet.
    ingest.sqs.delete_queue(QueueUrl=listeners.url(goes))
    assert ingest(message(record("ab"))) == []
    ingest.urls["heard"] = listeners.url(stays)
    assert ingest.keys("heard") == [["a"], ["ab"]]
    assert ingest.keys("webhook-primary") == [["a"], ["ab"]]
    # SQS may show a queue late to others: what it did not take comes again, for it alone.
    (back,) = ingest.waiting()
    listeners.remove(goes)
    assert ingest(message(record("c"))) == []
    assert ingest.handle(back) == []
    assert not ingest.any_waiting()
    assert ingest.keys("heard") == [["c"]]
    assert ingest.keys("webhook-primary") == [["c"]]


def test_event_knows_when_it_came(ingest: Ingest) -> None:
    ingest.put()
    old = _record(0, message(record("a")), age=5 * DAY)
    assert ingest.handle(old, _record(1, message(record("b")))) == []
    (found,) = received(ingest.sqs, ingest.urls["webhook-primary"])
    first, second = unpack(found["Body"])
    assert first.created == int(old["attributes"]["SentTimestamp"])
    assert second.created - first.created >= 4 * DAY * 1_000
