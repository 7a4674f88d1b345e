"""A guard against slow-downs: what the hot paths do for each event, counted and not timed.

An instruction is a step of Python's bytecode, a call is one into C. Both are the same in each run.
How long they take is not in it: `make bench` measures that.
"""

import sys
from collections.abc import Callable, Sequence
from types import FrameType, SimpleNamespace
from typing import Any, NamedTuple

import pytest

from benchmarks import events
from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.delivery.messages import Batch, Item, Message, Received
from bucketcast.delivery.policy import Policy, Term
from bucketcast.event import Event
from bucketcast.ingest.fanout import Fanout
from bucketcast.ingest.intake import Intake
from bucketcast.mirror.registers import fold
from bucketcast.rules import Rule, RuleIndex
from bucketcast.shapes import minio
from functions.dispatch.batch import deliver
from tests.unit.delivery.bench import NOW, Bench

COUNT = 500
ROOM = 0.05


class Work(NamedTuple):
    """The instructions and the calls into C for one event."""

    instructions: float
    calls: float


CALLS = {
    "ingest, one target": 34.4,
    "ingest, ten targets": 62.2,
    "dispatch to a mirror": 8.6,
    "dispatch to a broker": 5.6,
}
"""What was counted last; these are the same with any Python."""
INSTRUCTIONS = {
    (3, 11): (993.6, 1910.1, 352.5, 263.0),
    (3, 12): (908.9, 1751.2, 339.4, 252.7),
    (3, 13): (909.6, 1723.9, 338.4, 258.6),
}
"""These are not: in the same order by version, and not checked where nobody counted them."""


def ingest(targets: int) -> Callable[[], object]:
    """The work from S3's messages to packed ones."""
    arns = [f"arn:minio:sqs::{number}:webhook" for number in range(targets)]
    index = RuleIndex(
        Rule(bucket=events.BUCKET, arn=arn, events=("s3:ObjectCreated:*",), prefix="photos/")
        for arn in arns
    )
    messages = [Message(str(n), "", body, 1, 1) for n, body in enumerate(events.bodies(COUNT))]
    received = [Received(each, Term(1, 1, 1, each.history, Policy())) for each in messages]
    sqs = SimpleNamespace(send_message_batch=lambda **_: {})
    fanout = Fanout("http://sqs/1/Bucketcast-*", sqs, deployed=lambda _: True)  # type: ignore[arg-type]
    intake = Intake(lambda _: {events.BUCKET: index}, None, fanout)

    def work() -> None:
        items = [Item(each, one) for each in received for one in intake.open(each)]
        result = intake(items, Batch(1, lambda: 900.0, 900.0, Policy()))
        assert not result.failed

    return work


def dispatch(write: Callable[[Sequence[Event]], object]) -> Callable[[], object]:
    """The work from a target's messages to what its client gets."""

    def send(sent: Sequence[Event]) -> dict[int, Any]:
        write(sent)
        return {}

    bench = Bench()
    bench.target.send = send  # type: ignore[method-assign,assignment]
    (packed,) = pack([Delivery("rule", one) for one in events.events(COUNT)])
    message = Message("1", "1", packed.body, NOW, 1)
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 900_000)

    def work() -> None:
        stay = deliver("arn", bench.engine, [message], Policy(), context, counters=None)
        assert stay == []

    return work


def mirror(sent: Sequence[Event]) -> list[bytes]:
    return [minio.records(entry.event) for entry in fold(sent)]


def broker(sent: Sequence[Event]) -> list[tuple[bytes, str]]:
    return [(minio.log(event), event.id) for event in sent]


PATHS = {
    "ingest, one target": lambda: ingest(1),
    "ingest, ten targets": lambda: ingest(10),
    "dispatch to a mirror": lambda: dispatch(mirror),
    "dispatch to a broker": lambda: dispatch(broker),
}


def count(work: Callable[[], object]) -> Work:
    """Do the work, and count what it does for each of the events."""
    instructions = calls = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal instructions
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        instructions += event == "opcode"
        return trace

    def profile(_frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        calls += event == "c_call"

    before = sys.gettrace(), sys.getprofile()
    sys.setprofile(profile)
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return Work(round(instructions / COUNT, 1), round(calls / COUNT, 1))


def allowed(path: str) -> Work:
    """What an event may take on this path; no instructions where they are unknown."""
    numbers = INSTRUCTIONS.get(sys.version_info[:2], (0.0,) * len(PATHS))
    return Work(numbers[[*PATHS].index(path)], CALLS[path])


@pytest.mark.parametrize("path", PATHS)
def test_an_event_takes_no_more_work(path: str) -> None:
    work = PATHS[path]()
    count(work)  # what is kept after the first time is not counted; nor is all, in Python 3.12
    for name, number, limit in zip(Work._fields, count(work), allowed(path), strict=True):
        assert not limit or number <= limit * (1 + ROOM), (
            f"{path}: {number} {name} an event, {limit} before. What is done for each event "
            f"could perhaps be done for each message. If not, put {number} into the table"
        )
        assert number >= limit * (1 - ROOM), (
            f"{path}: only {number} {name} an event, {limit} before. Put {number} into the table, "
            "or the next slow-down hides behind it"
        )
