"""Functions without a way to AWS: they say so soon, and what they need."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from bucketcast.aws import function_clients, secrets
from bucketcast.errors import NotAuthorized

SECONDS = 60.0
"""How soon a function says that it has no way to a service."""
SERVICES = ("DYNAMODB", "SECRETS_MANAGER", "SQS")


@pytest.fixture
def login(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def nowhere(login: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:  # noqa: ARG001
    """Services whose packets are dropped, as in a subnet without a route."""
    with ExitStack() as stack:
        hole = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):  # once its queue is full, the kernel answers nobody
            line = stack.enter_context(socket.socket())
            line.settimeout(0)
            line.connect_ex(hole.getsockname())
        url = f"http://127.0.0.1:{hole.getsockname()[1]}"
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        secrets.forget()
        yield
    secrets.forget()


def test_a_call_without_a_way_to_its_service_fails_soon_and_names_the_cure(
    nowhere: None,  # noqa: ARG001
    caplog: pytest.LogCaptureFixture,
) -> None:
    sqs, dynamodb = map(function_clients.client, ("sqs", "dynamodb"))
    calls: list[Callable[[], Any]] = [
        lambda: secrets.resolve({"auth_token": "secret:hook"}),
        lambda: sqs.send_message(QueueUrl="https://queue", MessageBody="body"),
        lambda: dynamodb.get_item(TableName="state", Key={"bucket": {"S": "b"}}),
    ]
    pool = ThreadPoolExecutor()
    started = [pool.submit(call) for call in calls]
    errors = [str(each.exception(SECONDS)) for each in started]
    pool.shutdown(wait=False)
    needs = "in a VPC it needs a NAT gateway or"
    assert errors[0].startswith("auth_token: the secret 'hook' cannot be read: Connect timeout")
    for error, cure in zip(
        errors,
        (
            f"{needs} an interface endpoint for Secrets Manager",
            f"{needs} an interface endpoint for SQS",
            f"{needs} a gateway endpoint for DynamoDB",
        ),
        strict=True,
    ):
        assert error.endswith(cure)
        assert any(vars(line)["reason"].endswith(cure) for line in caplog.records)


def test_a_refused_call_names_no_cure(mocked_aws: None) -> None:  # noqa: ARG001
    secrets.forget()
    with pytest.raises(NotAuthorized) as refused:
        secrets.resolve({"auth_token": "secret:nowhere"})
    assert "VPC" not in str(refused.value)


def test_services_are_tried_one_by_one(login: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        for service, at in zip(SERVICES, (server, closed, closed), strict=True):
            url = f"http://127.0.0.1:{at.getsockname()[1]}"
            monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service}", url)
        found = list(function_clients.find_unreachable(("sqs", "dynamodb", "secretsmanager")))
    assert [each.found.partition(" at ")[0] for each in found] == ["SQS", "Secrets Manager"]
    assert {(each.check, each.status) for each in found} == {("aws", "error")}
    assert found[0].hint.endswith("an interface endpoint for SQS")
