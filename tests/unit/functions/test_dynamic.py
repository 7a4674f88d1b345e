"""The function of a kind, called for the queues of many dynamic targets."""

import json
from importlib import import_module
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bucketcast.aws import secrets
from bucketcast.delivery.policy import ATTRIBUTE, History
from bucketcast.destination import TargetArn
from bucketcast.errors import NotAuthorized
from tests.unit.dynamic_targets.account import Account
from tests.unit.functions.test_dispatch import Fake, Handler, body, invocation
from tests.unit.moto_aws import DYNAMIC
from tests.unit.samples import lambda_context, received

TOKEN = {"endpoint": "https://example.org/hook", "auth_token": "one"}


class DynamicFunction:
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
            record["eventSourceARN"] = DYNAMIC.arn(queue)
        answer = self.handler(event, lambda_context())
        return [each["itemIdentifier"] for each in answer["batchItemFailures"]]

    def probe(self, arn: str) -> dict[str, Any]:
        return self.handler({"probe": True, "target": arn}, lambda_context())


def webhooks_environ(state_table: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Set and return what Lambda gives the webhooks' function; `Fake` and its secrets are new."""
    secrets.forget()
    Fake.sent, Fake.errors = [], {}
    environ = {
        "BUCKETCAST_KIND": "webhook",
        "BUCKETCAST_STATE_TABLE": state_table,
        "BUCKETCAST_QUEUES": DYNAMIC.queues,
        "BUCKETCAST_QUEUE_PREFIX": DYNAMIC.prefix,
        "POWERTOOLS_SERVICE_NAME": "dispatch",
    }
    for name, text in environ.items():
        monkeypatch.setenv(name, text)
    return environ


@pytest.fixture
def setup(state_table: str, monkeypatch: pytest.MonkeyPatch) -> DynamicFunction:
    environ = webhooks_environ(state_table, monkeypatch)
    module = import_module("functions.dispatch.dynamic")
    return DynamicFunction(Account(state_table), module.build(environ, lambda _: Fake))


def test_new_settings_apply_from_the_next_batch(setup: DynamicFunction) -> None:
    queue = setup.put("audit", auth_token="one")
    setup(queue, body("x"))
    setup.put("audit", auth_token="two")
    assert setup(queue, body("y")) == []
    assert Fake.sent == [("one", ["x"]), ("two", ["y"])]


def test_a_secret_replaced_while_a_batch_is_under_way_is_found(setup: DynamicFunction) -> None:
    queue = setup.put("audit", auth_token="one")
    Fake.errors = {"x": NotAuthorized("who are you")}
    replaced: list[str] = []

    def send(self: Fake, events: Any) -> Any:
        if not replaced:
            replaced.append(setup.put("audit", auth_token="two"))
            return {0: NotAuthorized("who are you")}
        Fake.sent.append((self.settings.auth_token.reveal(), [each.key for each in events]))
        return {}

    class Late(Fake):
        pass

    Late.send = send  # type: ignore[method-assign]
    setup.handler._kind = Late  # type: ignore[attr-defined]
    assert setup(queue, body("x")) == []
    assert Fake.sent == [("two", ["x"])]


@pytest.mark.parametrize("how", ["off", "removed", "unknown"])
def test_messages_wait_while_their_target_is_not_there(
    setup: DynamicFunction, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """It is no try."""
    queue = setup.put("audit", **({"enable": "off"} if how == "off" else {}))
    if how == "removed":
        setup.account.fill(queue)
        (target,) = setup.account.table.targets()
        setup.account.targets().remove(TargetArn.parse(target.arn))
        received(setup.account.sqs, DYNAMIC.url(queue))  # what filled it is out of sight now
    if how == "unknown":

        def denied(_: str) -> None:
            raise ClientError({"Error": {"Code": "AccessDeniedException"}}, "GetItem")

        monkeypatch.setattr(setup.handler._table, "get", denied)  # type: ignore[attr-defined]
    assert setup(queue, body("x")) == []
    assert Fake.sent == []
    (waiting,) = received(setup.account.sqs, DYNAMIC.url(queue), wait=2)
    history = History.read(waiting["texts"][ATTRIBUTE])
    assert (history.tries, history.reason) == (0, "")


def test_counts_and_traces_name_the_target(
    setup: DynamicFunction, capsys: pytest.CaptureFixture[str]
) -> None:
    setup(setup.put("audit"), body("x"))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["target"] for line in lines if "_aws" in line or "trace" in line] == [
        "arn:minio:sqs::audit:webhook"
    ] * 2


def test_probe_is_of_one_target(setup: DynamicFunction) -> None:
    setup.put("audit")
    assert setup.probe("arn:minio:sqs::audit:webhook") == {
        "online": True,
        "why": "",
        "where": "https://example.org/hook",
    }
    assert "was removed" in setup.probe("arn:minio:sqs::other:webhook")["why"]


def test_number_of_kept_connections_is_limited(
    setup: DynamicFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("functions.dispatch.batch.MAX_ENGINES", 2)
    queues = [setup.put(name) for name in ("a", "b", "c")]
    closed: list[str] = []
    monkeypatch.setattr(Fake, "close", lambda _: closed.append("one"))
    for queue in queues:
        assert setup(queue, body("x")) == []
    assert closed == ["one"]
