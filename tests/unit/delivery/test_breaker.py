"""A target that does not answer: what is sent to it, and where all else waits."""

import time
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from bucketcast.delivery.breaker import Breaker, BreakerState, LocalStore, Outage
from bucketcast.delivery.messages import Message
from bucketcast.delivery.policy import History, Policy
from bucketcast.errors import DeliveryError, NotConnected
from bucketcast.limits import COUNTED_SECONDS, LONGEST_OUTAGE_PAUSE_SECONDS, TERM_MS
from tests.unit.delivery.bench import (
    AT_ITS_END,
    IN_ORDER,
    NOW,
    PLAIN,
    SENT,
    Bench,
    counts,
    everything,
    failed,
    message,
)

SILENT = NotConnected("no answer within 10 s")
PAUSED = "the target is paused since 2027-01-15 08:00:00 UTC"
NEWER = Message("newer", "receipt of newer", '{"v": 2, "events": []}', SENT, 1)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Seconds since 1970, which only a test moves."""
    made = SimpleNamespace(now=NOW / 1_000)
    monkeypatch.setattr(time, "time", lambda: made.now)
    return made


def silent_bench(error: DeliveryError = SILENT, **more: Any) -> Bench:
    """One whose target did not answer a moment ago."""
    bench = Bench(everything(error), first_alone=True, **more)
    bench(message("0", "z"))
    bench.target.batches.clear()
    bench.queue.sent.clear()
    bench.queue.dead.clear()
    bench.queue.pauses.clear()
    return bench


def paused_bench(since: int = NOW, policy: Policy = PLAIN) -> Bench:
    bench = Bench(policy=policy)
    bench.store.outage = Outage(0, 0, paused=since)
    return bench


# While it is paused


def test_paused_target_is_sent_nothing_and_the_reason_is_stored() -> None:
    bench = paused_bench()
    outcome = bench(message("1", "ab"), message("2", "c"))
    assert (bench.target.batches, outcome.stay, bench.queue.back) == ([], [], [["a", "b", "c"]])
    assert (counts(outcome), outcome.waiting) == ((0, 0, 0), 3)
    (sent,) = bench.queue.sent
    assert sent.history == History(SENT, 0, PAUSED, "Paused")


@pytest.mark.parametrize(
    ("outage", "reason"),
    [
        (Outage(0, 0, paused=NOW), PAUSED),
        (Outage(NOW, NOW, error="NotConnected", reason="no answer"), "no answer"),
    ],
)
def test_in_order_a_new_function_knows_why_nothing_was_tried(outage: Outage, reason: str) -> None:
    bench = Bench(policy=IN_ORDER)
    bench.store.outage = outage
    bench(message("1", "a", sent=AT_ITS_END))
    assert f"{reason} (given up after 13 days" in bench.queue.reasons[0]
    assert bench.store.outage == outage, "to give up is no probe"


def test_after_a_pause_everything_is_sent() -> None:
    bench = paused_bench()
    bench(message("1", "a"))
    bench.store.outage = None
    assert bench(message("2", "bc")).delivered == 2


# While it does not answer


def test_a_large_message_that_waits_again_is_hidden_for_longer_the_more_do() -> None:
    bench = silent_bench()
    bench.queue.depth = 2 * 10_800
    waits = message("1", [f"{n}" for n in range(500)], failed(since=NOW - TERM_MS // 2), receives=2)
    outcome = bench(waits, message("small", "a"))
    assert (outcome.stay, outcome.waiting, len(bench.queue.sent)) == (["1"], 501, 1)
    assert 1_440 <= bench.queue.pauses[waits.receipt] <= 2_160


@pytest.mark.parametrize(("depth", "left"), [(None, 900.0), (1, COUNTED_SECONDS - 1)])
def test_where_it_is_not_known_how_many_wait_none_is_hidden(depth: int | None, left: float) -> None:
    bench = silent_bench()
    bench.queue.depth = depth
    waits = message("1", [f"{n}" for n in range(500)], failed(since=NOW - TERM_MS // 2), receives=2)
    outcome = bench(waits, remaining=[left] * 99)
    assert (outcome.stay, len(bench.queue.sent)) == ([], 1)


@pytest.mark.parametrize("policy", [IN_ORDER, Policy(in_order=True, time_to_live=60)])
def test_in_order_waiting_messages_stay(policy: Policy) -> None:
    """Also behind what cannot be opened: what is not said to stay is deleted."""
    bench = silent_bench(policy=policy)
    outcome = bench(NEWER, message("1", "a"), message("2", "b"))
    assert (sorted(outcome.stay), bench.target.batches) == (["1", "2", "newer"], [])
    assert bench.queue.sent == []


# The probe


def test_one_event_alone_finds_out_whether_it_answers(clock: SimpleNamespace) -> None:
    bench = silent_bench()
    clock.now += 1
    outcome = bench(message("1", "abc"), message("2", "de"))
    ((key,),) = bench.target.batches
    assert key in "abcde"
    assert (counts(outcome), outcome.waiting) == ((0, 1, 0), 4)
    assert sum(map(len, bench.queue.back)) == 5


def test_an_event_that_the_target_hangs_on_does_not_block_the_others(
    clock: SimpleNamespace,
) -> None:
    bench = silent_bench()
    bench.target.answer = lambda keys: (
        dict.fromkeys(range(len(keys)), SILENT) if "a" in keys else {}
    )
    for _ in range(60):
        clock.now += 400
        if bench(message("1", "abcdef")).delivered:
            break
    else:
        pytest.fail("always the same event was tried")


def test_the_first_event_that_a_target_takes_is_written_once_for_its_settings() -> None:
    store = Mock(wraps=LocalStore())
    for settings in ("old", "old", "new"):
        breaker = Breaker(store, settings)
        for _ in range(3):
            breaker.begin_batch(lambda: 25.0)
            breaker.record_success()
    assert store.clear.call_count == 2


@pytest.mark.parametrize(
    ("away", "seconds"), [(0, 1), (60, 10), (300, 50), (600, 60), (13 * 86_400, 60)]
)
def test_the_pause_grows_with_the_time_that_it_is_away_for(away: int, seconds: int) -> None:
    store = LocalStore()
    store.record(Outage(NOW - away * 1_000, NOW), probed=False)
    breaker = Breaker(store)
    assert breaker.begin_batch(lambda: 25.0) is BreakerState.HALF_OPEN
    breaker.record_failure(SILENT)
    assert breaker.pause() == seconds <= LONGEST_OUTAGE_PAUSE_SECONDS


def test_changed_settings_are_tried_at_once() -> None:
    """What repaired the target waited for up to five minutes."""
    store = LocalStore()
    Breaker(store, "old").record_failure(SILENT)
    assert Breaker(store, "old").begin_batch(lambda: 25.0) is BreakerState.OPEN
    breakers = [Breaker(store, "new") for _ in range(2)]
    assert [each.begin_batch(lambda: 25.0).name for each in breakers] == ["HALF_OPEN", "OPEN"]
    breakers[0].record_failure(SILENT)
    assert Breaker(store, "new").begin_batch(lambda: 25.0) is BreakerState.OPEN


def test_a_cached_answer_is_read_again_after_a_second(clock: SimpleNamespace) -> None:
    store = LocalStore()
    breaker = Breaker(store)
    assert breaker.begin_batch(lambda: 25.0) is BreakerState.CLOSED
    store.record(Outage(NOW, NOW + 9_000), probed=False)
    assert breaker.begin_batch(lambda: 25.0) is BreakerState.CLOSED
    clock.now += 1
    assert breaker.begin_batch(lambda: 25.0) is BreakerState.OPEN
