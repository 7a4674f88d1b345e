"""Dead letters of a target in moto's queues, and what is in these queues afterwards."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from bucketcast.aws.clients import Aws
from bucketcast.delivery import dead_letters
from bucketcast.delivery.dead_letters import Dead
from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Depth, Outgoing, Queue
from bucketcast.dlq.aws import queues, reader
from bucketcast.dlq.command import move as move_command
from tests.unit.moto_aws import MotoAws
from tests.unit.samples import depth, event, received

ARN = "arn:minio:sqs::primary:webhook"
OTHER = "arn:minio:sqs::main:postgresql"
DEAD = "Bucketcast-webhook-primary-dead"
OWN = "Bucketcast-webhook-primary"
TOPIC = "arn:aws:sns:us-east-1::mytopic"


def read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands not wait for letters."""
    monkeypatch.setattr(reader, "_WAIT_SECONDS", 0)
    monkeypatch.setattr(reader, "_AT_ONCE", 10)  # moto is not safe among threads
    monkeypatch.setattr(move_command, "CLOCK_SECONDS", 0)
    look = queues.snapshot

    def snapshot(queue: str, aws: Aws) -> tuple[int, Depth]:
        """As it is, but on a clock of milliseconds: what a test sent before is older."""
        _, depth = look(queue, aws)
        return round(time.time() * 1_000) + 1, depth

    monkeypatch.setattr(queues, "snapshot", snapshot)


def arrive(monkeypatch: pytest.MonkeyPatch, aws: MotoAws, send: Callable[[], None]) -> None:
    """Send more before each of the next calls that receive dead letters.

    A command that makes hundreds of them fails: it does not end.
    """
    receive = aws.sqs.receive_message
    calls: list[str] = []

    def received(**asked: Any) -> Any:
        assert len(calls) < 200
        calls.append(asked["QueueUrl"])
        time.sleep(0.002)
        send()
        return receive(**asked)

    monkeypatch.setattr(aws.sqs, "receive_message", received)


def dead_letter(body: str, reason: str, error: str = "", **history: Any) -> Outgoing:
    return dead_letters.letter(Dead(body, History(**history), error, reason, "r1"), ARN)


def envelope(*keys: str) -> str:
    (packed,) = pack([Delivery("r1", event(key, request_id=key), created=9) for key in keys])
    return packed.body


def dead_letter_event(
    aws: MotoAws, *keys: str, reason: str = "answered 422", queue: str = DEAD, **history: Any
) -> None:
    history = {"since": 5, "tries": 3} | history
    put(aws, queue, dead_letter(envelope(*keys), reason, "Rejected", **history))


def move(aws: MotoAws, body: str, history: History, queue: str = DEAD) -> None:
    """What SQS does by itself: the message keeps its body and attributes."""
    put(aws, queue, Outgoing(body, history=history))


def put(aws: MotoAws, queue: str, message: Outgoing) -> None:
    assert not Queue(aws.queue(queue), aws.sqs).send([message])


def keys(aws: MotoAws, queue: str) -> list[str]:
    messages = received(aws.sqs, aws.queue(queue))
    return sorted(
        delivery.event.key for message in messages for delivery in unpack(message["Body"])
    )


def count(aws: MotoAws, queue: str) -> int:
    """How many messages can be received at once."""
    return depth(aws.sqs, aws.queue(queue))
