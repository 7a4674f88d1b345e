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
from bucketcast.delivery.envelope import MAX_BYTES
from tests.unit.made import received, recorded

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

TOKEN, CEPH_TOKEN, THIRD_TOKEN = "hunter2", "swordfish", "third"
SOURCES = [
    {"name": "berlin", "token": "secret:berlin#token", "dialect": "minio", "buckets": ["pl*"]},
    {"name": "rgw", "token": "secret:rgw", "dialect": "ceph", "buckets": ["plain", "vers"]},
    {"name": "other", "token": "secret:other", "dialect": "s3", "buckets": ["*"]},
]
MINIO, CEPH = recorded("minio/object-created-put"), recorded("ceph/object-created-put")
ENVIRON = {
    "BUCKETCAST_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/1/x",
    "BUCKETCAST_SOURCES": json.dumps(SOURCES),
}
Handler = Callable[[Mapping[str, Any], Any], dict[str, Any]]


class Entry:
    """The ingress queue, the secret, and the handler as Lambda would load it."""

    def __init__(self, sqs: "SQSClient", build: Callable[[Mapping[str, str]], Handler]) -> None:
        self.sqs = sqs
        self.url = sqs.create_queue(QueueName="Bucketcast-ingress")["QueueUrl"]
        self.handler = build({**ENVIRON, "BUCKETCAST_QUEUE_URL": self.url})

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
    manager.create_secret(Name="berlin", SecretString=json.dumps({"token": TOKEN}))
    manager.create_secret(Name="rgw", SecretString=CEPH_TOKEN)
    manager.create_secret(Name="other", SecretString=THIRD_TOKEN)
    parameters.clear_caches()  # type: ignore[no-untyped-call]
    for name, text in ENVIRON.items():
        monkeypatch.setenv(name, text)
    return Entry(sqs, import_module("functions.entry.handler").build)


def basic(password: str, user: str = "rgw") -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    ("body", "token"), [(MINIO, TOKEN), (MINIO.encode(), TOKEN), (CEPH, CEPH_TOKEN)]
)
@pytest.mark.parametrize("how", ["bearer", "plain", "basic", "nobody"])
def test_a_notification_is_in_the_queue_as_it_was_posted(
    entry: Entry, body: str | bytes, token: str, how: str
) -> None:
    logins = {
        "bearer": f"Bearer {token}",
        "plain": token,
        "basic": basic(token),
        "nobody": basic(token, ""),
    }
    assert entry.post(body, logins[how]) == (200, {"status": "received"})
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
def test_a_wrong_token_is_refused_with_the_hint(entry: Entry, login: str) -> None:
    status, answer = entry.post(MINIO, login)
    assert status == 401
    assert "Authorization: Bearer TOKEN" in answer["error"]
    assert TOKEN not in json.dumps(answer)
    assert entry.queued() == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", "no JSON object"),
        ("[]", "no JSON object"),
        ('{"hello": 1}', "no known event"),
        (b"\xff", "not UTF-8"),
        (MINIO.replace('"bucket"', '"bukket"'), "broken"),
    ],
)
def test_what_is_no_notification_is_refused_with_its_reason(
    entry: Entry, body: str | bytes, expected: str
) -> None:
    status, answer = entry.post(body)
    assert status == 400
    assert expected in answer["error"]
    assert entry.queued() == []


def of(body: str, bucket: str) -> str:
    return body.replace('"name": "plain"', f'"name": "{bucket}"')


TWO = json.dumps({"Records": [json.loads(of(MINIO, b))["Records"][0] for b in ("plain", "mine")]})


@pytest.mark.parametrize(
    ("body", "token", "expected"),
    [
        (CEPH, TOKEN, "the token of berlin is for minio; found ceph"),
        (MINIO, CEPH_TOKEN, "the token of rgw is for ceph; found minio"),
        (recorded("s3/delete"), TOKEN, "the token of berlin is for minio; found s3"),
        (recorded("eventbridge/object-created"), THIRD_TOKEN, "is for s3; found eventbridge"),
        (of(MINIO, "uploads"), TOKEN, "is for the buckets pl*; found 'uploads'"),
        (of(CEPH, "plain-too"), CEPH_TOKEN, "is for the buckets plain, vers; found 'plain-too'"),
        (TWO, TOKEN, "found 'mine'"),
        (MINIO.replace('"userAgent": "', '"userAgent": "Bucketcast '), TOKEN, "'Bucketcast '"),
    ],
)
def test_a_token_is_valid_for_its_own_source_only(
    entry: Entry, body: str, token: str, expected: str
) -> None:
    """Else a site could remove what another has: its sequencers are whatever it writes."""
    status, answer = entry.post(body, f"Bearer {token}")
    assert status == 403
    assert expected in answer["error"]
    assert entry.queued() == []


def test_one_secret_that_is_away_stops_its_own_source_only(entry: Entry) -> None:
    boto3.client("secretsmanager").delete_secret(SecretId="rgw", ForceDeleteWithoutRecovery=True)
    assert entry.post(MINIO)[0] == 200
    assert entry.post(CEPH, f"Bearer {CEPH_TOKEN}")[0] == 503


def test_what_no_message_can_hold_is_refused(entry: Entry) -> None:
    status, answer = entry.post(MINIO + " " * MAX_BYTES)
    assert status == 413
    assert f"{MAX_BYTES:,}" in answer["error"]


def test_only_posts_are_accepted(entry: Entry) -> None:
    assert entry.post(MINIO, method="GET")[0] == 405


def test_a_body_without_events_is_accepted_and_dropped(entry: Entry) -> None:
    assert entry.post(recorded("s3/test-event"))[0] == 200
    assert entry.queued() == []


def test_what_sqs_would_refuse_in_a_key_arrives_escaped(entry: Entry) -> None:
    body = CEPH.replace('"key": "', '"key": "\uffff', 1)
    assert body != CEPH
    assert entry.post(body, f"Bearer {CEPH_TOKEN}")[0] == 200
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
    boto3.client("secretsmanager").delete_secret(SecretId="berlin", ForceDeleteWithoutRecovery=True)
    assert entry.post(MINIO)[0] == 503
