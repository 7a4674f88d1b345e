"""Dispatch's function: settings and secrets in, the right answer to Lambda out."""

import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from bucketcast.aws import secrets
from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.delivery.policy import ATTRIBUTE, NO_ANSWER, History
from bucketcast.deployment import DeployedTarget
from bucketcast.deployment.health import Health
from bucketcast.deployment.status import Condition, condition
from bucketcast.errors import (
    DeliveryError,
    NotAuthorized,
    NotConnected,
    RefusesAll,
    Rejected,
    Retryable,
    Throttled,
    TimedOut,
    name_of,
)
from bucketcast.event import Event
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counters, Counts, Last
from bucketcast.targets import base
from bucketcast.targets.webhook import Target as Webhook
from tests.awslambda.function import variables_of
from tests.unit.moto_aws import TABLE
from tests.unit.samples import RELEASED, TIME, event, lambda_context, received, sqs_record

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

ARN = "arn:minio:sqs::primary:webhook"
QUEUE = "Bucketcast-webhook-primary"
Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


class Fake(Webhook):
    """The webhook's options, and a target that answers by the keys it is sent."""

    sent: list[tuple[str, list[str]]]
    errors: dict[str, DeliveryError]

    def send(self, events: Sequence[Event]) -> base.Failures:
        keys = [each.key for each in events]
        self.sent.append((self.settings.auth_token.reveal(), keys))
        return {n: self.errors[key] for n, key in enumerate(keys) if key in self.errors}

    def probe(self) -> None:
        if "probe" in self.errors:
            raise self.errors["probe"]


class Dispatch:
    """A target's queues, its secret, and the handler as Lambda would load it."""

    def __init__(self, module: ModuleType, sqs: "SQSClient") -> None:
        self.sqs = sqs
        self.secretsmanager = boto3.client("secretsmanager")
        self.secretsmanager.create_secret(Name="hook", SecretString='{"token": "hunter2"}')
        self.own, self.dead = (
            sqs.create_queue(QueueName=name)["QueueUrl"]
            for name in ("Bucketcast-webhook-primary", "Bucketcast-webhook-primary-dead")
        )
        self.settings = {"endpoint": "https://example.org/hook", "auth_token": "secret:hook#token"}
        self.module = module
        self.more: dict[str, str] = {}

    @property
    def environ(self) -> dict[str, str]:
        return {
            "BUCKETCAST_KIND": "webhook",
            "BUCKETCAST_ID": "primary",
            "BUCKETCAST_SETTINGS": json.dumps(self.settings),
            "BUCKETCAST_QUEUE_URL": self.own,
            "BUCKETCAST_DEAD_QUEUE_URL": self.dead,
            **self.more,
        }

    def handler(self) -> Handler:
        made: Handler = self.module.build(self.environ, lambda _: Fake)
        return made

    def __call__(self, *messages: str) -> list[str]:
        answer = self.handler()(invocation(*messages), lambda_context())
        assert answer.keys() == {"batchItemFailures"}
        return [each["itemIdentifier"] for each in answer["batchItemFailures"]]


def invocation(*bodies: str, history: History | None = None, age: int = 0) -> dict[str, Any]:
    """Return what Lambda passes of messages with these bodies, sent so many seconds ago."""
    sent = round((time.time() - age) * 1_000)
    told = {ATTRIBUTE: history.json} if history and history.json else {}
    made = [
        sqs_record(body, number=index, queue=QUEUE, sent=sent, beside=told)
        for index, body in enumerate(bodies)
    ]
    return {"Records": made}


def body(*keys: str) -> str:
    return next(pack([Delivery("rule", event(key)) for key in keys])).body


@pytest.fixture
def dispatch(sqs: "SQSClient", monkeypatch: pytest.MonkeyPatch) -> Dispatch:
    secrets.forget()
    Fake.sent, Fake.errors = [], {}
    for name, text in variables_of("dispatch", "webhook").items():
        monkeypatch.setenv(name, text)
    module = import_module("functions.dispatch.handler")
    return Dispatch(module, sqs)


@pytest.fixture
def counting(
    dispatch: Dispatch, dynamodb: Any, state_table: str, monkeypatch: pytest.MonkeyPatch
) -> Dispatch:
    """It has the state table, too."""
    monkeypatch.setattr(boto3, "client", lambda name, **_: getattr(dispatch, name, dynamodb))
    dispatch.more = {"BUCKETCAST_STATE_TABLE": state_table}
    return dispatch


