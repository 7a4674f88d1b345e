"""Messages that are settled whole: unreadable, of a newer release, at their end, aged."""

from typing import Any

import pytest

from bucketcast.delivery.breaker import Outage
from bucketcast.delivery.envelope import unpack
from bucketcast.delivery.messages import Message
from bucketcast.delivery.policy import CRASHED, NO_ANSWER, Policy
from bucketcast.limits import RENEW_AFTER_RECEIVES, TERM_MS
from tests.unit.delivery.bench import (
    AT_ITS_END,
    IN_ORDER,
    NOW,
    SENT,
    Bench,
    counts,
    failed,
    message,
)


@pytest.mark.parametrize("body", ["rubbish", '{"v": 1, "events": ""}', "[" * 100_000])
def test_broken_message_is_dead_lettered_whole_beside_good_ones(body: str) -> None:
    bench = Bench()
    outcome = bench(message("1", "a"), Message("broken", "r", body, NOW, 1), message("2", "b"))
    assert (outcome.stay, counts(outcome)) == ([], (2, 0, 1))
    (dead,) = bench.queue.dead
    assert (dead.body, "envelope" in dead.reason) == (body, True)


def test_broken_message_without_a_dead_letter_stays() -> None:
    bench = Bench()
    bench.queue.no_dead = True
    assert bench(Message("broken", "r", "rubbish", NOW, 1)).stay == ["broken"]
    assert bench.queue.pauses["r"] >= 1


NEWER = pytest.mark.parametrize(
    "body", ['{"v": 2, "events": []}', '{"v": 2, "items": [{}]}', '{"since": "x", "v": 3}']
)


@NEWER
def test_message_of_a_newer_release_waits_for_it_as_it_is(body: str) -> None:
    bench = Bench(policy=Policy(retries=1))
    outcome = bench(Message("1", "r", body, NOW - 60_000, 1), message("2", "c"))
    assert (outcome.stay, counts(outcome)) == ([], (1, 0, 0))
    assert "this release reads version 1" in str(outcome.reason)
    (sent,) = bench.queue.sent
    assert (sent.body, sent.delay) == (body, 10)
    assert (sent.history.since, sent.history.created) == (NOW - 60_000, NOW - 60_000)
    assert sent.history.tries == 0, "the newer release is to have all its tries"


@NEWER
def test_in_order_messages_wait_behind_one_of_a_newer_release(body: str) -> None:
    bench = Bench(policy=IN_ORDER)
    outcome = bench(message("1", "a"), Message("2", "r", body, NOW, 1), message("3", "c"))
    assert (outcome.stay, bench.target.batches) == (["2", "3"], [["a"]])
    assert bench.queue.sent == []


@NEWER
@pytest.mark.parametrize("policy", [Policy(), IN_ORDER])
def test_a_message_of_a_newer_release_is_at_last_dead_lettered(body: str, policy: Policy) -> None:
    bench = Bench(policy=policy)
    outcome = bench(Message("1", "r", body, AT_ITS_END, 600, failed(since=AT_ITS_END)))
    assert (outcome.stay, outcome.dead, bench.queue.sent) == ([], 1, [])
    (dead,) = bench.queue.dead
    assert (dead.body, "this release reads version 1" in dead.reason) == (body, True)


def test_expired_message_is_dead_lettered_untried_with_its_reason() -> None:
    """A target that says nothing takes a minute for each try: too long for all that waits."""
    bench = Bench()
    old = failed(9, since=NOW - TERM_MS - 1, to="arn", topic="t")
    outcome = bench(message("1", "ab", old, created=7), message("2", "c"))
    assert (bench.target.batches, outcome.stay, counts(outcome)) == ([["c"]], [], (1, 0, 2))
    first, second = bench.queue.dead
    assert first.error == "NotConnected"
    assert first.reason == "refused (given up after 13 days and 9 tries)"
    assert (first.history.to, first.history.topic) == ("arn", "t")
    assert unpack(first.body)[0].created == unpack(second.body)[0].created == 7


