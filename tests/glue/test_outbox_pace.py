"""A sender waits for its share, and lists what SQS refuses."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.delivery.queue import Queue
from bucketcast.mirror.synthetic import Object, created
from glue_jobs import not_sent
from glue_jobs.outbox import pace, sender
from glue_jobs.outbox.chunks import Chunk
from glue_jobs.outbox.pace import Pace
from glue_jobs.outbox.sender import Refusal, Sender, Task


class Clock:
    """The clock of `pace`, which only sleeping moves."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    time = monotonic

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    stopped = Clock()
    monkeypatch.setattr(pace, "time", stopped)
    return stopped


def test_a_task_waits_for_its_share_of_the_rate(clock: Clock) -> None:
    """A slow call is its own pause, and is not caught up."""
    limited = Pace(100, tasks=2)
    for events, seconds in ((250, 2.0), (250, 30.0), (50, 0.0), (50, 0.0)):
        assert limited.wait(events)
        clock.now += seconds
    assert clock.slept == [0.0, 3.0, 0.0, 1.0]
    unlimited = Pace(0)
    assert [unlimited.wait(1_000), unlimited.wait(1_000)] == [True, True]
    assert clock.slept[4:] == [0.0, 0.0]


@given(
    st.integers(1, 5_000),
    st.lists(st.tuples(st.integers(1, 2_000), st.floats(0, 5)), min_size=1, max_size=30),
)
def test_no_interval_exceeds_the_rate(rate: int, calls: list[tuple[int, float]]) -> None:
    limited, starts = Pace(rate), list[tuple[float, int]]()
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock()
        patch.setattr(pace, "time", clock)
        for events, duration in calls:
            limited.wait(events)
            starts.append((clock.now, events))
            clock.now += duration
    for first, (start, _) in enumerate(starts):
        for last in range(first, len(starts)):
            # The last call's events still have their time before them.
            sent = sum(events for _, events in starts[first:last])
            assert sent <= rate * (starts[last][0] - start) + 1e-6 * sent


def test_nothing_is_sent_after_the_last_moment(clock: Clock) -> None:
    limited = Pace(1, until=clock.now + 3)
    assert [limited.wait(2), limited.wait(2), limited.wait(2)] == [True, True, False]


@pytest.mark.parametrize(("rate", "seconds"), [(0, 10.0), (1_000, 10.0), (13, 100.0)])
def test_a_fifo_queue_takes_130_events_a_second_at_most(rate: int, seconds: float) -> None:
    assert pace.seconds_needed(1_300, rate, "https://sqs/a.fifo") == seconds


def test_the_objects_of_a_refused_message_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only of the refused one of two, also where the key has characters of its own."""
    objects = [Object("b", "a,b +%/ü", "v1"), Object("b", "c"), Object("b", "d")]
    bodies = [
        next(pack([Delivery("r", created(found)) for found in part])).body
        for part in (objects[:2], objects[2:])
    ]
    monkeypatch.setattr(sender, "client", lambda _: None)
    monkeypatch.setattr(Queue, "send", lambda *_: {0: "InternalError: try later"})
    chunk = Chunk(3, 7, "", 3, bodies, ["", ""], [2, 1])
    folder = tmp_path.as_uri()
    reasons = Sender("https://sqs/a", folder, Pace(0), f"{folder}/refused").send(chunk)
    assert reasons == [Refusal("InternalError: try later", stopped=False)]
    assert (tmp_path / "refused" / "3-7.csv").read_text() == (
        "b,a%2Cb%20%2B%25/%C3%BC,v1,InternalError: try later\nb,c,,InternalError: try later\n"
    )
    assert not_sent.count_reasons(f"{folder}/refused") == {"InternalError: try later": 2}


@pytest.mark.parametrize(("queue", "sent"), [("https://sqs/a", 8), ("https://sqs/a.fifo", 1)])
def test_a_fifo_queue_gets_nothing_after_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queue: str, sent: int
) -> None:
    """And no more than five reasons are reported."""
    answers = iter([{0: f"reason {number}"} for number in range(8)])
    monkeypatch.setattr(sender, "client", lambda _: None)
    monkeypatch.setattr(Queue, "send", lambda *_: next(answers))
    chunks = [Chunk(3, n, "", 1, ["body"], [""], [1]) for n in range(8)]
    task = Task(queue, tmp_path.as_uri(), 0, 1, "", pace.FOREVER)
    refusals = [*sender.run_task(task, chunks)]
    assert [refusal.stopped for refusal in refusals] == [sent == 1] * min(sent, 5)
    assert len([*answers]) == 8 - sent
