"""A sender waits for its share, and lists what SQS refuses."""

from pathlib import Path

import pytest

from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.delivery.queue import Queue
from bucketcast.errors import BucketcastError
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
    limited = Pace(100, tasks=2)
    assert [limited.wait(250), limited.wait(1)] == [True, True]
    assert clock.slept == [0.0, 5.0]


def test_nothing_is_sent_after_the_last_moment(clock: Clock) -> None:
    limited = Pace(1, until=clock.now + 3)
    assert [limited.wait(2), limited.wait(2), limited.wait(2)] == [True, True, False]


@pytest.mark.parametrize("rate", [0, 1_000])
def test_the_time_limit_counts_with_the_pace_of_a_fifo_queue(rate: int) -> None:
    """It takes 130 events a second."""
    pace.check_time(130, rate, "https://sqs/a.fifo", 1.0, "or wait")
    with pytest.raises(
        BucketcastError,
        match=r"^131 events take 0\.00 hours at about 130 a second, as a FIFO .*, or wait$",
    ):
        pace.check_time(131, rate, "https://sqs/a.fifo", 1.0, "or wait")


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
    assert not_sent.summarize(f"{folder}/refused") == {
        "not_sent": 2,
        "not_sent_reasons": {"InternalError: try later": 2},
        "not_sent_report": f"{folder}/refused",
    }


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
