"""The function of a kind, called for the queues of many run-time targets."""

import json
import time
from importlib import import_module
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bucketcast.aws import secrets
from bucketcast.delivery.envelope import unpack
from bucketcast.delivery.retries import RENEW_AFTER
from bucketcast.errors import NotAuthorized
from tests.unit.made import received
from tests.unit.runtime_targets import RUNTIME, Account
from tests.unit.test_function_dispatch import SECONDS, Context, Fake, Handler, body, invocation

TOKEN = {"endpoint": "https://example.org/hook", "auth_token": "one"}


class Runtime:
    """The account, and the webhooks' function as Lambda would load it."""

    def __init__(self, account: Account, handler: Handler) -> None:
        self.account = account
        self.handler = handler

    def put(self, id_: str, **values: str) -> str:
        """Make a target; the name of its queue."""
        targets = self.account.targets()
        return targets.put("webhook", id_, {**TOKEN, **values}).target.queue

    def __call__(self, queue: str, *messages: str) -> list[str]:
        event = invocation(*messages)
        for record in event["Records"]:
            record["eventSourceARN"] = RUNTIME.arn(queue)
        answer = self.handler(event, Context(60 * SECONDS))
        return [each["itemIdentifier"] for each in answer["batchItemFailures"]]

    def probe(self, arn: str) -> dict[str, Any]:
        return self.handler({"probe": True, "target": arn}, Context(60 * SECONDS))


