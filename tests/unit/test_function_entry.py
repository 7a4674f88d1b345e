"""The entry's function: who may post what, and what is in the queue after it."""

import base64
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from aws_lambda_powertools.utilities import parameters

from bucketcast import sources
from bucketcast.envelope import MAX_BYTES
from tests.unit.made import received, recorded

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

TOKEN = "hunter2"
MINIO, CEPH = recorded("minio/object-created-put"), recorded("ceph/object-created-put")
Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


class Entry:
    """The ingress queue, the secret, and the handler as Lambda would load it."""

    def __init__(self, sqs: "SQSClient", build: Callable[[Mapping[str, str]], Handler]) -> None:
        self.sqs = sqs
        self.url = sqs.create_queue(QueueName="Bucketcast-ingress")["QueueUrl"]
        environ = {"BUCKETCAST_QUEUE_URL": self.url, "BUCKETCAST_TOKEN": "secret:entry#token"}
        self.handler = build(environ)

    def post(
        self, body: str | bytes, authorization: str = f"Bearer {TOKEN}", method: str = "POST"
    ) -> tuple[int, dict[str, str]]:
        event = {
            "requestContext": {"http": {"method": method}},
            "headers": {"authorization": authorization} if authorization else {},
            "body": base64.b64encode(body).decode() if isinstance(body, bytes) else body,
            "isBase64Encoded": isinstance(body, bytes),
        }
        answer = self.handler(event, None)
        return answer["statusCode"], json.loads(answer["body"])

    def queued(self) -> list[str]:
        return [message["Body"] for message in received(self.sqs, self.url)]


@pytest.fixture
def entry(sqs: "SQSClient", monkeypatch: pytest.MonkeyPatch) -> Entry:
    manager = boto3.client("secretsmanager")
    manager.create_secret(Name="entry", SecretString=json.dumps({"token": TOKEN}))
    parameters.clear_caches()  # type: ignore[no-untyped-call]
    monkeypatch.setenv("BUCKETCAST_QUEUE_URL", "https://sqs.eu-central-1.amazonaws.com/1/x")
    monkeypatch.setenv("BUCKETCAST_TOKEN", "secret:entry#token")
    return Entry(sqs, import_module("functions.entry.handler").build)


def basic(password: str, user: str = "rgw") -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize("body", [MINIO, CEPH, MINIO.encode()])
@pytest.mark.parametrize("login", [f"Bearer {TOKEN}", TOKEN, basic(TOKEN), basic(TOKEN, "")])
def test_a_notification_is_in_the_queue_as_it_was_posted(
    entry: Entry, body: str | bytes, login: str
) -> None:
    assert entry.post(body, login) == (200, {"status": "received"})
    assert entry.queued() == [body.decode() if isinstance(body, bytes) else body]


@pytest.mark.parametrize(
    "login",
    [
        "",
        "Bearer ",
        "Bearer hunter3",
        f"Digest {TOKEN}",
        "Basic %%%",
        basic("hunter3"),
        basic("", TOKEN),
        "Bearer naïve",
    ],
)
def test_whoever_does_not_know_the_token_is_told_how_to_send_it(entry: Entry, login: str) -> None:
    status, answer = entry.post(MINIO, login)
    assert status == 401
    assert "Authorization: Bearer TOKEN" in answer["error"]
    assert TOKEN not in json.dumps(answer)
    assert entry.queued() == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "no JSON object"),
        ("[]", "no JSON object"),
        ('{"hello": 1}', "no known event"),
        (b"\xff", "not UTF-8"),
        (MINIO.replace('"bucket"', '"bukket"'), "broken"),
    ],
)
def test_what_is_no_notification_is_refused_with_its_reason(
    entry: Entry, body: str | bytes, said: str
) -> None:
    status, answer = entry.post(body)
    assert status == 400
    assert said in answer["error"]
    assert entry.queued() == []


def test_what_no_message_can_hold_is_refused(entry: Entry) -> None:
    status, answer = entry.post(MINIO + " " * MAX_BYTES)
    assert status == 413
    assert f"{MAX_BYTES:,}" in answer["error"]


def test_only_posts_are_taken(entry: Entry) -> None:
    assert entry.post(MINIO, method="GET")[0] == 405


def test_a_body_without_events_is_taken_and_dropped(entry: Entry) -> None:
    assert entry.post(recorded("s3/test-event"))[0] == 200
    assert entry.queued() == []


def test_what_sqs_would_refuse_in_a_key_arrives_escaped(entry: Entry) -> None:
    body = CEPH.replace('"key": "', '"key": "\uffff', 1)
    assert body != CEPH
    assert entry.post(body)[0] == 200
    (queued,) = entry.queued()
    assert "\uffff" not in queued
    (event,) = sources.events(queued)
    assert event.key.startswith("\uffff")


def test_a_queue_that_does_not_take_it_makes_the_sender_send_again(entry: Entry) -> None:
    entry.sqs.delete_queue(QueueUrl=entry.url)
    status, answer = entry.post(MINIO)
    assert status == 503
    assert "send it again" in answer["error"]


def test_a_secret_that_cannot_be_read_is_no_fault_of_the_sender(entry: Entry) -> None:
    boto3.client("secretsmanager").delete_secret(SecretId="entry", ForceDeleteWithoutRecovery=True)
    assert entry.post(MINIO)[0] == 503
