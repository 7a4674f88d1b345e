"""Topics with limits: how often an event is tried, how far apart, and when it is given up."""

from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import Any

import pytest

from bucketcast.delivery.envelope import Delivery, Envelope, pack, unpack
from bucketcast.delivery.retention import DAY_MS
from bucketcast.delivery.retries import RENEW_AFTER
from bucketcast.dispatch import Dead, Message
from bucketcast.dispatch.outcome import Outcome
from bucketcast.dispatch.topic_limits import LimitedDispatcher, Limits
from bucketcast.errors import DeliveryError, NotConnected, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.topics.model import Topic, TopicDefaults
from tests.unit.made import event

TOPIC = "arn:aws:sns:eu-1::t"
START = 1_800_000_000_000


class Queue:
    """A topic's queue by a clock of its own, in ms; a message is a body and when it is seen."""

    def __init__(self) -> None:
        self.now = START
        self.bodies: list[tuple[int, str]] = []
        self.dead: list[Dead] = []
        self.whole: list[str] = []
        self.postponed: dict[str, int] = {}
        self.full = False

    def dead_letter(self, dead: Sequence[Dead]) -> set[int]:
        if self.full:
            return set(range(len(dead)))
        self.dead += dead
        return set()

    def dead_letter_message(self, message: Message, reason: str, error: str = "") -> bool:  # noqa: ARG002
        self.whole.append(reason)
        return True

    def send_again(self, bodies: Sequence[str], pause: int = 0) -> set[int]:
        if self.full:
            return set(range(len(bodies)))
        assert pause <= 900
        self.bodies += [(self.now + pause * 1_000, body) for body in bodies]
        return set()

    def postpone(self, pauses: dict[str, int]) -> None:
        self.postponed |= pauses


class Endpoint:
    """Answers by key, and remembers when it was asked for which."""

    max_send_seconds = 10.0
    keeps_rows = False
    settings = None

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self.seen: list[tuple[float, list[str]]] = []
        self.answers: dict[str, DeliveryError] = {}

    def send(self, events: Sequence[Event]) -> dict[int, DeliveryError]:
        keys = [each.key for each in events]
        self.seen.append(((self._queue.now - START) / 1_000, keys))
        return {n: self.answers[key] for n, key in enumerate(keys) if key in self.answers}

    def close(self) -> None:
        return


class Bench:
    def __init__(self, limits: Limits) -> None:
        self.queue = Queue()
        self.endpoint = Endpoint(self.queue)
        connect: Callable[[bool], Any] = lambda _: self.endpoint  # noqa: E731
        self.dispatch = LimitedDispatcher(connect, self.queue, batch_size=100, limits=limits)
        self.outcomes: list[Outcome] = []

    def give(self, *keys: str, topic: str = TOPIC, **more: Any) -> None:
        parts = [Delivery("r", event(key), named=True, created=START) for key in keys]
        history = Envelope(START, topic=topic, **more)
        self.queue.bodies += [(START, one.body) for one in pack(parts, START, history=history)]

    def step(self, *, receives: int = 1, left: float = 60.0, whole: float | None = None) -> Outcome:
        """Give the function all messages that are seen now; it had `whole` seconds, has `left`."""
        clock = chain([left if whole is None else whole], repeat(left))
        due = [body for when, body in self.queue.bodies if when <= self.queue.now]
        self.queue.bodies = [each for each in self.queue.bodies if each[0] > self.queue.now]
        messages = [
            Message(str(n), f"r{n}", body, self.queue.now, receives) for n, body in enumerate(due)
        ]
        outcome = self.dispatch(messages, now=self.queue.now, remaining=lambda: next(clock))
        self.queue.bodies += [(self.queue.now, due[int(n)]) for n in outcome.stay]
        self.outcomes.append(outcome)
        return outcome

    def run(self, most: int = 50) -> None:
        """Until nothing waits."""
        for _ in range(most):
            if not self.queue.bodies:
                return
            self.queue.now = max(self.queue.now, min(when for when, _ in self.queue.bodies))
            self.step()

    @property
    def times(self) -> list[float]:
        return [when for when, _ in self.endpoint.seen]

    @property
    def reasons(self) -> list[str]:
        return [one.reason for one in self.queue.dead]


