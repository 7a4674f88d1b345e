"""A target that does not answer: what is sent to it, and where all else waits."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from bucketcast.delivery.envelope import unpack
from bucketcast.delivery.retention import DAY_MS
from bucketcast.delivery.retries import TERM_MS
from bucketcast.dispatch.breaker import LONGEST_PAUSE_MS, Breaker, BreakerState, LocalStore, Outage
from bucketcast.errors import NotAuthorized, NotConnected, Rejected, Retryable, Throttled
from tests.unit.test_dispatch import NOW, Answer, Bench, counts, everything, message, only

SILENT = NotConnected("no answer within 10 s")


class Clock:
    """Seconds since 1970, which only a test moves."""

    def __init__(self) -> None:
        self.now = NOW / 1_000

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "time", made)
    return made


class First(Bench):
    """A target of which the first event of an invocation goes alone, as of all but mirrors."""

    def __init__(self, answer: Answer, **more: Any) -> None:
        super().__init__(answer, **more)
        self.target.first_alone = True


def silent_bench(**more: Any) -> First:
    """One whose target did not answer a moment ago."""
    bench = First(everything(SILENT), **more)
    bench(message("0", "z", reason="before"))
    bench.target.batches.clear()
    bench.queue.pauses.clear()
    return bench


# One event goes before the others


def test_first_event_of_an_invocation_is_confirmed_before_the_others_are_sent() -> None:
    bench = First(only({}), batch_size=3)
    assert bench(message("1", "abc"), message("2", "def")).delivered == 6
    assert bench.target.batches == [["a"], ["b", "c", "d"], ["e", "f"]]


def test_a_frozen_target_gets_one_event_of_a_batch() -> None:
    bench = First(everything(SILENT))
    outcome = bench(message("1", "abc"), message("2", "def"))
    assert bench.target.batches == [["a"]]
    assert (outcome.stay, counts(outcome)) == ([], (0, 6, 0))
    assert bench.queue.back == [(list("abcdef"), NOW - 1_000, 1, 1)]
    assert bench.queue.reasons == [(str(SILENT), "NotConnected")]


def test_a_login_that_is_refused_for_the_first_may_be_taken_for_the_others() -> None:
    """A firewall that dislikes one event answers 403 too."""
    bench = First(only({"a": NotAuthorized("forbidden")}))
    outcome = bench(message("1", "abc"))
    assert bench.target.batches == [["a"], ["a"], ["b", "c"]]
    assert counts(outcome) == (2, 1, 0)
    assert bench.store.read() is None


def test_what_comes_after_the_first_is_sent_in_the_least_time_that_a_function_may_have() -> None:
    """Else each invocation would send one event."""
    bench = First(only({}))
    assert bench(message("1", "abc"), left=[45.0, 44.9, 43.1]).delivered == 3
    late = First(only({}))
    assert late(message("1", "abc"), left=[45.0, 44.9, 42.9]).delivered == 1
    short = First(only({}))
    assert short(message("1", "abc"), left=[9.0, 8.9, 8.8]).delivered == 3


# While it is paused


def paused_bench(since: int = NOW, **more: Any) -> First:
    bench = First(only({}), **more)
    bench.store.note(Outage(0, 0, paused=since), probed=False)
    return bench


def test_nothing_is_sent_to_a_paused_target_and_the_message_says_why_it_waits() -> None:
    bench = paused_bench()
    outcome = bench(message("1", "ab"), message("2", "c"))
    assert bench.target.batches == []
    assert (outcome.stay, counts(outcome), outcome.waiting) == ([], (0, 0, 0), 3)
    assert bench.queue.back == [(list("abc"), NOW - 1_000, 1, 1)]
    assert bench.queue.reasons == [("the target is paused since 2027-01-15 08:00:00 UTC", "Paused")]


def test_in_order_the_events_of_a_paused_target_stay_where_they_are() -> None:
    bench = paused_bench(in_order=True)
    outcome = bench(message("1", "a"), message("2", "b"))
    assert (outcome.stay, bench.queue.back, bench.queue.again) == (["1", "2"], [], [])


def test_what_waits_for_a_paused_target_is_dead_lettered_before_sqs_drops_it() -> None:
    bench = paused_bench()
    bench(message("1", "a", reason="the target is paused", since=NOW - TERM_MS - 1, attempts=1))
    assert bench.queue.dead_keys == ["a"]
    assert "the target is paused (given up after 13 days" in bench.queue.dead[0].reason


def test_in_order_a_new_function_knows_why_nothing_was_tried() -> None:
    for outage, reason in (
        (Outage(0, 0, paused=NOW), "the target is paused since 2027-01-15 08:00:00 UTC"),
        (Outage(NOW, NOW, error="NotConnected", reason="no answer"), "no answer"),
    ):
        bench = First(only({}), in_order=True)
        bench.store.note(outage, probed=False)
        bench(message("1", "a", sent=NOW - TERM_MS - DAY_MS * 3 // 4))
        ((_, why),) = bench.queue.dead_messages
        assert f"{reason} (given up after 13 days" in why


@pytest.mark.parametrize(("ago", "seconds"), [(0, 1), (60, 10), (86_400, 60)])
def test_a_pause_is_looked_at_again_within_a_minute(ago: int, seconds: int) -> None:
    bench = paused_bench(NOW - ago * 1_000)
    bench(message("1", "a", reason="before"))
    assert bench.queue.pauses == {"receipt of 1": seconds}


def test_after_a_pause_everything_is_sent() -> None:
    bench = paused_bench()
    bench(message("1", "a"))
    bench.store.clear()
    assert bench(message("2", "bc")).delivered == 2


# While it does not answer


def test_nothing_is_sent_to_a_target_that_does_not_answer() -> None:
    bench = silent_bench()
    outcome = bench(message("1", "ab"), message("2", "c"))
    assert bench.target.batches == []
    assert (outcome.stay, counts(outcome), outcome.waiting) == ([], (0, 0, 0), 3)
    assert outcome.outcomes.retried == {}, "what was not tried is no try in a trace"


def test_what_waits_is_put_together_with_the_reason_and_no_try_is_counted() -> None:
    bench = silent_bench()
    bench(message("1", "ab", reason="before", attempts=2), message("2", "c"))
    assert bench.queue.back == [(["a", "b", "c"], NOW - 1_000, 2, 1)]
    assert bench.queue.reasons == [(str(SILENT), "NotConnected")]


def test_a_message_that_says_why_it_waits_stays_unopened_if_it_is_alone() -> None:
    bench = silent_bench()
    outcome = bench(message("1", "ab", reason="before"))
    assert (outcome.stay, bench.queue.back, bench.queue.again) == (["1"], [], [])
    assert bench.queue.pauses == {"receipt of 1": 1}


def test_a_message_that_does_not_say_it_yet_is_sent_again_with_the_reason() -> None:
    """Otherwise its dead letter would not say why it was never tried."""
    bench = silent_bench()
    outcome = bench(message("1", "a"))
    assert (outcome.stay, bench.queue.back) == ([], [])
    (body,) = bench.queue.again
    envelope, deliveries = unpack(body)
    assert [each.event.key for each in deliveries] == ["a"]
    assert (envelope.since, envelope.attempts) == (NOW - 1_000, 1), "its term goes on"
    assert (envelope.reason, envelope.error) == (str(SILENT), "NotConnected")


def test_full_messages_are_not_opened() -> None:
    bench = silent_bench()
    full = [message(str(n), [f"{n}/{each}" for each in range(500)], reason="so") for n in (1, 2)]
    outcome = bench(*full, message("3", "c", reason="so"))
    assert (outcome.stay, bench.queue.back) == (["1", "2", "3"], [])
    assert outcome.waiting == 1_001


def test_only_what_began_within_an_hour_goes_together() -> None:
    """Else one of them would be given up days before its time."""
    bench = silent_bench()
    ages = (0, 1, 3_600_000, 5 * 3_600_000)
    bench(*(message(f"{n}", f"{n}", since=NOW - age, attempts=1) for n, age in enumerate(ages)))
    taken = [keys for keys, *_ in bench.queue.back]
    assert sorted(map(len, taken)) == [1, 1, 2]
    assert {since for _, since, *_ in bench.queue.back} >= {NOW - 3_600_000}


def test_what_was_only_waiting_is_buried_at_the_end_of_its_term() -> None:
    bench = silent_bench()
    old = message("1", "a", since=NOW - TERM_MS - 1, attempts=1, reason=str(SILENT))
    assert bench(old).dead == 1
    assert bench.queue.dead[0].reason.startswith("no answer within 10 s (given up after 13 days")


def test_broken_messages_are_buried_all_the_same() -> None:
    bench = silent_bench()
    broken = message("1", "a")._replace(body="rubbish")
    assert counts(bench(broken, message("2", "b", reason="so"))) == (0, 0, 1)


def test_what_sqs_does_not_take_stays() -> None:
    bench = silent_bench(full=True)
    outcome = bench(message("1", "a"), message("2", "b"))
    assert sorted(outcome.stay) == ["1", "2"]
    assert set(bench.queue.pauses) == {"receipt of 1", "receipt of 2"}


def test_in_order_what_waits_stays_where_it_is() -> None:
    bench = silent_bench(in_order=True)
    outcome = bench(message("1", "a"), message("2", "b"))
    assert (outcome.stay, bench.target.batches) == (["1", "2"], [])
    assert (bench.queue.back, bench.queue.again) == ([], [])


# The probe


def test_one_event_alone_finds_out_whether_it_answers(clock: Clock) -> None:
    bench = silent_bench()
    clock.now += 1
    outcome = bench(message("1", "abc"), message("2", "de"))
    ((key,),) = bench.target.batches
    assert key in "abcde"
    assert (counts(outcome), len(bench.queue.back)) == ((0, 5, 0), 1)


def test_an_event_that_the_target_hangs_on_does_not_block_the_others(clock: Clock) -> None:
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


def test_after_an_answer_everything_is_sent(clock: Clock) -> None:
    bench = silent_bench()
    bench.target.answer = only({})
    clock.now += 1
    assert bench(message("1", "abc")).delivered == 3
    assert [len(batch) for batch in bench.target.batches] == [1, 2]
    assert bench.store.read() is None


@pytest.mark.parametrize(
    "answer", [Retryable("busy"), Throttled("slow", 9), Rejected("never"), NotAuthorized("who")]
)
def test_any_answer_is_one(clock: Clock, answer: Exception) -> None:
    bench = silent_bench()
    bench.target.answer = everything(answer)  # type: ignore[arg-type]
    clock.now += 1
    bench(message("1", "a"))
    assert bench.store.read() is None


def test_of_all_functions_one_probes() -> None:
    store = LocalStore()
    store.note(Outage(NOW - 60_000, NOW), probed=False)
    breakers = [Breaker(store) for _ in range(5)]
    gates = [each.state(lambda: 25.0) for each in breakers]
    assert sorted(gate.name for gate in gates) == ["HALF_OPEN"] + ["OPEN"] * 4
    assert {each.pause() for each in breakers[1:]} == {10}, "they come back when more is known"


def test_a_probe_of_a_function_that_was_killed_is_taken_over(clock: Clock) -> None:
    store = LocalStore()
    store.note(Outage(NOW - 60_000, NOW), probed=False)
    assert Breaker(store).state(lambda: 25.0) is BreakerState.HALF_OPEN
    clock.now += 24.9
    other = Breaker(store)
    assert other.state(lambda: 25.0) is BreakerState.OPEN
    clock.now += 0.1
    assert other.state(lambda: 25.0) is BreakerState.HALF_OPEN


def test_a_late_failure_of_another_function_ends_no_probe(clock: Clock) -> None:
    store = LocalStore()
    store.note(Outage(NOW - 60_000, NOW), probed=False)
    late, prober = Breaker(store), Breaker(store)
    assert prober.state(lambda: 25.0) is BreakerState.HALF_OPEN
    late.record_failure(SILENT)
    clock.now += 11
    assert Breaker(store).state(lambda: 25.0) is BreakerState.OPEN


@pytest.mark.parametrize(
    ("away", "seconds"), [(0, 1), (60, 10), (600, 100), (1_800, 300), (13 * 86_400, 300)]
)
def test_the_pause_grows_with_the_time_that_it_is_away_for(away: int, seconds: int) -> None:
    store = LocalStore()
    store.note(Outage(NOW - away * 1_000, NOW), probed=False)
    breaker = Breaker(store)
    assert breaker.state(lambda: 25.0) is BreakerState.HALF_OPEN
    breaker.record_failure(SILENT)
    assert breaker.pause() == seconds
    assert seconds * 1_000 <= LONGEST_PAUSE_MS


def test_a_cached_answer_is_read_again_after_a_second(clock: Clock) -> None:
    store = LocalStore()
    breaker = Breaker(store)
    assert breaker.state(lambda: 25.0) is BreakerState.CLOSED
    store.note(Outage(NOW, NOW + 9_000), probed=False)
    assert breaker.state(lambda: 25.0) is BreakerState.CLOSED
    clock.now += 1
    assert breaker.state(lambda: 25.0) is BreakerState.OPEN


# Time, and calls


def test_what_goes_back_is_sent_ten_at_a_time() -> None:
    """It was a call for each message."""
    bench = Bench(only({"b": Throttled("slow", 1)}))
    bench(*(message(str(n), "ab") for n in range(25)))
    assert (bench.queue.calls, len(bench.queue.back)) == ([10, 10, 5], 25)


def test_what_there_is_no_time_to_send_back_stays() -> None:
    bench = Bench(only({"b": Throttled("slow", 1)}))
    outcome = bench(*(message(str(n), "ab") for n in range(25)), left=[60, 60, 60, 0.5, 0.5])
    assert (bench.queue.calls, len(outcome.stay)) == ([10], 15)


def test_no_more_messages_are_postponed_than_there_is_time_for() -> None:
    """A function that is killed over thousands has sent the rest back, and deleted nothing."""
    bench = Bench(everything(Retryable("busy")))
    messages = [message(str(n), "ab", reason="before") for n in range(900)]

    def remaining() -> float:
        return 60.0 - 29 * len(bench.queue.pauses) / 100

    outcome = bench.dispatcher(messages, now=NOW, remaining=remaining)
    assert len(bench.queue.pauses) == 200
    assert len(outcome.stay) == 900


def test_halving_ends_where_the_time_does() -> None:
    """A batch of a thousand that is refused whole is up to two thousand tries."""
    bench = Bench(everything(Rejected("something in it")))
    outcome = bench(message("1", "abcdefgh"), left=[60] * 4 + [44.9] * 4)
    assert [len(batch) for batch in bench.target.batches] == [8, 4, 2]
    assert (bench.queue.dead, counts(outcome)) == ([], (0, 8, 0))
    assert outcome.stay == ["1"], "nothing of it was judged"


def test_first_batch_is_not_begun_where_what_came_before_took_the_time() -> None:
    bench = Bench(only({}))
    outcome = bench(message("1", "ab"), left=[60, 30])
    assert (bench.target.batches, outcome.stay) == ([], ["1"])
    assert bench.queue.pauses == {"receipt of 1": 0}


def test_messages_are_seen_again_soon_after_the_function_was_killed() -> None:
    bench = Bench(only({}))
    bench(*(message(f"{n}", "a", receives=n) for n in (1, 4, 6, 9, 400)))
    assert list(bench.queue.kept.values()) == [15, 15, 32, 256, 300]


def test_in_order_the_spacing_is_no_shorter_than_the_run() -> None:
    """Spaced out over little time, they were seen again while the function was at work on them."""
    bench = Bench(only({}), in_order=True)
    nearly = NOW - TERM_MS
    bench(message("1", "a", receives=990, sent=nearly, since=nearly))
    (kept,) = bench.queue.kept.values()
    assert kept >= 300
    assert bench.queue.pauses == {}


def answers(*made: Callable[[list[str]], Any]) -> Answer:
    left = list(made)

    def answer(keys: list[str]) -> Any:
        return left.pop(0)(keys)

    return answer


def test_a_target_that_freezes_in_mid_batch_keeps_what_it_confirmed() -> None:
    bench = First(answers(only({}), only({"c": SILENT, "d": SILENT})), batch_size=3)
    outcome = bench(message("1", "abcdefg"))
    assert bench.target.batches == [["a"], ["b", "c", "d"]]
    assert counts(outcome) == (2, 5, 0)
    assert [keys for keys, *_ in bench.queue.back] == [list("cdefg")]


@pytest.mark.parametrize(("days", "said"), [(9, 0), (11, 1)])
def test_the_events_of_a_paused_target_are_late_after_ten_days(days: int, said: int) -> None:
    bench, ages = paused_bench(), list[float]()
    old = message("1", "a", since=NOW - days * 86_400_000, attempts=1)
    bench.dispatcher([old], now=NOW, remaining=lambda: 900.0, on_begun=ages.append)
    assert len(ages) == said