def test_what_the_function_ends_with_is_halved_until_its_event_is_alone() -> None:
    """A thousand neighbours of such an event were delivered again and again for 13 days."""
    bench = Bench()
    outcome = bench(message("1", "abcde", failed(2), receives=4), message("2", "f"))
    assert (bench.target.batches, outcome.stay) == ([], ["2"]), "it may end with that, too"
    assert bench.queue.back == [["a", "b"], ["c", "d", "e"]]
    assert {sent.history.tries for sent in bench.queue.sent} == {2}
    bench.queue.sent.clear()
    bench(message("3", "a", receives=4))
    (marked,) = bench.queue.sent
    assert (marked.history.error, marked.history.tries) == ("Crashed", 0)
    bench(*bench.again(receives=99), now=NOW + TERM_MS + 1)
    assert (bench.queue.dead_keys, bench.target.batches) == (["a"], [])
    assert bench.queue.reasons[0].startswith("no try came to an end: the function ended before")


def test_of_those_that_the_function_ends_with_one_is_tried_in_a_call() -> None:
    """The others were beside one, or the function could not start: they go together first."""
    bench = Bench()
    marked = [message(key, key, failed(error="Crashed"), receives=2) for key in "abc"]
    outcome = bench(*marked, message("d", "d"))
    assert (bench.target.batches, outcome.stay) == ([["d"], ["a"]], ["b", "c"])
    bench.target.batches.clear()
    new = [message(key, key, failed(error="Crashed")) for key in "ef"]
    outcome = bench(*marked, *new)
    assert (bench.target.batches, outcome.stay) == ([["e", "f"]], ["a", "b", "c"])
    ordered = Bench(policy=IN_ORDER)
    outcome = ordered(message("1", "a", receives=4), message("2", "b", receives=4))
    assert (ordered.target.batches, outcome.stay) == ([["a"]], ["2"])


@pytest.mark.parametrize("down", [True, False])
def test_what_the_function_ended_with_is_known_and_alone_after_it_waited(*, down: bool) -> None:
    """Behind an outage, or without time for a try."""
    bench = Bench()
    if down:
        bench.store.outage = Outage(SENT, NOW * 2, error="NotConnected")
    marked = failed(0, NO_ANSWER, error=CRASHED)
    bench(*(message(key, key, marked) for key in "abc"), remaining=[3.0] * 99, total=60.0)
    assert bench.queue.back == [["a"], ["b"], ["c"]]
    assert {sent.history.error for sent in bench.queue.sent} == {CRASHED}
    bench(*(message(key, key, marked, receives=2) for key in "abc"))
    assert bench.target.batches == ([] if down else [["a"]]), "no more at once: none was tried"


@pytest.mark.parametrize("state", [{"receives": RENEW_AFTER_RECEIVES}, {"sent": AT_ITS_END}])
def test_aged_message_is_sent_again_before_anything_else(state: dict[str, Any]) -> None:
    """Also where the function dies of it: it did not say what became of it so far."""
    bench = Bench()
    aged = message("1", "a", **state)
    outcome = bench(aged, message("2", "b"))
    assert (bench.target.batches, outcome.stay) == ([["b"]], [])
    (sent,) = bench.queue.sent
    assert (sent.body, sent.delay) == (aged.body, 0)
    assert sent.history.since == sent.history.created == aged.sent, "it is as old as before"


def test_aged_messages_are_sent_again_ten_at_a_time_while_there_is_time() -> None:
    """Were the function ended here, all that was sent again would be there twice."""
    aged = [message(str(n), "a", receives=RENEW_AFTER_RECEIVES) for n in range(25)]
    late = Bench()
    assert late(*aged, remaining=[60, 60, 0, 0]).stay == [str(n) for n in range(10, 25)]
    assert (late.queue.calls, late.target.batches) == ([10], [])


def test_aged_message_that_sqs_does_not_take_is_tried() -> None:
    bench = Bench()
    bench.queue.full = True
    assert bench(message("1", "a", receives=RENEW_AFTER_RECEIVES)).delivered == 1


def test_messages_are_seen_again_soon_after_the_function_was_killed() -> None:
    bench = Bench()
    bench(*(message(f"{n}", "a", receives=n) for n in (1, 4, 6, 9, 400)))
    assert list(bench.queue.kept.values()) == [15, 15, 32, 256, 300]


def test_aged_message_keeps_its_history() -> None:
    bench = Bench()
    known = failed(7, since=NOW - 5_000, topic="t", created=3)
    bench(message("1", "a", known, receives=RENEW_AFTER_RECEIVES))
    assert bench.queue.sent[0].history == known
