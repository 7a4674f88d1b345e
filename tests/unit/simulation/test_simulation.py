"""The simulated SQS refuses what the real one does."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.simulation.sqs import SimulatedQueue, SimulatedSqs

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MEGABYTE = 1_048_576
IN_ORDER = {"MessageGroupId": "group", "MessageDeduplicationId": "token"}


def entry(body: str = "body", *, id: str = "0", **more: Any) -> dict[str, Any]:  # noqa: A002
    return {"Id": id, "MessageBody": body, **more}


def outcome(send: Callable[..., Any], url: str, entries: list[dict[str, Any]]) -> str:
    """The code by which a batch, or the first entry in it that fails, is refused."""
    try:
        answer = send(QueueUrl=url, Entries=entries)
    except ClientError as error:
        return error.response["Error"]["Code"].removeprefix("AWS.SimpleQueueService.")
    return str(answer["Failed"][0]["Code"]) if answer.get("Failed") else ""


def simulated(entries: list[dict[str, Any]], name: str) -> str:
    sqs = SimulatedSqs(lambda: 0.0, Random(0))  # noqa: S311 - no secret
    sqs.add(SimulatedQueue(name))
    found = outcome(sqs.send_message_batch, name, entries)
    assert bool(found) == bool(sqs.refused), "what is refused is written down"
    return found


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("q", []),
        ("q", [entry(id=str(n)) for n in range(10)]),
        ("q", [entry(id=str(n)) for n in range(11)]),
        ("q", [entry(), entry()]),
        ("q", [entry(id="a.b")]),
        ("q", [entry(id="i" * 81)]),
        ("q", [entry("b" * MEGABYTE)]),
        ("q", [entry("b" * 600_000), entry("b" * 600_000, id="1")]),
        ("q", [entry(DelaySeconds=900)]),
        ("q", [entry(DelaySeconds=901)]),
        ("q", [entry(MessageAttributes={"a": {"DataType": "Text", "StringValue": "b"}})]),
        ("q", [entry(MessageGroupId="tenant")]),
        ("q.fifo", [entry(**IN_ORDER)]),
        ("q.fifo", [entry()]),
        ("q.fifo", [entry(MessageGroupId="group")]),
        ("q.fifo", [entry(**IN_ORDER, DelaySeconds=1)]),
    ],
)
def test_sqs_and_its_simulation_refuse_the_same(
    name: str, entries: list[dict[str, Any]], sqs: "SQSClient"
) -> None:
    """The other SQS is moto, where it has the rule."""
    attributes: Any = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
    url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    assert simulated(entries, name) == outcome(sqs.send_message_batch, url, entries)
