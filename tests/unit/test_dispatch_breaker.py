"""A target that does not answer: what is sent to it, and where all else waits."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from bucketcast.dispatch.breaker import LONGEST_PAUSE_MS, Breaker, Gate, Memory, Trouble
from bucketcast.envelope import unpack
from bucketcast.errors import NotAuthorized, NotConnected, Rejected, Retryable, Throttled
from bucketcast.retries import TERM_MS
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
    bench.way.pauses.clear()
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
    assert bench.way.back == [(list("abcdef"), NOW - 1_000, 1, 1)]
    assert bench.way.reasons == [(str(SILENT), "NotConnected")]


def test_a_login_that_is_refused_for_the_first_may_be_taken_for_the_others() -> None:
    """A firewall that dislikes one event answers 403 too."""
    bench = First(only({"a": NotAuthorized("forbidden")}))
    outcome = bench(message("1", "abc"))
    assert bench.target.batches == [["a"], ["a"], ["b", "c"]]
    assert counts(outcome) == (2, 1, 0)
    assert bench.book.read() is None


def test_what_comes_after_the_first_is_sent_in_the_least_time_that_a_function_may_have() -> None:
    """Else each invocation would send one event."""
    bench = First(only({}))
    assert bench(message("1", "abc"), left=[45.0, 44.9, 43.1]).delivered == 3
    late = First(only({}))
    assert late(message("1", "abc"), left=[45.0, 44.9, 42.9]).delivered == 1
    short = First(only({}))
    assert short(message("1", "abc"), left=[9.0, 8.9, 8.8]).delivered == 3


# While it does not answer


def test_nothing_is_sent_to_a_target_that_does_not_answer() -> None:
    bench = silent_bench()
    outcome = bench(message("1", "ab"), message("2", "c"))
    assert bench.target.batches == []
    assert (outcome.stay, counts(outcome), outcome.waiting) == ([], (0, 0, 0), 3)
    assert outcome.fates.retried == {}, "what was not tried is no try in a trace"


def test_what_waits_is_put_together_with_the_reason_and_no_try_is_counted() -> None:
    bench = silent_bench()
    bench(message("1", "ab", reason="before", attempts=2), message("2", "c"))
    assert bench.way.back == [(["a", "b", "c"], NOW - 1_000, 2, 1)]
    assert bench.way.reasons == [(str(SILENT), "NotConnected")]


def test_a_message_that_says_why_it_waits_stays_unopened_if_it_is_alone() -> None:
    bench = silent_bench()
    outcome = bench(message("1", "ab", reason="before"))
    assert (outcome.stay, bench.way.back, bench.way.again) == (["1"], [], [])
    assert bench.way.pauses == {"receipt of 1": 1}


def test_a_message_that_does_not_say_it_yet_is_sent_again_with_the_reason() -> None:
    """In its last days nobody could say why it was never tried."""
    bench = silent_bench()
    outcome = bench(message("1", "a"))
    (body,) = bench.way.again
    envelope, (delivery,) = unpack(body)
    assert (outcome.stay, delivery.event.key) == ([], "a")
    assert (envelope.since, envelope.attempts) == (NOW - 1_000, 1), "its term goes on"
    assert (envelope.reason, envelope.error) == (str(SILENT), "NotConnected")


def test_full_messages_are_not_opened() -> None:
    bench = silent_bench()
    full = [message(str(n), [f"{n}/{each}" for each in range(500)], reason="so") for n in (1, 2)]
    outcome = bench(*full, message("3", "c", reason="so"))
    assert (outcome.stay, bench.way.back) == (["1", "2", "3"], [])
    assert outcome.waiting == 1_001


def test_only_what_began_within_an_hour_goes_together() -> None:
    """Else one of them would be given up days before its time."""
    bench = silent_bench()
    ages = (0, 1, 3_600_000, 5 * 3_600_000)
    bench(*(message(f"{n}", f"{n}", since=NOW - age, attempts=1) for n, age in enumerate(ages)))
    taken = [keys for keys, *_ in bench.way.back]
    assert sorted(map(len, taken)) == [1, 1, 2]
    assert {since for _, since, *_ in bench.way.back} >= {NOW - 3_600_000}


def test_what_was_only_waiting_is_buried_at_the_end_of_its_term() -> None:
    bench = silent_bench()
    old = message("1", "a", since=NOW - TERM_MS - 1, attempts=1, reason=str(SILENT))
    assert bench(old).dead == 1
    assert bench.way.dead[0].reason.startswith("no answer within 10 s (given up after 13 days")


def test_broken_messages_are_buried_all_the_same() -> None:
    bench = silent_bench()
    broken = message("1", "a")._replace(body="rubbish")
    assert counts(bench(broken, message("2", "b", reason="so"))) == (0, 0, 1)


def test_what_sqs_does_not_take_stays() -> None:
    bench = silent_bench(full=True)
    outcome = bench(message("1", "a"), message("2", "b"))
    assert sorted(outcome.stay) == ["1", "2"]
    assert set(bench.way.pauses) == {"receipt of 1", "receipt of 2"}


def test_in_order_what_waits_stays_where_it_is() -> None:
    bench = silent_bench(in_order=True)
    outcome = bench(message("1", "a"), message("2", "b"))
    assert (outcome.stay, bench.target.batches) == (["1", "2"], [])
    assert (bench.way.back, bench.way.again) == ([], [])


# The probe


def test_one_event_alone_finds_out_whether_it_answers(clock: Clock) -> None:
    bench = silent_bench()
    clock.now += 1
    outcome = bench(message("1", "abc"), message("2", "de"))
    ((key,),) = bench.target.batches
    assert key in "abcde"
    assert (counts(outcome), len(bench.way.back)) == ((0, 5, 0), 1)


def test_an_event_that_the_target_hangs_over_does_not_hold_the_others(clock: Clock) -> None:
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
    assert bench.book.read() is None


@pytest.mark.parametrize(
    "answer", [Retryable("busy"), Throttled("slow", 9), Rejected("never"), NotAuthorized("who")]
)
def test_any_answer_is_one(clock: Clock, answer: Exception) -> None:
    bench = silent_bench()
    bench.target.answer = everything(answer)  # type: ignore[arg-type]
    clock.now += 1
    bench(message("1", "a"))
    assert bench.book.read() is None


def test_of_all_functions_one_probes() -> None:
    book = Memory()
    book.note(Trouble(NOW - 60_000, NOW), probed=False)
    breakers = [Breaker(book) for _ in range(5)]
    gates = [each.gate(lambda: 25.0) for each in breakers]
    assert sorted(gate.name for gate in gates) == ["OPEN"] * 4 + ["PROBE"]
    assert {each.pause() for each in breakers[1:]} == {10}, "they come back when more is known"


def test_a_probe_of_a_function_that_was_killed_is_taken_over(clock: Clock) -> None:
    book = Memory()
    book.note(Trouble(NOW - 60_000, NOW), probed=False)
    assert Breaker(book).gate(lambda: 25.0) is Gate.PROBE
    clock.now += 24.9
    other = Breaker(book)
    assert other.gate(lambda: 25.0) is Gate.OPEN
    clock.now += 0.1
    assert other.gate(lambda: 25.0) is Gate.PROBE


def test_a_late_failure_of_another_function_ends_no_probe(clock: Clock) -> None:
    book = Memory()
    book.note(Trouble(NOW - 60_000, NOW), probed=False)
    late, prober = Breaker(book), Breaker(book)
    assert prober.gate(lambda: 25.0) is Gate.PROBE
    late.silent(SILENT)
    clock.now += 11
    assert Breaker(book).gate(lambda: 25.0) is Gate.OPEN


@pytest.mark.parametrize(
    ("away", "seconds"), [(0, 1), (60, 10), (600, 100), (1_800, 300), (13 * 86_400, 300)]
)
def test_the_pause_grows_with_the_time_that_it_is_away_for(away: int, seconds: int) -> None:
    book = Memory()
    book.note(Trouble(NOW - away * 1_000, NOW), probed=False)
    breaker = Breaker(book)
    assert breaker.gate(lambda: 25.0) is Gate.PROBE
    breaker.silent(SILENT)
    assert breaker.pause() == seconds
    assert seconds * 1_000 <= LONGEST_PAUSE_MS


def test_what_is_known_is_asked_for_again_after_a_second(clock: Clock) -> None:
    book = Memory()
    breaker = Breaker(book)
    assert breaker.gate(lambda: 25.0) is Gate.CLOSED
    book.note(Trouble(NOW, NOW + 9_000), probed=False)
    assert breaker.gate(lambda: 25.0) is Gate.CLOSED
    clock.now += 1
    assert breaker.gate(lambda: 25.0) is Gate.OPEN


# Time, and calls


def test_what_goes_back_is_sent_ten_at_a_time() -> None:
    """It was a call for each message."""
    bench = Bench(only({"b": Throttled("slow", 1)}))
    bench(*(message(str(n), "ab") for n in range(25)))
    assert (bench.way.calls, len(bench.way.back)) == ([10, 10, 5], 25)


def test_what_there_is_no_time_to_send_back_stays() -> None:
    bench = Bench(only({"b": Throttled("slow", 1)}))
    outcome = bench(*(message(str(n), "ab") for n in range(25)), left=[60, 60, 60, 0.5, 0.5])
    assert (bench.way.calls, len(outcome.stay)) == ([10], 15)


def test_no_more_messages_are_postponed_than_there_is_time_for() -> None:
    """A function that is killed over thousands has sent the rest back, and deleted nothing."""
    bench = Bench(everything(Retryable("busy")))
    messages = [message(str(n), "ab", reason="before") for n in range(900)]

    def remaining() -> float:
        return 60.0 - 29 * len(bench.way.pauses) / 100

    outcome = bench.dispatcher(messages, now=NOW, remaining=remaining)
    assert len(bench.way.pauses) == 200
    assert len(outcome.stay) == 900


def test_halving_ends_where_the_time_does() -> None:
    """A batch of a thousand that is refused whole is up to two thousand tries."""
    bench = Bench(everything(Rejected("something in it")))
    outcome = bench(message("1", "abcdefgh"), left=[60] * 4 + [44.9] * 4)
    assert [len(batch) for batch in bench.target.batches] == [8, 4, 2]
    assert (bench.way.dead, counts(outcome)) == ([], (0, 8, 0))
    assert outcome.stay == ["1"], "nothing of it was judged"


def test_first_batch_is_not_begun_where_what_came_before_took_the_time() -> None:
    bench = Bench(only({}))
    outcome = bench(message("1", "ab"), left=[60, 30])
    assert (bench.target.batches, outcome.stay) == ([], ["1"])
    assert bench.way.pauses == {"receipt of 1": 0}


def test_messages_are_seen_again_soon_after_the_function_was_killed() -> None:
    bench = Bench(only({}))
    bench(*(message(f"{n}", "a", receives=n) for n in (1, 4, 6, 9, 400)))
    assert list(bench.way.kept.values()) == [15, 15, 32, 256, 300]


def test_in_order_the_spacing_is_no_shorter_than_the_run() -> None:
    """Spaced out over little time, they were seen again while the function was at work on them."""
    bench = Bench(only({}), in_order=True)
    nearly = NOW - TERM_MS
    bench(message("1", "a", receives=990, sent=nearly, since=nearly))
    (kept,) = bench.way.kept.values()
    assert kept >= 300
    assert bench.way.pauses == {}


def answers(*made: Callable[[list[str]], Any]) -> Answer:
    left = list(made)

    def answer(keys: list[str]) -> Any:
        return left.pop(0)(keys)

    return answer


def test_a_target_that_freezes_in_the_middle_keeps_what_it_took() -> None:
    bench = First(answers(only({}), only({"c": SILENT, "d": SILENT})), batch_size=3)
    outcome = bench(message("1", "abcdefg"))
    assert bench.target.batches == [["a"], ["b", "c", "d"]]
    assert counts(outcome) == (2, 5, 0)
    assert [keys for keys, *_ in bench.way.back] == [list("cdefg")]
