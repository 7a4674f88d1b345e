"""Counters: one call a minute and target, and no event waits for a call."""

import socket
import time
from collections.abc import Sequence
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ConnectTimeoutError

from bucketcast.aws import function_clients
from bucketcast.limits import COUNT_SECONDS
from bucketcast.state.counters import STEP, TRIES_SECONDS, Counters, Counts, Last, Triggered

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

HOOK = "arn:minio:sqs::primary:webhook"
OTHER = "arn:minio:sqs::other:webhook"


@pytest.fixture
def in_steps(mocked_aws: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - before it
    """Count as on AWS."""
    monkeypatch.delenv(STEP)


class Table:
    """A table that does not answer while it is `down`, and counts the calls."""

    def __init__(self, client: Any, clock: list[float]) -> None:
        self.client = client
        self.clock = clock
        self.calls = 0
        self.down = False

    def update_item(self, **parameters: Any) -> Any:
        self.calls += 1
        if self.down:
            self.clock[0] += 3
            raise ConnectTimeoutError(endpoint_url="https://dynamodb")
        return self.client.update_item(**parameters)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


@pytest.fixture
def table(dynamodb: "DynamoDBClient", clock: list[float]) -> Any:
    return Table(dynamodb, clock)


@pytest.fixture
def counters(table: Any, state_table: str) -> Counters:
    return Counters(state_table, lambda: table)


def test_counts_that_could_not_be_written_are_written_later(
    counters: Counters, table: Any, clock: list[float]
) -> None:
    table.down = True
    for _ in range(3):
        counters.add(HOOK, Counts(sent=1))
        counters.add(OTHER, Counts(sent=10))
    assert table.calls == 1, "it is left alone for a while"
    clock[0] += 61
    table.down = False
    counters.add(HOOK, Counts(failed=2))
    assert table.calls == 3, "each item is written once"
    assert counters.read() == {HOOK: Counts(sent=3, failed=2), OTHER: Counts(sent=30)}


def test_counts_of_another_thread_are_kept_while_they_are_written(
    counters: Counters, table: Any
) -> None:
    other = Thread(target=counters.add, args=(HOOK, Counts(sent=1)))
    write = table.update_item

    def write_meanwhile(**parameters: Any) -> Any:
        if not other.ident:
            other.start()
            other.join(0.2)
        return write(**parameters)

    table.update_item = write_meanwhile
    counters.add(HOOK, Counts(sent=10))
    other.join()
    assert counters.read() == {HOOK: Counts(sent=11)}


def test_fields_that_a_batch_does_not_know_stay(counters: Counters) -> None:
    failure = Last(failure=50, error="Throttled", reason="so", oldest=90)
    counters.add(HOOK, Counts(failed=1), failure)
    counters.add(HOOK, Counts(sent=1), Last(success=300, oldest=60))
    assert counters.read_last() == {HOOK: Last(300, 50, "Throttled", "so", 60, 2, 1)}
    counters.add(HOOK, Counts(), Last(oldest=70))
    assert counters.read_last() == {HOOK: Last(300, 50, "Throttled", "so", 70, 2, 1)}
    assert counters.read() == {HOOK: Counts(sent=1, failed=1)}


SPAN = round(TRIES_SECONDS * 1_000)


def failed(at: int, number: int = 1) -> tuple[Counts, Last]:
    """Return what a batch says of which all failed."""
    return Counts(failed=number), Last(failure=at, left=at - 1)


def sent(at: int, number: int = 1) -> tuple[Counts, Last]:
    return Counts(sent=number), Last(success=at)


@pytest.mark.parametrize(
    ("batches", "failing", "left", "tries"),
    [
        ([sent(1, 9), failed(10)], 10, 9, (10, 9)),
        ([sent(1, 9), failed(10), sent(11)], 0, 0, (11, 10)),
        ([failed(10, 9), sent(11), failed(12)], 10, 9, (11, 1)),
        ([failed(10, 9), sent(11), sent(11 + SPAN)], 0, 0, (11, 2)),
        ([sent(1, 9), failed(1 + 2 * SPAN)], 1 + 2 * SPAN, 2 * SPAN, (1, 0)),
        ([failed(10, 6), sent(20), failed(20 + SPAN)], 20 + SPAN, 19 + SPAN, (1, 0)),
        ([failed(10), failed(10 + SPAN * 9)], 10, 9, (2, 0)),
        ([failed(10), sent(5, 8), failed(11)], 10, 9, (10, 8)),  # an older success is written later
        ([(Counts(), Last(left=5)), (Counts(), Last(left=7)), sent(8)], 0, 0, (1, 1)),
        ([(Counts(), Last(left=5)), sent(4), (Counts(), Last(left=7))], 0, 5, (1, 1)),
        ([sent(1, 1_200), failed(2, 900), failed(3, 9)], 2, 1, (1_054, 600)),
    ],
)
def test_a_trouble_lasts_until_events_go_through_at_all_functions(
    dynamodb: "DynamoDBClient",
    state_table: str,
    batches: Sequence[tuple[Counts, Last]],
    failing: int,
    left: int,
    tries: tuple[int, int],
) -> None:
    """Each batch is that of another function."""
    for counts, last in batches:
        Counters(state_table, lambda: dynamodb).add(HOOK, counts, last)
    found = Counters(state_table, lambda: dynamodb).read_last()[HOOK]
    assert (found.failing, found.left, (found.tried, found.taken)) == (failing, left, tries)


@pytest.mark.usefixtures("in_steps")
def test_success_after_a_failure_is_written_at_once(
    counters: Counters, table: Any, clock: list[float]
) -> None:
    for batch in (failed(1_000), *(sent(1_000 + number) for number in range(1, 40))):
        counters.add(HOOK, *batch)
        clock[0] += 1
    last = counters.read_last()[HOOK]
    assert (last.success, last.failing, last.left, table.calls) == (1_001, 0, 0, 3)


def test_counts_out_of_time_are_written_later(counters: Counters) -> None:
    counters.add(HOOK, Counts(sent=1), Last(success=7), lambda: True)
    assert counters.read() == {}
    counters.add(HOOK, Counts(sent=2), Last(success=8))
    assert counters.read() == {HOOK: Counts(sent=3)}
    assert counters.read_last() == {HOOK: Last(success=8, tried=3, taken=3)}


def test_a_table_that_hangs_takes_no_longer_than_a_function_leaves_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A function with a second left was killed, and did all its work again."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        client = function_clients.client("dynamodb", function_clients.OPTIONAL_CALL)
        counters = Counters("state", lambda: client)
        began = time.monotonic()
        counters.add(HOOK, Counts(sent=1))
        counters.add(OTHER, Counts(sent=1))
    assert 1 < time.monotonic() - began < COUNT_SECONDS + 0.5


BROKEN = Last(failure=7, error="Throttled", reason="busy")


@pytest.mark.usefixtures("in_steps")
def test_burst_is_one_call_a_minute_and_target(
    counters: Counters, table: Any, clock: list[float]
) -> None:
    for _ in range(120):
        counters.add(HOOK, Counts(sent=10), Last(success=5, oldest=4))
        counters.add(OTHER, Counts(sent=1))
        clock[0] += 1
    assert table.calls == 2 * 2
    clock[0] += 60
    counters.add(OTHER, Counts(sent=1))
    assert table.calls == 2 * 3, "the rest of another target is written with it"
    assert counters.read() == {
        HOOK: Counts(sent=1_200),
        OTHER: Counts(sent=121),
    }
    assert counters.read_last()[HOOK] == Last(success=5, oldest=4, tried=1_200, taken=1_200)


@pytest.mark.usefixtures("in_steps")
def test_outage_is_written_at_once_and_then_once_a_minute(
    counters: Counters, table: Any, clock: list[float]
) -> None:
    counters.add(HOOK, Counts(sent=1), Last(success=5))
    clock[0] += 1
    counters.add(HOOK, Counts(failed=1), BROKEN)
    assert (table.calls, counters.read_last()[HOOK].error) == (2, "Throttled")
    for _ in range(600):
        clock[0] += 1
        counters.add(HOOK, Counts(failed=1), BROKEN._replace(reason="down"))
    assert table.calls == 2 + 10
    assert (
        counters.read_last()[HOOK].reason,
        counters.read()[HOOK].failed,
    ) == ("down", 601)


@pytest.mark.usefixtures("in_steps")
def test_topics_are_counted_in_steps(counters: Counters, table: Any, clock: list[float]) -> None:
    for _ in range(61):
        counters.add("#topics", Triggered(2))
        clock[0] += 1
    assert (table.calls, counters.read_triggered()) == (2, 122)