def test_a_message_of_a_newer_release_waits_for_it() -> None:
    bench = Bench(Limits(retries=2, sleep=0))
    bench.queue.bodies.append((START, '{"v": 2, "items": []}'))
    assert bench.step().stay == ["0"]
    assert bench.reasons == []


def test_max_retries_of_two_are_three_tries() -> None:
    bench = Bench(Limits(retries=2, sleep=0))
    bench.endpoint.answers = {"a": Retryable("503")}
    bench.give("a", "b")
    bench.run()
    assert [keys for _, keys in bench.endpoint.seen] == [["a", "b"], ["a"], ["a"]]
    assert bench.reasons == ["503 (max_retries of 2: 3 tries failed)"]
    assert bench.queue.dead[0].error == "Retryable"
    assert sum(each.delivered for each in bench.outcomes) == 1
    assert sum(each.dead for each in bench.outcomes) == 1


def test_retry_sleep_duration_spaces_the_tries() -> None:
    bench = Bench(Limits(retries=3, sleep=5))
    bench.endpoint.answers = {"a": Retryable("503")}
    bench.give("a")
    bench.run()
    assert bench.times == [0, 5, 10, 15]


def test_no_sleep_is_no_pause() -> None:
    bench = Bench(Limits(retries=3, sleep=0))
    bench.endpoint.answers = {"a": Retryable("503")}
    bench.give("a")
    bench.run()
    assert bench.times == [0, 0, 0, 0]


def test_time_to_live_counts_from_the_event_and_ends_it_in_time() -> None:
    bench = Bench(Limits(time_to_live=10, sleep=4))
    bench.endpoint.answers = {"a": Retryable("503")}
    bench.give("a")
    bench.run()
    assert bench.times == [0, 4, 8]
    assert 10_000 < bench.queue.now - START <= 12_000
    assert bench.reasons == ["time_to_live of 10 s is over after 3 tries; at last: 503"]


def test_what_came_too_late_is_not_tried_at_all() -> None:
    bench = Bench(Limits(time_to_live=10))
    bench.give("a")
    bench.queue.now += 10_001
    bench.step()
    assert bench.endpoint.seen == []
    assert bench.reasons == ["time_to_live of 10 s is over after 0 tries"]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(time_to_live=7, retries=10, sleep=3), "time_to_live of 7 s"),
        (Limits(time_to_live=60, retries=1, sleep=3), "max_retries of 1"),
    ],
)
def test_whichever_comes_first_ends_it(limits: Limits, expected: str) -> None:
    bench = Bench(limits)
    bench.endpoint.answers = {"a": Retryable("503")}
    bench.give("a")
    bench.run()
    (reason,) = bench.reasons
    assert expected in reason


def test_a_long_sleep_is_kept_though_sqs_delays_no_message_so_long() -> None:
    bench = Bench(Limits(retries=1, sleep=4_000))
    bench.endpoint.answers = {"a": Retryable("503")}
    bench.give("a")
    bench.step()
    ((when, _),) = bench.queue.bodies
    assert when == START + 900_000
    bench.queue.now = when
    outcome = bench.step()
    assert (outcome.stay, bench.queue.postponed) == (["0"], {"r0": 3_100})
    assert bench.times == [0]
    bench.queue.now += 3_100_000
    bench.step()
    assert bench.times == [0, 4_000]
    assert len(bench.queue.dead) == 1


def test_a_sleep_of_days_is_hidden_for_less_than_the_hours_that_sqs_refuses() -> None:
    """They count from the receive. What is not hidden is seen so often that it is buried."""
    bench = Bench(Limits(sleep=3 * 86_400))
    bench.endpoint.answers = {"a": Retryable("503")}
    bench.give("a")
    bench.step()
    bench.queue.now = bench.queue.bodies[0][0]
    bench.step()
    assert 36_000 < bench.queue.postponed["r0"] < 42_000


def test_a_sleep_that_never_ends_ends_with_the_term() -> None:
    """SQS drops a message after 14 days, and it would have slept on."""
    bench = Bench(Limits(sleep=2**31 - 1))
    bench.endpoint.answers = {"a": Retryable("503")}
    bench.give("a")
    bench.step()
    assert bench.queue.dead == []
    bench.queue.now += 13 * DAY_MS + 2_000
    bench.step()
    assert "given up after 13 days" in bench.reasons[0]
    assert bench.queue.bodies == []


