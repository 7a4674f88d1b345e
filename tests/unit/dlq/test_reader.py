"""Reading a dead-letter queue of any size while more arrives, on a clock of its own."""

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain, islice
from random import Random
from threading import Lock, main_thread
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from bucketcast.delivery.queue import COUNTS
from bucketcast.dlq.aws import reader
from bucketcast.dlq.aws.reader import Reader

URL = "https://sqs.us-east-1.amazonaws.com/1/dead"
BEGAN = 1_000_000


@dataclass(slots=True)
class Kept:
    id: str
    sent: int
    visible: float = 0.0
    receives: int = 0


class Sqs:
    """A queue that gives any visible messages, as SQS does, or the first; each call takes a while.

    So many messages `arrive` with each call, which takes `call_seconds`. Those that SQS `moved`
    were sent long before. `longest` is the longest time that a message was hidden for, in seconds,
    beyond the time that it had taken until then. Each call calls `fail` with its name first.
    """

    def __init__(self, number: int, arrive: int = 0, *, moved: bool = False) -> None:
        self.fail: Callable[[str], None] = lambda _: None
        self.in_order = False
        self.now = 0.0
        self.messages = {f"m{at}": Kept(f"m{at}", at) for at in range(number)}
        self._random = Random(number)  # noqa: S311
        self._order = [*self.messages.values()]
        self.longest = 0.0
        self.call_seconds = 0.02
        self._arrive = arrive
        self._moved = moved
        self._lock = Lock()

    @property
    def hidden(self) -> int:
        return sum(each.visible > self.now for each in self.messages.values())

    def receive_message(self, *, VisibilityTimeout: int, **asked: Any) -> Any:  # noqa: N803
        with self._lock:
            self.fail("receive")
            self._tick()
            for _ in range(self._arrive):
                assert len(self.messages) < 50_000, "it does not end"
                name = f"m{len(self.messages)}"
                self.messages[name] = Kept(name, 0 if self._moved else BEGAN)
                at = self._random.randrange(len(self._order))
                self._order.insert(at, self.messages[name])
            start = 0 if self.in_order else self._random.randrange(len(self._order))
            order = chain(islice(self._order, start, None), islice(self._order, start))
            visible = (each for each in order if each.visible <= self.now)
            found = list(islice(visible, asked["MaxNumberOfMessages"]))
            if not found:
                self.now += asked["WaitTimeSeconds"] / 8
            for each in found:
                each.receives += 1
                self._hide(each, VisibilityTimeout)
            return {"Messages": [self._received(each) for each in found]}

    def change_message_visibility_batch(self, *, Entries: Sequence[Any], **_: Any) -> Any:  # noqa: N803
        with self._lock:
            self.fail("hide")
            self._tick()
            for entry in Entries:
                name, _, receives = entry["ReceiptHandle"].partition("/")
                each = self.messages[name]
                if each.receives == int(receives) and each.visible > self.now:
                    self._hide(each, entry["VisibilityTimeout"])
            return {}

    def get_queue_attributes(self, **_: Any) -> Any:
        return {"Attributes": {COUNTS[0]: len(self.messages) - self.hidden, COUNTS[1]: self.hidden}}

    def _tick(self) -> None:
        self.now += self.call_seconds / 8  # eight threads call at once

    def _hide(self, each: Kept, seconds: int) -> None:
        each.visible = self.now + seconds
        self.longest = max(self.longest, seconds - self.now)

    def _received(self, each: Kept) -> Any:
        source = {"DeadLetterQueueSourceArn": "arn:q"} if self._moved else {}
        return {
            "MessageId": each.id,
            "ReceiptHandle": f"{each.id}/{each.receives}",
            "Body": "",
            "Attributes": {"SentTimestamp": str(each.sent)} | source,
        }


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Sqs]:
    def make(number: int, arrive: int = 0, *, moved: bool = False) -> Sqs:
        sqs = Sqs(number, arrive, moved=moved)
        monkeypatch.setattr(time, "monotonic", lambda: sqs.now)
        return sqs

    return make


