"""The simulated SQS and Lambda keep the rules of the real ones."""

from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.simulation.lambdas import Function, Simulation
from tests.unit.simulation.sqs import DAY, SimulatedQueue, SimulatedSqs

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MEGABYTE = 1_048_576
SECOND = 1 / DAY
IN_ORDER = {"MessageGroupId": "group", "MessageDeduplicationId": "token"}


def entry(body: str = "body", *, id: str = "0", **more: Any) -> dict[str, Any]:  # noqa: A002
    return {"Id": id, "MessageBody": body, **more}


def text(value: str) -> Mapping[str, str]:
    return {"DataType": "String", "StringValue": value}


def failed(*ids: str | None) -> dict[str, Any]:
    return {"batchItemFailures": [{"itemIdentifier": each} for each in ids]}


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


def test_nothing_is_received_while_as_many_are_in_flight_as_sqs_allows() -> None:
    one = Calls(lambda ids: failed(*ids), in_flight_limit=3)
    one.put(*"abcde")
    one.run(seconds=50)
    assert one.calls.calls == 3
    one.run(seconds=60)
    assert one.calls.calls == 6, "three are seen again after a minute"


def test_a_tenant_that_fills_a_fair_queue_lets_the_others_go_first() -> None:
    """Of forty messages in flight at once most are the noisy one's, so its backlog waits."""
    one = Calls(lambda _: {}, takes=10, batch=10, max_concurrency=4)
    one.put(*(f"noisy{n}" for n in range(400)), group="noisy")
    one.run(seconds=15)
    one.put("quiet", group="quiet")
    one.run(seconds=15)
    assert one.began["quiet"] <= 20, "the next call takes it"
    one.run(seconds=100)
    assert len(one.began) == 401


def test_a_call_that_takes_too_long_is_killed_and_does_nothing_more() -> None:
    one = Calls(lambda _: {}, takes=31)
    one.put("a")
    one.run(seconds=59)
    assert (one.calls.calls, one.calls.seconds, one.ended) == (1, 30, [])
    assert one.queue.messages


class Calls:
    """A queue and a function that notes, in seconds from the start, what it began and ended."""

    def __init__(
        self,
        answer: Callable[[list[str]], Any],
        *,
        takes: float = 0,
        batch: int = 1,
        max_concurrency: int = 10,
        in_flight_limit: int = 120_000,
    ) -> None:
        self.simulation = Simulation(0)
        self.queue = self.simulation.sqs.add(
            SimulatedQueue("q", visibility=60, in_flight_limit=in_flight_limit)
        )
        self.began: dict[str, float] = {}
        self.ended: list[float] = []
        clock = self.simulation.clock

        def handler(event: Mapping[str, Any], _: Any) -> Any:
            self.began |= {each["body"]: clock.since_start for each in event["Records"]}
            clock.now += takes
            self.ended += [clock.since_start]
            return answer([each["messageId"] for each in event["Records"]])

        self.calls = Function(
            self.queue, lambda: handler, timeout=30, batch=batch, max_concurrency=max_concurrency
        )
        self.simulation.functions.append(self.calls)

    def put(self, *bodies: str, group: str = "") -> dict[str, Any]:
        about = {"MessageGroupId": group} if group else {}
        for start in range(0, len(bodies), 10):
            part = enumerate(bodies[start : start + 10])
            entries = [entry(body, id=str(n), **about) for n, body in part]
            answer = self.simulation.sqs.send_message_batch(QueueUrl="q", Entries=entries)
        return answer

    def run(self, *, seconds: float) -> None:
        self.simulation.run(days=seconds * SECOND)