def test_failed_events_go_back_or_are_dead_lettered(dispatch: Dispatch) -> None:
    Fake.errors = {"b": Rejected("too long"), "c": Retryable("busy"), "d": Retryable("busy")}
    assert dispatch(body("a", "b"), body("c"), body("d", "e"), "rubbish") == []
    (back,) = received(dispatch.sqs, dispatch.own, wait=2)
    assert [each.event.key for each in unpack(back["Body"])] == ["c", "d"]
    history = History.read(back["texts"][ATTRIBUTE])
    assert (history.reason, history.error, history.tries) == ("busy", "Retryable", 1)
    dead = received(dispatch.sqs, dispatch.dead)
    assert {each["texts"]["target"] for each in dead} == {ARN}
    assert {each["texts"]["reason"].partition(":")[0] for each in dead} == {
        "too long",
        "no envelope of Bucketcast",
    }


def test_what_release_1_0_0_left_in_the_queue_is_sent_once(
    dispatch: Dispatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One event, some that failed before, a message full of them, and one redriven."""
    monkeypatch.setattr("time.time", lambda: 1_800_000_000.0)
    Fake.errors = {"photos/0002.jpg": Retryable("busy")}
    waiting = [
        sqs_record(each["body"], number=number, queue=QUEUE, beside=each["attributes"])
        for number, each in enumerate(RELEASED["messages"])
    ]
    assert dispatch.handler()({"Records": waiting}, lambda_context()) == {"batchItemFailures": []}
    sent = sorted(key for _, keys in Fake.sent for key in keys)
    assert sent == [f"photos/{number:04}.jpg" for number in range(1_001)]
    (back,) = received(dispatch.sqs, dispatch.own, wait=9)
    assert [each.event.key for each in unpack(back["Body"])] == ["photos/0002.jpg"]
    assert History.read(back["texts"][ATTRIBUTE]).tries == 3
    assert received(dispatch.sqs, dispatch.dead) == []


@pytest.mark.parametrize(
    "report",
    [
        "bucketcast.delivery.tracing.dispatched",
        "bucketcast.telemetry._write",
        "functions.dispatch.batch.histogram",
    ],
)
def test_a_report_that_fails_holds_up_no_event(
    dispatch: Dispatch,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    report: str,
) -> None:
    """They were delivered again and again."""

    def fail(*_: Any) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(report, fail)
    monkeypatch.setattr("bucketcast.telemetry.REPORTED_AGE_SECONDS", -1)
    assert dispatch(body("a")) == []
    assert [keys for _, keys in Fake.sent] == [["a"]]
    assert received(dispatch.sqs, dispatch.own) == []
    assert "a report is missing" in caplog.text


@pytest.mark.parametrize(("seconds", "said"), [(59, []), (61, [61])])
def test_a_long_wait_is_written_before_anything_is_sent(
    dispatch: Dispatch,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    seconds: int,
    said: list[int],
) -> None:
    """A function that dies of what it sends has written it."""

    def dies(*_: Any) -> base.Failures:
        raise SystemExit

    monkeypatch.setattr(Fake, "send", dies)
    with pytest.raises(SystemExit):
        dispatch.handler()(invocation(body("a"), age=seconds), lambda_context())
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["OldestEventAge"] for line in lines if "OldestEventAge" in line] == said
    assert {line["queue"] for line in lines if "OldestEventAge" in line} <= {QUEUE}


def test_outcome_and_latency_are_measured_by_target(
    dispatch: Dispatch, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put = datetime.fromisoformat(TIME).timestamp()
    monkeypatch.setattr("time.time", lambda: put + 2)
    Fake.errors = {"c": Retryable("busy"), "d": Rejected("too long")}
    dispatch(body("a", "b", "c", "d"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (metric,) = [line for line in lines if "_aws" in line]
    assert metric["target"] == ARN
    assert [metric[f"Events{each}"] for each in ("Delivered", "Retried", "Dead")] == [2, 1, 1]
    latency = metric["DeliveryLatency"]
    assert (latency["Counts"], latency["Count"]) == ([2], 2)
    assert latency["Values"] == [pytest.approx(2_000, rel=0.12)]
    (metrics,) = [each["Metrics"] for each in metric["_aws"]["CloudWatchMetrics"]]
    assert {"Name": "DeliveryLatency"} in metrics


@pytest.mark.parametrize(
    "error",
    [
        *(each("it says so") for each in (NotConnected, NotAuthorized, TimedOut, Retryable)),
        Throttled("slower", 1),
        RefusesAll("no"),
        Rejected("no such album"),
        Rejected.anywhere("too long"),
    ],
    ids=lambda error: f"{name_of(error)}{error.may_be_settings}",
)
def test_target_that_takes_nothing_is_not_online(
    counting: Dispatch, dynamodb: Any, error: DeliveryError
) -> None:
    Fake.errors = dict.fromkeys("abcd", error)
    event = invocation(body("a", "b"), body("c"), body("d"))
    found, last = condition_after(event, counting, dynamodb)
    assert (found.state, last.taken, last.reason) == ("failing", 0, str(error))


def test_target_whose_function_ends_with_every_batch_is_not_online(
    counting: Dispatch, dynamodb: Any
) -> None:
    event = invocation(body("a"), body("b", "c"), body("new"))
    for record in event["Records"][:2]:
        record["attributes"]["ApproximateReceiveCount"] = "4"
    found, last = condition_after(event, counting, dynamodb)
    assert found == Condition("failing", last.failure)
    assert (Fake.sent, last.reason, last.left) == ([], NO_ANSWER, last.oldest)


def condition_after(
    event: Mapping[str, Any], dispatch: Dispatch, dynamodb: Any
) -> tuple[Condition, Last]:
    """Return the target's condition after a call, and what is stored of it."""
    dispatch.handler()(event, lambda_context())
    target = DeployedTarget(ARN, "webhook", "primary", "f", dispatch.own, dispatch.dead)
    health = Health(online=True, waiting=4, dead=0)
    last = Counters(TABLE, lambda: dynamodb).read_last()[ARN]
    outage = Breakers(TABLE, lambda: dynamodb).read().get(ARN)
    return condition(target, health, outage, last), last


def probe(dispatch: Dispatch) -> dict[str, Any]:
    return dispatch.handler()({"probe": True}, lambda_context())


def test_probe_shortens_long_errors(dispatch: Dispatch) -> None:
    Fake.errors = {"probe": NotConnected("a page: " + "x" * 5_000 + " (see endpoint)")}
    why = probe(dispatch)["why"]
    assert len(why) == 600
    assert why.startswith("a page: ")
    assert why.endswith(" (see endpoint)")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"auth_token": "secret:nowhere"}, "auth_token: the secret 'nowhere' cannot be read"),
        ({"timeout": "secret:hook#token"}, "timeout: allowed is a duration with its unit"),
    ],
)
def test_secret_that_is_of_no_use_is_an_outcome_and_not_shown(
    dispatch: Dispatch,
    capsys: pytest.CaptureFixture[str],
    settings: dict[str, str],
    expected: str,
) -> None:
    dispatch.settings |= settings
    answer = probe(dispatch)
    assert not answer["online"]
    assert expected in answer["why"]
    assert dispatch(body("a")) == []
    assert Fake.sent == []
    assert "hunter2" not in json.dumps(answer) + "".join(capsys.readouterr())


