"""Counters: one call a minute and target, and no event waits for a call."""

import socket
import time
from collections.abc import Iterator
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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def counters(dynamodb: "DynamoDBClient", state_table: str) -> Counters:
    return Counters(state_table, lambda: dynamodb)


@pytest.fixture
def operations(dynamodb: "DynamoDBClient", state_table: str) -> Iterator[list[str]]:  # noqa: ARG001 - made before
    """The calls of DynamoDB, by name."""
    names: list[str] = []

    def record(model: Any, **_: Any) -> None:
        names.append(model.name)

    dynamodb.meta.events.register("before-call", record)
    yield names
    dynamodb.meta.events.unregister("before-call", record)


def test_counts_add_up_by_target(counters: Counters) -> None:
    counters.add(HOOK, Counts(sent=10, failed=2))
    counters.add(HOOK, Counts(sent=1, dead=3))
    counters.add("arn:minio:sqs::gone:webhook", Counts(skipped=4))
    assert counters.read() == {
        HOOK: Counts(sent=11, failed=2, dead=3),
        "arn:minio:sqs::gone:webhook": Counts(skipped=4),
    }


class Table:
    """A table that does not answer while it is `down`, and counts the calls."""

    def __init__(self, client: Any, clock: list[float], *, down: bool = True) -> None:
        self.client = client
        self.clock = clock
        self.calls = 0
        self.down = down
        self.error: Exception = ConnectTimeoutError(endpoint_url="https://dynamodb")

    def update_item(self, **parameters: Any) -> Any:
        self.calls += 1
        if self.down:
            self.clock[0] += 3
            raise self.error
        return self.client.update_item(**parameters)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


def test_counts_that_could_not_be_written_are_written_later(
    dynamodb: "DynamoDBClient", state_table: str, clock: list[float]
) -> None:
    table: Any = Table(dynamodb, clock)
    counters = Counters(state_table, lambda: table)
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
    dynamodb: "DynamoDBClient", state_table: str
) -> None:
    table: Any = Table(dynamodb, [0.0], down=False)
    counters = Counters(state_table, lambda: table)
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


def test_counts_and_last_outcome_are_one_call(counters: Counters, operations: list[str]) -> None:
    last = Last(1, 2, "Error", "why", 3, tried=5, taken=4)
    counters.add(HOOK, Counts(sent=4, dead=1), last)
    assert operations == ["UpdateItem"]
    assert (counters.read(), counters.read_last()) == ({HOOK: Counts(sent=4, dead=1)}, {HOOK: last})


def test_fields_that_a_batch_does_not_know_stay(counters: Counters) -> None:
    failure = Last(failure=50, error="Throttled", reason="so", oldest=90)
    counters.add(HOOK, Counts(failed=1), failure)
    counters.add(HOOK, Counts(sent=1), Last(success=300, oldest=60))
    assert counters.read_last() == {HOOK: Last(300, 50, "Throttled", "so", 60, 2, 1)}
    counters.add(HOOK, Counts(), Last(oldest=70))
    assert counters.read_last() == {HOOK: Last(300, 50, "Throttled", "so", 70, 2, 1)}
    assert counters.read() == {HOOK: Counts(sent=1, failed=1)}


def test_a_target_fails_from_when_most_tries_fail_until_most_go_through(
    counters: Counters, clock: list[float]
) -> None:
    for at, counts, failing in (
        (1, Counts(sent=2, failed=2), 0),
        (2, Counts(dead=1), 2),
        (3, Counts(sent=1, failed=9), 2),
        (4, Counts(sent=20), 0),
        (5, Counts(failed=20), 5),
    ):
        counters.add(HOOK, counts, Last(success=at))
        assert counters.read_last()[HOOK].failing == failing
    clock[0] += TRIES_SECONDS
    counters.add(HOOK, Counts(sent=1), Last(success=6))
    assert counters.read_last()[HOOK] == Last(6, tried=56, taken=24, failing=5)
    clock[0] += 2 * TRIES_SECONDS
    counters.add(HOOK, Counts(sent=1), Last(success=7))
    assert counters.read_last()[HOOK] == Last(7, tried=1, taken=1)


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
    dynamodb: "DynamoDBClient", state_table: str, clock: list[float]
) -> None:
    table: Any = Table(dynamodb, clock, down=False)
    counters = Counters(state_table, lambda: table)
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
    dynamodb: "DynamoDBClient", state_table: str, clock: list[float]
) -> None:
    table: Any = Table(dynamodb, clock, down=False)
    counters = Counters(state_table, lambda: table)
    counters.add(HOOK, Counts(sent=1), Last(success=5))
    clock[0] += 1
    counters.add(HOOK, Counts(failed=1), BROKEN)
    assert (table.calls, counters.read_last()[HOOK].error) == (
        2,
        "Throttled",
    )
    for _ in range(600):
        clock[0] += 1
        counters.add(HOOK, Counts(failed=1), BROKEN._replace(reason="down"))
    assert table.calls == 2 + 10
    assert (
        counters.read_last()[HOOK].reason,
        counters.read()[HOOK].failed,
    ) == ("down", 601)


@pytest.mark.usefixtures("in_steps")
def test_topics_are_counted_in_steps(
    dynamodb: "DynamoDBClient", state_table: str, clock: list[float]
) -> None:
    table: Any = Table(dynamodb, clock, down=False)
    counters = Counters(state_table, lambda: table)
    for _ in range(61):
        counters.add("#topics", Triggered(2))
        clock[0] += 1
    assert (table.calls, counters.read_triggered()) == (2, 122)
