"""Dispatch's handler, as Lambda calls it, between a queue and each real server.

SQS and Secrets Manager are answered inside the process; target, client and server are real.
"""

import io
import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import boto3
import pytest
from moto import mock_aws

from bucketcast import telemetry
from bucketcast.aws import secrets
from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.event import Event
from bucketcast.settings.types import REFERENCE
from bucketcast.shapes import minio
from bucketcast.targets.base import Target
from tests.contract.case import (
    HANGS_AFTER,
    SHORT_TIMEOUT,
    Case,
    bounded,
    event,
    events,
    path_of,
)
from tests.servers import Settings


class Context:
    """An invocation with five minutes left."""

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 300_000


@dataclass
class Function:
    """A target's queue with its dispatch function, and what Lambda does between them."""

    case: Case
    settings: Settings
    """With references where the options are secret."""
    queue: str = field(init=False)
    dead: str = field(init=False)
    targets: list[Target] = field(default_factory=list)
    """All that were made: Lambda never closes the last one, it ends."""

    def __post_init__(self) -> None:
        self.sqs, self.secrets = boto3.client("sqs"), boto3.client("secretsmanager")
        self.queue, self.dead = (
            self.sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("own", "dead")
        )
        module = import_module("functions.dispatch.handler")
        kind, targets = self.case.kind, self.targets

        class Kept(kind):  # type: ignore[valid-type,misc]  # made at run time
            def __init__(self, settings: Any) -> None:
                super().__init__(settings)
                targets.append(self)

        self.handler = module.build(
            {
                "BUCKETCAST_KIND": self.case.layout.kind,
                "BUCKETCAST_ID": "primary",
                "BUCKETCAST_SETTINGS": json.dumps(self.settings),
                "BUCKETCAST_QUEUE_URL": self.queue,
                "BUCKETCAST_DEAD_QUEUE_URL": self.dead,
            },
            lambda _: Kept,
        )

    def put(self, batch: Sequence[Event]) -> None:
        deliveries = [Delivery("rule", event_) for event_ in batch]
        for packed in pack(deliveries):
            self.sqs.send_message(QueueUrl=self.queue, MessageBody=packed.body)

    def invoke(self) -> list[str]:
        """Hand over what can be seen in the queue; the ids of what is to stay there."""
        records = [_record(message) for message in self._seen()]
        answer = bounded(lambda: self.handler({"Records": records}, Context()))
        stay = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]
        for record in records:
            if record["messageId"] not in stay:
                receipt = record["receiptHandle"]
                self.sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=receipt)
        return stay

    def probe(self) -> dict[str, Any]:
        answer: dict[str, Any] = bounded(lambda: self.handler({"probe": True}, Context()))
        return answer

    def look(self, number: int) -> set[str]:
        """Look into the queue until so many events were seen; their paths."""
        seen: set[str] = set()
        end = time.monotonic() + HANGS_AFTER
        while len(seen) < number and time.monotonic() < end:
            for message in self._seen(0):
                seen |= paths([delivery.event for delivery in unpack(message["Body"])])
        return seen

    def waiting(self) -> int:
        return self._count(self.queue)

    def dead_letter(self) -> int:
        return self._count(self.dead)

    def _count(self, url: str) -> int:
        answer = self.sqs.get_queue_attributes(
            QueueUrl=url,
            AttributeNames=[
                "ApproximateNumberOfMessages",
                "ApproximateNumberOfMessagesNotVisible",
                "ApproximateNumberOfMessagesDelayed",
            ],
        )
        return sum(int(text) for text in answer["Attributes"].values())

    def _seen(self, hidden: int = 30) -> list[Any]:
        end = time.monotonic() + HANGS_AFTER
        while time.monotonic() < end:
            answer = self.sqs.receive_message(
                QueueUrl=self.queue,
                MaxNumberOfMessages=10,
                VisibilityTimeout=hidden,
                MessageAttributeNames=["All"],
                MessageSystemAttributeNames=["All"],
                WaitTimeSeconds=5,
            )
            if answer.get("Messages"):
                return list(answer["Messages"])
        pytest.fail(f"no message came back to the queue within {HANGS_AFTER:.0f} s")


def _record(message: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:Bucketcast-target",
        "attributes": message["Attributes"],
        "messageAttributes": {
            name: {"stringValue": attribute["StringValue"], "dataType": "String"}
            for name, attribute in message.get("MessageAttributes", {}).items()
        },
    }


