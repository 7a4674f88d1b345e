"""Events that come in another order than they happened in."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketcast.control.listen.reorder import (
    FIRST_SECONDS,
    LONGEST_SECONDS,
    SHORTEST_SECONDS,
    ReorderBuffer,
)
from tests.unit.made import event


def at(number: int, key: str = "", sequencer: str | None = None, bucket: str = "uploads"):  # type: ignore[no-untyped-def]
    time = f"2026-03-14T09:26:{number // 1_000 % 60:02}.{number % 1_000:03}Z"
    text = f"{number + 1:018X}" if sequencer is None else sequencer
    return event(key or str(number), time=time, sequencer=text, bucket=bucket)


def test_where_nothing_is_on_its_way_nothing_waits() -> None:
    window: ReorderBuffer[str] = ReorderBuffer()
    window.push(at(2), "b", 10.0)
    assert window.take(10.0) == []
    window.push(at(1), "a", 10.2)
    window.push(at(3), "c", 10.3)
    assert window.take(10.4, quiet=10.25) == ["a", "b"]
    assert window.take(10.5, quiet=10.45) == ["c"]
    assert window.due() is None


@given(st.randoms(use_true_random=False), st.integers(1, 40))
def test_what_arrives_meanwhile_is_sent_in_order(shuffle: random.Random, count: int) -> None:
    window: ReorderBuffer[int] = ReorderBuffer()
    numbers = list(range(count))
    shuffle.shuffle(numbers)
    for number in numbers:
        window.push(at(number, sequencer="" if number % 7 == 3 else None), number, 5.0)
    assert window.take(5.0 + FIRST_SECONDS) == sorted(numbers)
    assert len(window) == 0


def test_sequencers_decide_where_times_are_the_same_or_wrong() -> None:
    window: ReorderBuffer[str] = ReorderBuffer()
    window.push(at(500, sequencer="0B"), "second", 0.0)
    window.push(at(501, sequencer="a"), "first", 0.0)
    window.push(at(500, sequencer="1", bucket="other"), "another bucket's", 0.0)
    taken = window.take(FIRST_SECONDS)
    assert [each for each in taken if each != "another bucket's"] == ["first", "second"]


def test_where_something_is_always_on_its_way_the_wait_follows_what_is_late() -> None:
    window: ReorderBuffer[int] = ReorderBuffer()
    for tenth in range(200):
        window.push(at(10 * tenth), 10 * tenth, tenth / 10)
    window.push(at(1_984), 1_984, 20.0)  # 0.1 s behind the one that happened after it
    assert window.due() == pytest.approx(0.2)  # of the first, which is not sent yet
    window.take(20.0)
    for tenth in range(205, 320):
        window.push(at(10 * tenth), 10 * tenth, tenth / 10)
    taken = window.take(31.9)
    assert taken == sorted(taken)
    due = window.due()
    assert due is not None
    assert due < 31.9 + 2 * SHORTEST_SECONDS


def test_nothing_is_buffered_for_more_than_ten_seconds() -> None:
    window: ReorderBuffer[int] = ReorderBuffer()
    window.push(at(2), 2, 0.0)
    window.push(at(1), 1, 50.0)
    assert window.take(50.0) == [1, 2]
    window.push(at(3), 3, 60.0)
    assert window.due() == 60.0 + LONGEST_SECONDS


def test_a_late_event_is_sent_all_the_same() -> None:
    window: ReorderBuffer[int] = ReorderBuffer()
    window.push(at(2), 2, 0.0)
    assert window.take(FIRST_SECONDS) == [2]
    window.push(at(1), 1, 6.0)
    assert window.take(6.0 + LONGEST_SECONDS) == [1]
