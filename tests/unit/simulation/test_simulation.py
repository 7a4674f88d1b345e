"""The simulated SQS refuses what is too much for the real one, and writes it down."""

from contextlib import suppress
from random import Random
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.simulation.sqs import SimulatedQueue, SimulatedSqs

IN_ORDER = {"MessageGroupId": "group", "MessageDeduplicationId": "token"}


@pytest.mark.parametrize(
    ("name", "number", "entry", "refused"),
    [
        ("q", 0, {}, True),
        ("q", 10, {"MessageBody": "b"}, False),
        ("q", 11, {"MessageBody": "b"}, True),
        ("q", 2, {"MessageBody": "b" * 524_288}, False),
        ("q", 2, {"MessageBody": "b" * 524_289}, True),
        ("q", 1, {"MessageBody": "b", "DelaySeconds": 900}, False),
        ("q", 1, {"MessageBody": "b", "DelaySeconds": 901}, True),
        ("q.fifo", 1, {"MessageBody": "b", **IN_ORDER}, False),
        ("q.fifo", 1, {"MessageBody": "b", **IN_ORDER, "DelaySeconds": 1}, True),
        ("q.fifo", 1, {"MessageBody": "b"}, True),
        ("q.fifo", 1, {"MessageBody": "b", **IN_ORDER, "MessageGroupId": "a b"}, True),
        ("q.fifo", 1, {"MessageBody": "b", "MessageGroupId": "group"}, True),
        ("q", 1, {"MessageBody": "b", "MessageGroupId": "tenant"}, False),
    ],
)
def test_sqs_refuses_what_is_too_much(
    name: str, number: int, entry: dict[str, Any], *, refused: bool
) -> None:
    sqs = SimulatedSqs(lambda: 0.0, Random(0))  # noqa: S311 - no secret
    queue = sqs.add(SimulatedQueue(name))
    with suppress(ClientError):
        sqs.send_message_batch(
            QueueUrl=name, Entries=[{"Id": f"{n}"} | entry for n in range(number)]
        )
    assert (bool(sqs.refused), not queue.messages) == (refused, refused)