def read(sqs: Sqs, number: int, **limit: float) -> list[str]:
    """Read such a queue to the end; return the ids of its messages."""
    with Reader(URL, sqs, began=BEGAN, expected=number, **limit) as opened:  # type: ignore[arg-type]
        return [letter.id for letters in opened.batches() for letter in letters]


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("arrive", [0, 1, 10])
@pytest.mark.parametrize("limit", [{}, {"seconds": 1.0}])
def test_as_many_as_there_are_at_the_beginning_are_read_once_whatever_arrives(
    queue: Callable[..., Sqs], arrive: int, limit: dict[str, float], *, moved: bool
) -> None:
    """Of what SQS moves nobody can tell which came later."""
    sqs = queue(300, arrive, moved=moved)
    found = read(sqs, 300, **limit)
    assert len({*found}) == len(found) == 300
    assert moved or {*found} == {f"m{at}" for at in range(300)}
    assert sqs.now < 5
    assert sqs.hidden == 0


@pytest.mark.parametrize(("number", "call_seconds"), [(1_000, 2.0), (4_000, 0.5), (9_000, 0.2)])
def test_all_are_read_however_slow_the_calls_and_hidden_no_longer_than_that_took(
    queue: Callable[..., Sqs], number: int, call_seconds: float
) -> None:
    sqs = queue(number)
    sqs.in_order, sqs.call_seconds = True, call_seconds
    assert len(read(sqs, number)) == number
    calls = number / 10 * call_seconds / 8
    assert sqs.now < 4 * calls, "it reads, hides anew once or twice, and makes visible"
    assert sqs.longest <= 10
    assert sqs.hidden == 0


@pytest.mark.parametrize(
    ("taken", "held", "seconds"),
    [(0.1, 100_000, 10), (60.5, 100_000, 61), (9_000, 3_000, 150), (99_999, 1_000_000, 21_600)],
)
def test_seconds_hidden_follow_time_and_number(taken: float, held: int, seconds: int) -> None:
    assert reader.hidden_seconds(taken, held) == seconds


@pytest.mark.parametrize("call", ["receive", "hide"])
@pytest.mark.parametrize("at", [1, 13])
@pytest.mark.parametrize("interrupted", [True, False])
def test_reading_that_fails_or_is_interrupted_hides_nothing(
    queue: Callable[..., Sqs], call: str, at: int, *, interrupted: bool
) -> None:
    """A call to hide that fails is no failure of the reading; its ten are visible in time."""
    sqs = queue(1_000)
    sqs.call_seconds = 2.0
    calls: list[str] = []

    def fail(name: str) -> None:
        calls.append(name)
        if name == call and calls.count(call) == at:
            if not interrupted:
                raise ReadTimeoutError(endpoint_url=URL)
            signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)

    sqs.fail = fail
    error = KeyboardInterrupt if interrupted else ReadTimeoutError
    with pytest.raises(error) if interrupted or call == "receive" else nullcontext():
        read(sqs, 1_000)
    assert calls.count(call) >= at
    assert sqs.hidden == 0


def test_hundred_thousand_letters_are_looked_at_for_a_second(queue: Callable[..., Sqs]) -> None:
    sqs = queue(100_000)
    found = read(sqs, 100_000, seconds=1.0)
    assert 0 < len({*found}) == len(found) < 10_000
    assert sqs.now < 3
    assert sqs.hidden == 0


@pytest.mark.parametrize(
    ("expected", "arrive", "elsewhere", "unread"),
    [(0, 0, 0, 0), (250, 0, 0, 0), (900, 0, 0, 0), (900, 10, 0, 600), (900, 0, 400, 400)],
)
def test_what_was_expected_counts_as_unread_if_it_is_still_there(
    queue: Callable[..., Sqs], expected: int, arrive: int, elsewhere: int, unread: int
) -> None:
    """SQS gives nothing where others hide messages, or as many are hidden as it allows."""
    sqs = queue(300 + elsewhere, arrive)
    sqs.call_seconds = 0.4
    for each in islice(sqs.messages.values(), elsewhere):
        each.visible = 1_000.0
    with Reader(URL, sqs, began=BEGAN, expected=expected) as opened:  # type: ignore[arg-type]
        assert sum(map(len, opened.batches())) == 300
        assert sqs.now < 60
    assert opened.unread == unread