def test_secret_fetched_again_is_used(dispatch: Dispatch) -> None:
    handler = dispatch.handler()
    handler(invocation(body("a")), lambda_context())
    dispatch.secretsmanager.put_secret_value(SecretId="hook", SecretString='{"token": "new"}')
    assert probe(dispatch)["online"]  # it asks for fresh secrets, which all then use
    assert dispatch(body("b")) == []
    assert Fake.sent == [("hunter2", ["a"]), ("new", ["b"])]


def test_a_batch_is_counted_where_there_is_a_table(counting: Dispatch, dynamodb: Any) -> None:
    Fake.errors = {"b": Rejected("too long"), "c": Retryable("busy")}
    handler = counting.handler()
    handler(invocation(body("a", "b"), body("c")), lambda_context())
    counters = Counters(TABLE, lambda: dynamodb)
    assert counters.read() == {ARN: Counts(sent=1, failed=1, dead=1)}
    handler(invocation(body("d")), lambda_context(get_remaining_time_in_millis=lambda: 500))
    assert counters.read()[ARN].sent == 1, "a killed function would send it again"
    handler(invocation(body("e")), lambda_context())
    assert counters.read()[ARN].sent == 3


def test_a_pause_is_seen_and_obeyed(counting: Dispatch, dynamodb: Any) -> None:
    handler = counting.handler()
    request = {"pause": True, "target": ARN}
    assert handler(request, lambda_context()) == {"paused": False}
    Breakers(TABLE, lambda: dynamodb).pause(ARN, round(time.time() * 1_000))
    assert handler(request, lambda_context()) == {"paused": True}
    assert handler(invocation(body("a")), lambda_context()) == {"batchItemFailures": []}
    assert Fake.sent == []
    (waiting,) = received(counting.sqs, counting.own, wait=10)
    assert "paused since" in History.read(waiting["texts"][ATTRIBUTE]).reason


@pytest.mark.parametrize(("referring", "services"), [(True, 3), (False, 2)])
def test_doctor_lists_unreachable_services_of_aws_first(
    dispatch: Dispatch,
    monkeypatch: pytest.MonkeyPatch,
    referring: bool,  # noqa: FBT001 - a case
    services: int,
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        dispatch.settings["endpoint"] = url
        if not referring:
            del dispatch.settings["auth_token"]
        asked = {"probe": True, "doctor": True}
        found = dispatch.handler()(asked, lambda_context())["findings"]
    assert [each["check"] for each in found[: services + 1]] == ["aws"] * services + ["settings"]
    assert all("in a VPC it needs" in each["hint"] for each in found[:services])
    assert found[services]["status"] == ("error" if referring else "ok")