@pytest.fixture
def aws(server_case: Case, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    wanted = {
        "AWS_REGION": "eu-central-1",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "POWERTOOLS_SERVICE_NAME": "dispatch",
        # Importing the handler's module makes a handler, of a target that is never used.
        "BUCKETCAST_KIND": server_case.layout.kind,
        "BUCKETCAST_ID": "unused",
        "BUCKETCAST_SETTINGS": "{}",
        "BUCKETCAST_QUEUE_URL": "unused",
        "BUCKETCAST_DEAD_QUEUE_URL": "unused",
    }
    for name, text in wanted.items():
        monkeypatch.setenv(name, text)
    secrets.forget()
    with mock_aws():
        yield


@pytest.fixture
def function(
    server_case: Case,
    aws: None,  # noqa: ARG001 - it answers
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Function]:
    logged = io.StringIO()
    for handler in telemetry.logger.handlers:
        monkeypatch.setattr(handler, "stream", logged)
    caplog.set_level(logging.INFO, logger="botocore")  # below it logs what Secrets Manager says
    texts = server_case.layout_settings(server_case.supported(SHORT_TIMEOUT))
    function = Function(server_case, with_references(server_case, texts))
    yield function
    for target in function.targets:
        target.close()
    metrics = capsys.readouterr()
    seen = [
        *server_case.seen_secrets(logged.getvalue()),
        *server_case.seen_secrets(metrics.out + metrics.err),
    ]
    assert seen == []


def with_references(server_case: Case, texts: Settings) -> Settings:
    """The texts with each secret in Secrets Manager, under the option's name."""
    manager = boto3.client("secretsmanager")
    secret = [key for key, text in texts.items() if text and server_case.options[key].secret]
    for key in secret:
        manager.create_secret(Name=key, SecretString=texts[key])
    return {**texts, **{key: f"{REFERENCE}{key}" for key in secret}}


def arrived(function: Function) -> set[str]:
    return {path_of(arrival) for arrival in function.case.arrivals()}


def paths(batch: Sequence[Event]) -> set[str]:
    return {minio.path(event_) for event_ in batch}


def test_what_is_in_the_queue_arrives(function: Function) -> None:
    batch = [*events(300), event("größe 😀/a+b%.jpg")]
    function.put(batch)
    function.put(events(3, "other"))
    assert function.invoke() == []
    assert arrived(function) == paths([*batch, *events(3, "other")])
    assert (function.waiting(), function.dead_letter()) == (0, 0)


def test_events_wait_while_the_server_is_down(function: Function) -> None:
    function.put(events(5))
    function.case.server.stop()
    for _ in range(2):
        assert function.invoke() == [], "they go back in new messages, with the reason"
    answer = function.probe()
    assert (answer["online"], bool(answer["why"])) == (False, True)
    assert function.case.server.address in answer["where"]
    assert (function.look(5), function.dead_letter()) == (paths(events(5)), 0)
    function.case.server.start_again()
    while function.waiting():
        function.invoke()
    assert arrived(function) == paths(events(5))
    assert function.dead_letter() == 0


def test_a_server_that_ends_between_two_invocations_loses_nothing(function: Function) -> None:
    for number, change in enumerate(("kill", "start_again", "stop", "start_again")):
        function.put(events(5, f"before-{change}-{number}"))
        function.invoke()
        getattr(function.case.server, change)()
    while function.waiting():
        function.invoke()
    assert len(arrived(function)) == 4 * 5
    assert function.dead_letter() == 0


def test_a_rotated_secret_is_fetched_within_the_invocation(
    function: Function, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, wrong = function.case.layout_settings(), function.case.server.wrong_password_settings()
    changed = [key for key in wrong if wrong[key] != right[key]]
    assert changed
    assert all(function.settings[key].startswith(REFERENCE) for key in changed)
    for key in changed:
        function.secrets.put_secret_value(SecretId=key, SecretString=wrong[key])
    function.put(events(5))
    assert (function.invoke(), function.waiting()) == ([], 1)
    assert arrived(function) == set()
    for key in changed:
        function.secrets.put_secret_value(SecretId=key, SecretString=right[key])
    monkeypatch.setattr(secrets, "FRESH_SECONDS", 0)  # the minute is over
    assert function.invoke() == []
    assert arrived(function) == paths(events(5))


def test_a_probe_sends_nothing(function: Function) -> None:
    answer = function.probe()
    assert (answer["online"], answer["why"]) == (True, "")
    assert function.case.server.address in answer["where"]
    assert function.case.arrivals() == []
