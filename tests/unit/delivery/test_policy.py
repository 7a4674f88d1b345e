"""When a message is tried again, and when it is given up: row by row of `delivery.policy`."""

import json
from typing import Any

import pytest

from bucketcast.delivery.breaker import Outage
from bucketcast.delivery.messages import Outcome
from bucketcast.delivery.messages import message as of_record
from bucketcast.delivery.policy import ATTRIBUTE, History, Policy, Term
from bucketcast.delivery.queue import Outgoing
from bucketcast.errors import (
    DeliveryError,
    NotConnected,
    Retryable,
    Unavailable,
)
from bucketcast.limits import (
    DAY_MS,
    LONGEST_DELAY_SECONDS,
    LONGEST_PAUSE_IN_ORDER_SECONDS,
    LONGEST_PAUSE_SECONDS,
    MAX_RECEIVES,
    RETENTION_DAYS,
    TERM_MS,
)
from tests.unit.delivery.bench import (
    IN_ORDER,
    NEW,
    NOW,
    PLAIN,
    Bench,
    everything,
    failed,
    message,
    only,
)
from tests.unit.samples import sqs_record

BUSY = Retryable("503")


class Run:
    """A bench whose queue has a clock, in ms: what is sent comes when its delay is over."""

    def __init__(self, policy: Policy, **errors: Any) -> None:
        self.bench = Bench(only(errors), policy)
        self.now = NOW
        self.waiting: list[tuple[int, Outgoing]] = []
        self.times: list[float] = []
        self.outcomes: list[Outcome] = []

    def give(self, keys: str, history: History = NEW) -> None:
        body = message("", keys, created=NOW).body
        self.waiting.append((NOW, Outgoing(body, history=history)))

    def step(self) -> None:
        due = [one for when, one in self.waiting if when <= self.now]
        self.waiting = [each for each in self.waiting if each[0] > self.now]
        self.bench.queue.sent = due
        sent = len(self.bench.target.batches)
        self.outcomes.append(self.bench(*self.bench.again(sent=self.now), now=self.now))
        self.times += [(self.now - NOW) / 1_000] * (len(self.bench.target.batches) - sent)
        for one in self.bench.queue.sent:
            assert one.delay <= LONGEST_DELAY_SECONDS
            self.waiting.append((self.now + one.delay * 1_000, one))

    def to_the_end(self, most: int = 50) -> None:
        for _ in range(most):
            if not self.waiting:
                return
            self.now = max(self.now, min(when for when, _ in self.waiting))
            self.step()
        pytest.fail("it does not end")


# Retries and time to live


def test_max_retries_of_two_are_three_tries() -> None:
    run = Run(Policy(retries=2, pause=0), a=BUSY)
    run.give("ab")
    run.to_the_end()
    assert run.bench.target.batches == [["a", "b"], ["a"], ["a"]]
    assert run.bench.queue.reasons == ["503 (max_retries of 2: 3 tries failed)"]
    assert run.bench.queue.dead[0].error == "Retryable"
    assert sum(each.delivered for each in run.outcomes) == 1


def test_a_pause_is_kept_though_sqs_delays_no_message_so_long() -> None:
    run = Run(Policy(retries=2, pause=4_000), a=BUSY)
    run.give("a")
    run.to_the_end()
    assert run.times == [0, 4_000, 8_000]


def test_a_pause_that_never_ends_ends_with_the_term() -> None:
    run = Run(Policy(pause=2**31 - 1), a=BUSY)
    run.give("a")
    run.to_the_end(3_000)
    assert run.times == [0]
    assert run.now - NOW - TERM_MS < 2 * LONGEST_DELAY_SECONDS * 1_000
    assert run.bench.queue.reasons == ["503 (given up after 13 days and 1 tries)"]


def test_long_pauses_are_sent_again_ten_at_a_time() -> None:
    """SQS refuses to hide a message for more than twelve."""
    bench = Bench()
    some = [message(f"{n}", "a", failed(not_before=NOW + 3 * DAY_MS)) for n in range(25)]
    assert (bench(*some).stay, bench.queue.calls) == ([], [10, 10, 5])
    bench.queue.full = True
    assert len(bench(*some).stay) == 25
    assert max(bench.queue.pauses.values()) <= 12 * 3_600


