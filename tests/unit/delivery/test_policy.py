"""When a message is tried again, and when it is given up: row by row of `delivery.policy`."""

import json

import pytest

from bucketcast.delivery.breaker import Outage
from bucketcast.delivery.messages import message as of_record
from bucketcast.delivery.policy import ATTRIBUTE, History, Policy, Term
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
    MAX_RECEIVES,
    RETENTION_DAYS,
    TERM_MS,
)
from tests.unit.delivery.bench import (
    IN_ORDER,
    NOW,
    PLAIN,
    SENT,
    Bench,
    everything,
    failed,
    message,
    only,
)
from tests.unit.samples import sqs_record

BUSY = Retryable("503")


# Retries and time to live


def test_max_retries_of_two_are_three_tries() -> None:
    bench = Bench(only({"a": BUSY}), Policy(retries=2, pause=0))
    bench(message("1", "ab", failed(1)))
    bench(*bench.again())
    assert bench.target.batches == [["a", "b"], ["a"]]
    assert bench.queue.reasons == ["503 (max_retries of 2: 3 tries failed)"]
    assert bench.queue.dead[0].error == "Retryable"


def test_a_pause_is_kept_though_sqs_delays_no_message_so_long() -> None:
    bench = Bench(everything(BUSY), Policy(pause=4_000))
    bench(message("1", "a"))
    for seconds, tries in ((900, 1), (3_999, 1), (4_000, 2)):
        assert bench.queue.sent[0].delay <= LONGEST_DELAY_SECONDS
        bench(*bench.again(), now=NOW + seconds * 1_000)
        assert len(bench.target.batches) == tries


def test_a_pause_that_never_ends_ends_with_the_term() -> None:
    bench = Bench(everything(BUSY), Policy(pause=2**31 - 1))
    for now in (NOW, NOW + DAY_MS, NOW + TERM_MS):
        bench(*(bench.again() or [message("1", "a")]), now=now)
    assert bench.target.batches == [["a"]]
    assert bench.queue.reasons == ["503 (given up after 13 days and 1 tries)"]


def test_long_pauses_are_sent_again_ten_at_a_time() -> None:
    """SQS refuses to hide a message for more than twelve."""
    bench = Bench()
    some = [message(f"{n}", "a", failed(not_before=NOW + 3 * DAY_MS)) for n in range(25)]
    assert (bench(*some).stay, bench.queue.calls) == ([], [10, 10, 5])
    bench.queue.full = True
    assert len(bench(*some).stay) == 25
    assert max(bench.queue.pauses.values()) <= 12 * 3_600


def test_time_to_live_counts_from_the_event_and_ends_it_in_time() -> None:
    bench = Bench(everything(BUSY), Policy(time_to_live=10, pause=4))
    bench(message("1", "a", failed(2), created=NOW - 8_000))
    assert bench.queue.sent[0].delay == 3
    bench(*bench.again(), now=NOW + 3_000)
    assert bench.target.batches == [["a"]]
    assert bench.queue.reasons == ["time_to_live of 10 s is over after 3 tries; at last: 503"]


def test_too_old_event_without_a_dead_letter_comes_back_after_a_pause() -> None:
    bench = Bench(policy=Policy(time_to_live=10))
    bench.queue.no_dead = True
    bench(message("1", "a", sent=NOW - 60_000))
    assert bench.queue.sent[0].delay == 10


# Once, and redriven


# Pauses


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
    "text",
    [
        *("", "x", "[" * 100_000, "[]", "null", '{"since": "x", "tries": true, "other": 1}'),
        '{"since": -1, "created": 18014398509481984}',
    ],
)
def test_broken_or_foreign_history_is_empty(text: str) -> None:
    assert of_record(sqs_record("", beside={ATTRIBUTE: text})).history == History()


@pytest.mark.parametrize(
    ("sent", "history", "expired"),
    [
        (NOW - TERM_MS - 1, History(), True),
        (NOW - TERM_MS, History(), False),
        (SENT, failed(since=NOW - TERM_MS - 1), True),
        # It only waited so far: its term begins with its first try.
        (SENT, History(NOW - TERM_MS - 1), False),
        # Longer ago than SQS keeps anything: it was moved, by whatever way.
        (SENT, failed(since=NOW - 2 * TERM_MS), False),
        # One that began tomorrow does not keep a message for ever.
        (NOW - TERM_MS - 1, failed(since=NOW + DAY_MS), True),
    ],
)
def test_a_term_is_over_after_days_since_the_first_try(
    sent: int, history: History, *, expired: bool
) -> None:
    assert Term(NOW, sent, 1, history, PLAIN).expired is expired


def test_history_is_written_without_defaults_and_read_unchanged() -> None:
    known = failed(3, 'an "answer" 😀', to="arn", created=7)
    assert History.read(known.json) == known
    assert json.loads(known.json).keys() == {"since", "tries", "reason", "error", "to", "created"}
    assert len(failed(reason="😀" * 1_000).json.encode()) < 8_192
    assert History().json == ""
