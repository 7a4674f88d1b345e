"""Messages that are kept in flight beside the work, and what a queue has for those that are not."""

import time
from collections.abc import Mapping
from threading import Event

import pytest
from botocore.exceptions import EndpointConnectionError

from bucketcast.delivery import heartbeat
from bucketcast.delivery.heartbeat import Heartbeat
from bucketcast.delivery.policy import visibility
from bucketcast.delivery.queue import Queue
from bucketcast.limits import (
    HEARTBEAT_SECONDS,
    SEND_BACK_SECONDS,
    SETTLE_SECONDS,
    SQS_CALL_MESSAGES,
)

SECONDS = {f"receipt {number}": 15 for number in range(SQS_CALL_MESSAGES + 2)}


class Noted(Queue):
    """A queue that keeps what it was asked for."""

    def __init__(self, times: int, *, broken: Exception | None = None) -> None:
        super().__init__("own", None)  # type: ignore[arg-type]
        self.calls: list[dict[str, int]] = []
        self.enough = Event()
        self._times = times
        self._broken = broken

    def postpone(self, seconds_by_receipt: Mapping[str, int]) -> None:
        self.calls.append(dict(seconds_by_receipt))
        if len(self.calls) == self._times:
            self.enough.set()
        if self._broken:
            raise self._broken


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first beat comes none."""
    monkeypatch.setattr(heartbeat, "HEARTBEAT_SECONDS", 1_000.0)


def test_all_are_kept_at_once_ten_a_call() -> None:
    queue = Noted(2)
    with Heartbeat(queue, SECONDS, 0.0):
        assert queue.enough.wait(20)
    assert [len(call) for call in queue.calls] == [10, 2]
    assert {key: wait for call in queue.calls for key, wait in call.items()} == SECONDS


def test_of_thousands_each_stays_in_flight_until_its_next_turn() -> None:
    """Lambda hands over up to 10,000, whose calls take longer than the time of a few."""
    calls = 400
    queue = Noted(1)
    with Heartbeat(
        queue, {f"receipt {number}": 15 for number in range(calls * SQS_CALL_MESSAGES)}, 0.0
    ):
        assert queue.enough.wait(20)
    slow = 0.1 * calls + HEARTBEAT_SECONDS
    assert slow < min(queue.calls[0].values()) < 2 * slow


@pytest.mark.parametrize(
    "broken", [None, EndpointConnectionError(endpoint_url="https://sqs"), KeyError("a bug")]
)
def test_they_are_kept_again_until_the_work_is_done(
    monkeypatch: pytest.MonkeyPatch, broken: Exception | None
) -> None:
    monkeypatch.setattr(heartbeat, "HEARTBEAT_SECONDS", 0.01)
    queue = Noted(6, broken=broken)
    with Heartbeat(queue, SECONDS, 0.0):
        assert queue.enough.wait(20)
    made = len(queue.calls)
    Event().wait(0.05)
    assert len(queue.calls) == made, "no call comes after the work"


def test_a_call_that_hangs_leaves_time_to_settle() -> None:
    """The end of the work waited for it for as long as settling may take."""
    answered = Event()

    class Hanging(Noted):
        def postpone(self, seconds_by_receipt: Mapping[str, int]) -> None:
            super().postpone(seconds_by_receipt)
            answered.wait(20)

    queue = Hanging(1)
    with Heartbeat(queue, SECONDS, 0.0):
        assert queue.enough.wait(20)
        done = time.monotonic()
    assert time.monotonic() - done < SETTLE_SECONDS - SEND_BACK_SECONDS
    answered.set()


def test_work_that_is_quick_makes_no_call() -> None:
    queue = Noted(1)
    with Heartbeat(queue, SECONDS, 1_000.0):
        queue.enough.wait(0.2)
    assert queue.calls == []


def test_nothing_is_kept_of_nothing() -> None:
    queue = Noted(1)
    with Heartbeat(queue, {}, 0.0):
        assert not queue.enough.wait(0.05)
    assert queue.calls == []


def test_work_that_fails_ends_it() -> None:
    queue = Noted(2)

    def work() -> None:
        with Heartbeat(queue, SECONDS, 0.0):
            queue.enough.wait(20)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert len(queue.calls) == 2


def test_a_queue_has_more_than_the_time_of_its_function() -> None:
    assert (visibility("q", 60), visibility("q", 900, gathered=1)) == (90, 950)
    assert visibility("q.fifo", 60) == 360, "Lambda's own advice"