def test_what_is_rejected_is_buried_at_once() -> None:
    bench = Bench(Limits(retries=5, sleep=0))
    bench.endpoint.answers = {"a": Rejected("too large")}
    bench.give("a", "b")
    bench.run()
    assert bench.reasons == ["too large"]
    assert len(bench.times) == 1


def test_what_had_no_turn_is_no_try() -> None:
    bench = Bench(Limits(retries=1, sleep=2))
    bench.give("a")
    bench.step(left=5.0, whole=60.0)
    assert bench.endpoint.seen == []
    bench.endpoint.answers = {"a": Retryable("503")}
    bench.run()
    assert len(bench.times) == 2
    assert len(bench.queue.dead) == 1


def test_what_has_all_the_time_of_a_short_function_is_tried() -> None:
    """With a time limit that was lowered since the topic was made, it would never be."""
    bench = Bench(Limits(retries=1))
    bench.give(*(f"k{n:03}" for n in range(150)))
    outcome = bench.step(left=13.0)
    assert (len(bench.times), outcome.delivered, outcome.waiting) == (1, 100, 50)


def test_with_an_endpoint_that_is_gone_the_rest_of_the_batch_is_not_tried() -> None:
    bench = Bench(Limits(retries=1, sleep=2))
    bench.endpoint.answers = {"k000": NotConnected("refused")}
    bench.give(*(f"k{n:03}" for n in range(150)))
    outcome = bench.step()
    assert len(bench.times) == 1
    assert (outcome.delivered, outcome.retried, outcome.waiting) == (99, 1, 50)
    tries = {
        one.event.key: envelope.attempts
        for envelope, parts in (unpack(body) for _, body in bench.queue.bodies)
        for one in parts
    }
    assert tries == {"k000": 1} | {f"k{n:03}": 0 for n in range(100, 150)}


def test_what_sqs_does_not_take_stays() -> None:
    bench = Bench(Limits(retries=1, sleep=0))
    bench.endpoint.answers = {"a": Retryable("503"), "b": Rejected("never")}
    bench.give("a")
    bench.give("b")
    bench.queue.full = True
    outcome = bench.step()
    assert outcome.stay == ["0", "1"]
    assert bench.queue.dead == []


def test_without_a_limit_of_time_it_ends_before_sqs_would_drop_it() -> None:
    bench = Bench(Limits(sleep=600))
    bench.endpoint.answers = {"a": Retryable("503")}
    bench.give("a", attempts=3, reason="503")
    bench.queue.now += 13 * DAY_MS + 1
    bench.step()
    assert len(bench.queue.dead) == 1
    assert "given up after 13 days" in bench.reasons[0]


def test_redriven_events_are_tried_without_limits() -> None:
    bench = Bench(Limits(time_to_live=1, retries=1))
    bench.endpoint.answers = {"a": Retryable("503")}
    bench.give("a", topic="")
    bench.queue.now += 60_000
    for _ in range(3):
        bench.step()
        bench.queue.now += 60_000
    assert len(bench.times) == 3
    assert bench.queue.dead == []


def test_what_is_no_message_or_ends_the_function_is_buried() -> None:
    bench = Bench(Limits(retries=1))
    bench.queue.bodies.append((START, "no envelope"))
    bench.step()
    bench.give("a")
    bench.step(receives=RENEW_AFTER)
    assert len(bench.queue.whole) == 2
    assert bench.endpoint.seen == []


def limits(defaults: TopicDefaults, **given: str) -> Limits:
    topic = Topic(tenant="", owner="a", name="t", region="r", attributes=given)
    return Limits.of(topic, defaults)


def test_absent_zero_and_the_globals_have_cephs_meaning() -> None:
    none = TopicDefaults()
    every = TopicDefaults(time_to_live=60, max_retries=3, retry_sleep_duration=5)
    zeros = {"time_to_live": "0", "max_retries": "0", "retry_sleep_duration": "0"}
    assert limits(none) == Limits(0, 0, None)
    assert not limits(none).any
    assert limits(every) == Limits(60, 3, 5)
    assert limits(every, **zeros) == Limits(0, 0, 0)
    assert limits(none, **zeros) == Limits(0, 0, 0)
    assert limits(every, max_retries="9") == Limits(60, 9, 5)