def test_time_to_live_counts_from_the_event_and_ends_it_in_time() -> None:
    run = Run(Policy(time_to_live=10, pause=4), a=BUSY)
    run.give("a")
    run.to_the_end()
    assert run.times == [0, 4, 8]
    assert 10_000 < run.now - NOW <= 12_000
    assert run.bench.queue.reasons == ["time_to_live of 10 s is over after 3 tries; at last: 503"]


def test_too_old_event_without_a_dead_letter_comes_back_after_a_pause() -> None:
    bench = Bench(policy=Policy(time_to_live=10))
    bench.queue.no_dead = True
    bench(message("1", "a", sent=NOW - 60_000))
    assert bench.queue.sent[0].delay == 10


# Once, and redriven


def test_a_redrive_of_a_dead_letter_begins_a_term_for_the_same() -> None:
    known = failed(9, to="arn", topic="t", not_before=5)
    assert known.for_redrive(7) == History(created=7, to="arn", topic="t", redriven=True)


# Pauses


def _pause(sent: Outgoing) -> int:
    return max(sent.delay, (sent.history.not_before - NOW) // 1_000)


@pytest.mark.parametrize(
    ("tries", "least", "most"),
    [
        (0, 1, 1),
        (1, 1, 2),
        (4, 8, 16),
        (9, 256, 512),
        (11, 1_024, 2_048),
        (9_000, 1_800, LONGEST_PAUSE_SECONDS),
    ],
)
def test_pause_doubles_with_every_try_and_has_an_end(tries: int, least: int, most: int) -> None:
    for _ in range(50):
        bench = Bench(everything(BUSY))
        bench(message("1", "a", failed(tries)))
        assert least <= _pause(bench.queue.sent[0]) <= most


@pytest.mark.parametrize("policy", [IN_ORDER, Policy(in_order=True, time_to_live=14 * 86_400)])
def test_in_order_a_pause_of_the_target_adds_no_receives(policy: Policy) -> None:
    bench = Bench(policy=policy)
    bench.store.outage = Outage(0, 0, paused=NOW)
    bench(message("1", "a", sent=NOW - DAY_MS))
    assert bench.queue.pauses == {"receipt of 1": LONGEST_PAUSE_IN_ORDER_SECONDS}


@pytest.mark.parametrize("error", [NotConnected("refused"), Unavailable("no answer")])
@pytest.mark.parametrize("policy", [IN_ORDER, Policy(in_order=True, time_to_live=14 * 86_400)])
def test_in_order_the_receives_that_sqs_counts_to_last_for_the_term(
    policy: Policy, error: DeliveryError
) -> None:
    """What would be moved by SQS has no reason with it."""
    bench = Bench(everything(error), policy)
    now = NOW
    for receives in range(1, MAX_RECEIVES - 20):  # some are for a function that crashes
        bench.store.outage = None
        bench(message("1", "a", sent=NOW, receives=receives), now=now)
        if bench.queue.dead:
            break
        now += bench.queue.pauses["receipt of 1"] * 1_000
    assert bench.queue.dead_keys == ["a"]
    assert now - NOW < RETENTION_DAYS * DAY_MS


# The history that a message carries


@pytest.mark.parametrize(
    "text", ["", "x", "[" * 100_000, "[]", "null", '{"since": "x", "tries": true, "other": 1}']
)
def test_broken_or_foreign_history_is_empty(text: str) -> None:
    assert of_record(sqs_record("", beside={ATTRIBUTE: text})).history == History()


def test_a_history_that_began_tomorrow_does_not_keep_a_message_for_ever() -> None:
    old = NOW - TERM_MS - 1
    term = Term(NOW, old, 1, failed(since=NOW + DAY_MS), PLAIN)
    assert (term.first_sent, term.expired) == (old, True)


def test_history_is_written_without_defaults_and_read_unchanged() -> None:
    known = failed(3, 'an "answer" 😀', to="arn", created=7)
    assert History.read(known.json) == known
    assert json.loads(known.json).keys() == {"since", "tries", "reason", "error", "to", "created"}
    assert len(failed(reason="😀" * 1_000).json.encode()) < 8_192
    assert History().json == ""