def webhooks_environ(state_table: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Set and return what Lambda gives the webhooks' function; `Fake` and its secrets are new."""
    secrets.forget()
    Fake.sent, Fake.answers = [], {}
    environ = {
        "BUCKETCAST_KIND": "webhook",
        "BUCKETCAST_STATE_TABLE": state_table,
        "BUCKETCAST_QUEUES": RUNTIME.queues,
        "BUCKETCAST_QUEUE_PREFIX": f"{RUNTIME.prefix}webhook-",
        "POWERTOOLS_SERVICE_NAME": "dispatch",
    }
    for name, text in environ.items():
        monkeypatch.setenv(name, text)
    return environ


@pytest.fixture
def runtime(state_table: str, monkeypatch: pytest.MonkeyPatch) -> Runtime:
    environ = webhooks_environ(state_table, monkeypatch)
    module = import_module("functions.dispatch.runtime")
    return Runtime(Account(state_table), module.build(environ, lambda _: Fake))


def test_each_queue_goes_to_its_own_target(runtime: Runtime) -> None:
    first, second = runtime.put("a-1", auth_token="one"), runtime.put("a", auth_token="two")
    assert runtime(first, body("x")) == []
    assert runtime(second, body("y")) == []
    assert runtime(first, body("z")) == []
    assert Fake.sent == [("one", ["x"]), ("two", ["y"]), ("one", ["z"])]


def test_new_settings_apply_from_the_next_batch(runtime: Runtime) -> None:
    queue = runtime.put("audit", auth_token="one")
    runtime(queue, body("x"))
    runtime.put("audit", auth_token="two")
    assert runtime(queue, body("y")) == []
    assert Fake.sent == [("one", ["x"]), ("two", ["y"])]


def test_a_secret_replaced_while_a_batch_is_under_way_is_found(runtime: Runtime) -> None:
    queue = runtime.put("audit", auth_token="one")
    Fake.answers = {"x": NotAuthorized("who are you")}
    replaced: list[str] = []

    def send(self: Fake, events: Any) -> Any:
        if not replaced:
            replaced.append(runtime.put("audit", auth_token="two"))
            return {0: NotAuthorized("who are you")}
        Fake.sent.append((self.settings.auth_token.reveal(), [each.key for each in events]))
        return {}

    class Late(Fake):
        pass

    Late.send = send  # type: ignore[method-assign]
    runtime.handler._kind = Late  # type: ignore[attr-defined]
    assert runtime(queue, body("x")) == []
    assert Fake.sent == [("two", ["x"])]


def test_messages_of_a_target_that_is_gone_wait(runtime: Runtime) -> None:
    queue = runtime.put("audit")
    runtime.account.fill(queue)
    removed = runtime.account.targets()
    (target,) = runtime.account.table.targets()
    from bucketcast.destination import TargetArn  # noqa: PLC0415 - only here

    removed.remove(TargetArn.parse(target.arn))
    (message,) = runtime.account.sqs.receive_message(QueueUrl=RUNTIME.url(queue))["Messages"]
    event = invocation(message["Body"])
    event["Records"][0] |= {
        "eventSourceARN": RUNTIME.arn(queue),
        "receiptHandle": message["ReceiptHandle"],
    }
    answer = runtime.handler(event, Context(60 * SECONDS))
    assert answer == {"batchItemFailures": [{"itemIdentifier": "0"}]}
    assert Fake.sent == []


def waiting(runtime: Runtime, queue: str, receives: int) -> tuple[list[int], list[str]]:
    """The pauses of a message whose target is not on, and what is to be seen again."""
    event = invocation(body("x", reason="busy"))
    event["Records"][0]["eventSourceARN"] = RUNTIME.arn(queue)
    event["Records"][0]["attributes"] = {
        "SentTimestamp": str(round(time.time() * 1_000) - 60_000),
        "ApproximateReceiveCount": str(receives),
    }
    pauses: list[int] = []

    def note(params: Any, **_: Any) -> None:
        pauses.extend(entry["VisibilityTimeout"] for entry in params["Entries"])

    events = runtime.handler._sqs.meta.events  # type: ignore[attr-defined]
    name = "provide-client-params.sqs.ChangeMessageVisibilityBatch"
    events.register(name, note)
    answer = runtime.handler(event, Context(60 * SECONDS))
    events.unregister(name, note)
    return pauses, [each["itemIdentifier"] for each in answer["batchItemFailures"]]


def test_pause_of_a_message_whose_target_is_not_on_grows(runtime: Runtime) -> None:
    """Every five seconds it was received a thousand times in 83 minutes."""
    queue = runtime.put("audit", enable="off")
    for receives, least, most in ((1, 1, 5), (12, 600, 1_200), (RENEW_AFTER - 1, 600, 1_200)):
        ((seconds,), stay) = waiting(runtime, queue, receives)
        assert least <= seconds <= most
        assert stay == ["0"]


def test_messages_wait_while_the_table_does_not_answer(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were received every 90 seconds; after a day SQS moved all of them, without a reason."""
    queue = runtime.put("audit")

    def denied(_: str) -> None:
        raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetItem")

    monkeypatch.setattr(runtime.handler._table, "target", denied)  # type: ignore[attr-defined]
    ((seconds,), stay) = waiting(runtime, queue, 12)
    assert seconds >= 600
    assert stay == ["0"]
    assert Fake.sent == []


def test_aged_messages_whose_target_is_not_on_are_sent_again_ten_a_call(runtime: Runtime) -> None:
    queue = runtime.put("audit", enable="off")
    event = invocation(*(body(f"key-{number}", reason="busy") for number in range(10)))
    sent = str(round(time.time() * 1_000) - 60_000)
    for each in event["Records"]:
        each["eventSourceARN"] = RUNTIME.arn(queue)
        each["attributes"] = {"SentTimestamp": sent, "ApproximateReceiveCount": str(RENEW_AFTER)}
    calls: list[str] = []
    events = runtime.handler._sqs.meta.events  # type: ignore[attr-defined]
    events.register("before-call.sqs", lambda model, **_: calls.append(model.name))
    assert runtime.handler(event, Context(60 * SECONDS)) == {"batchItemFailures": []}
    assert calls == ["SendMessageBatch"]
    again = [unpack(each["Body"]) for each in received(runtime.account.sqs, RUNTIME.url(queue))]
    keys = {delivery.event.key for _, deliveries in again for delivery in deliveries}
    assert keys == {f"key-{number}" for number in range(10)}
    # To wait for the target is no try.
    assert {(envelope.reason, envelope.attempts) for envelope, _ in again} == {("busy", 0)}
    assert Fake.sent == []


def test_what_is_refused_is_buried_beside_its_own_queue(runtime: Runtime) -> None:
    from bucketcast.errors import Rejected  # noqa: PLC0415 - only here

    queue = runtime.put("audit")
    Fake.answers = {"x": Rejected("too long")}
    assert runtime(queue, body("x", "y")) == []
    (letter,) = received(runtime.account.sqs, RUNTIME.url(f"{queue}-dead"))
    assert letter["texts"]["target"] == "arn:minio:sqs::audit:webhook"
    assert letter["texts"]["reason"] == "too long"


def test_counts_and_traces_name_the_target(
    runtime: Runtime, capsys: pytest.CaptureFixture[str]
) -> None:
    runtime(runtime.put("audit"), body("x"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["target"] for line in lines if "_aws" in line or "trace" in line] == [
        "arn:minio:sqs::audit:webhook"
    ] * 2


def test_probe_is_of_one_target(runtime: Runtime) -> None:
    runtime.put("audit")
    assert runtime.probe("arn:minio:sqs::audit:webhook") == {
        "online": True,
        "why": "",
        "where": "https://example.org/hook",
    }
    assert "was removed" in runtime.probe("arn:minio:sqs::other:webhook")["why"]


def test_the_connections_that_are_kept_have_a_limit(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("functions.dispatch.runtime")
    monkeypatch.setattr(module, "KEPT", 2)
    queues = [runtime.put(name) for name in ("a", "b", "c")]
    closed: list[str] = []
    monkeypatch.setattr(Fake, "close", lambda _: closed.append("one"))
    for queue in queues:
        assert runtime(queue, body("x")) == []
    assert closed == ["one"]
    assert len(runtime.handler._served) == 2  # type: ignore[attr-defined]
