"""Events that were not delivered: dead-lettered alone, or sent back with their like."""

from typing import Any

import pytest

from bucketcast.delivery.engine import Engine
from bucketcast.delivery.policy import History, Policy
from bucketcast.delivery.sender import Absent
from bucketcast.errors import Retryable, Throttled
from bucketcast.limits import DAY_MS, REASON_CHARACTERS, TERM_MS
from tests.unit.delivery.bench import (
    BUSY,
    NOW,
    PLAIN,
    SENT,
    Bench,
    counts,
    everything,
    failed,
    keys_in,
    message,
    only,
)


def test_events_at_their_end_without_a_dead_letter_keep_their_reasons() -> None:
    bench = Bench()
    reasons = {"a": "one", "b": "two"}
    messages = [message(key, key, failed(3, reason)) for key, reason in reasons.items()]
    for no_dead in (True, False):
        bench.queue.no_dead = no_dead
        bench(*messages, now=SENT + TERM_MS + 1)
        messages = bench.again()
    assert [reason.split(" (")[0] for reason in bench.queue.reasons] == [*reasons.values()]


def test_only_terms_begun_within_an_hour_are_merged() -> None:
    """Else one of them would be given up days before its time."""
    bench = Bench(everything(BUSY))
    ages = (2_000, 2_001, 3_602_000, 5 * 3_600_000)
    bench(*(message(f"{n}", f"{n}", failed(since=NOW - age)) for n, age in enumerate(ages)))
    assert sorted(map(len, bench.queue.back)) == [1, 1, 2]
    assert {sent.history.since for sent in bench.queue.sent} == {NOW - age for age in ages[1:]}


@pytest.mark.parametrize("other", [{"to": "elsewhere"}, {"topic": "t"}, {"redriven": True}])
def test_events_for_different_destinations_are_not_merged(other: dict[str, Any]) -> None:
    bench = Bench(everything(BUSY))
    bench(message("1", "a", failed()), message("2", "b", failed(**other)))
    assert bench.queue.back == [["a"], ["b"]]
    assert bench.queue.sent[1].history == failed(2, "busy", **other)._replace(error="Retryable")


@pytest.mark.parametrize("order", [1, -1])
def test_failed_and_untried_events_wait_apart(order: int) -> None:
    """Together the one would be given up untried, or the other's term would begin again."""
    days = 10 * DAY_MS
    untried = message("1", "a", History(NOW - days, created=NOW - days))
    tried = message("2", "b", History(SENT, reason="busy", error="Retryable"))
    bench = Bench()
    engine = Engine(bench.queue, Absent("off"))
    engine([untried, tried][::order], PLAIN, now=NOW, remaining=lambda: 900.0)
    histories = {key: sent.history for sent in bench.queue.sent for key in keys_in(sent.body)}
    assert (histories["a"].since, histories["a"].failed) == (NOW - days, False)
    assert (histories["b"].since, histories["b"].failed) == (SENT, True)


def test_a_foreign_pause_of_years_is_not_kept() -> None:
    bench = Bench()
    assert bench(message("1", "a", History(not_before=NOW + 1_000 * DAY_MS))).delivered == 1


def test_once_a_redriven_event_is_tried_once() -> None:
    bench = Bench(everything(BUSY), Policy(once=True))
    assert counts(bench(message("1", "a", History(redriven=True)))) == (0, 0, 1)


def test_reason_that_is_sent_again_is_one_that_sqs_takes() -> None:
    bench = Bench(everything(Retryable("\ufffe\ud800" + "x" * 2_000)))
    bench(message("1", "a"))
    reason = bench.queue.sent[0].history.reason
    assert reason.startswith("??xxx")
    assert len(reason) <= REASON_CHARACTERS


def test_longest_pause_of_a_message_that_stays_counts() -> None:
    bench = Bench(only({"a": Throttled("slow", 5), "b": Throttled("slow", 600)}))
    bench.queue.full = True
    bench(message("1", "ab"))
    assert 600 <= bench.queue.pauses["receipt of 1"] <= 750


def test_no_more_messages_are_postponed_than_there_is_time_for() -> None:
    """A function that is killed over thousands has sent the rest back, and deleted nothing."""
    bench = Bench(everything(BUSY))
    bench.queue.full = True
    messages = [message(f"{n}", [f"{n}"]) for n in range(900)]

    def remaining() -> float:
        return 60.0 - 29 * len(bench.queue.pauses) / 100

    outcome = bench.engine(messages, Policy(), now=NOW, remaining=remaining)
    assert (len(bench.queue.pauses), len(outcome.stay)) == (200, 900)
