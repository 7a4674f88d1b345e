"""What becomes of each event of a batch: row by row of the table in `delivery.engine`."""

import json
from typing import Any

import pytest

from bucketcast.delivery.engine import Engine
from bucketcast.delivery.envelope import unpack
from bucketcast.delivery.messages import Message, Outcome
from bucketcast.delivery.policy import History, Policy
from bucketcast.delivery.sender import Absent
from bucketcast.delivery.tracing import Outcomes
from bucketcast.errors import DeliveryError, NotConnected, Rejected, Retryable, Throttled
from bucketcast.limits import DAY_MS, REASON_LENGTH, RENEW_AFTER, TERM_MS
from tests.unit.delivery.bench import (
    AT_ITS_END,
    IN_ORDER,
    NOW,
    ONCE,
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

BUSY = Retryable("busy")
GONE = NotConnected("refused")


# Done


def test_delivered_events_go_with_their_messages() -> None:
    bench = Bench()
    assert bench(message("1", "ab"), message("2", "c")) == Outcome(delivered=3)
    assert bench.target.batches == [["a", "b", "c"]]
    assert (bench.queue.sent, bench.queue.dead, bench.queue.pauses) == ([], [], {})


def test_old_event_that_arrives_is_delivered() -> None:
    old = message("1", "a", History(NOW - TERM_MS - 1, 1))
    assert Bench()(old) == Outcome(delivered=1)


def test_age_of_the_oldest_is_reported() -> None:
    bench = Bench()
    assert bench().oldest == 0
    outcome = bench(
        message("1", "a", sent=NOW - 3_000), message("2", "b", failed(since=NOW - 9_000))
    )
    assert outcome.oldest == 9.0


def test_every_event_is_delivered_retried_or_dead() -> None:
    errors = {"b": Rejected("x"), "d": BUSY, "g": Throttled("z", 1)}
    bench = Bench(only(errors), batch_size=3)
    outcome = bench(message("1", "abc"), message("2", "def"), message("3", "g"))
    assert (counts(outcome), outcome.stay) == ((4, 2, 1), [])


# Rejected


def test_rejected_event_is_dead_lettered_alone() -> None:
    bench = Bench(only({"b": Rejected("too long")}))
    outcome = bench(message("1", "abc", failed(2)))
    assert (counts(outcome), outcome.stay, str(outcome.reason)) == ((2, 0, 1), [], "too long")
    (dead,) = bench.queue.dead
    assert (keys_in(dead.body), dead.error, dead.reason) == (["b"], "Rejected", "too long")
    assert unpack(dead.body)[0].created == SENT


def test_rejected_event_without_a_dead_letter_is_tried_again() -> None:
    bench = Bench(only({"b": Rejected("too long")}))
    bench.queue.no_dead = True
    outcome = bench(message("1", "ab"), message("2", "c"))
    assert (outcome.stay, counts(outcome), bench.queue.back) == ([], (2, 1, 0), [["b"]])
    bench.queue.no_dead = False
    assert bench(*bench.again()).dead == 1
    assert bench.queue.reasons == ["too long"]


def test_rejected_and_retryable_of_one_message_go_their_own_ways() -> None:
    bench = Bench(only({"a": Rejected("never"), "b": BUSY}))
    outcome = bench(message("1", "abc"))
    assert (outcome.stay, counts(outcome)) == ([], (1, 1, 1))
    assert (bench.queue.dead_keys, bench.queue.back) == (["a"], [["b"]])


# Retryable


def test_failed_event_is_sent_again_with_its_history() -> None:
    bench = Bench(only({"b": BUSY}))
    outcome = bench(message("1", "abc", failed(4, since=NOW - 9_000, topic="t"), receives=3))
    assert (outcome.stay, counts(outcome), bench.queue.pauses) == ([], (2, 1, 0), {})
    (sent,) = bench.queue.sent
    assert sent.history == History(NOW - 9_000, 5, "busy", "Retryable", topic="t")
    assert 8 <= sent.delay <= 16


def test_a_first_failure_begins_the_term_when_the_message_was_sent() -> None:
    bench = Bench(everything(BUSY))
    bench(message("1", "ab"))
    (sent,) = bench.queue.sent
    assert (sent.history.since, sent.history.tries, sent.delay) == (SENT, 1, 1)
    assert [each.created for each in unpack(sent.body)] == [SENT, SENT]


def test_events_that_fail_alike_share_a_message() -> None:
    bench = Bench(everything(BUSY))
    bench(*(message(f"{n}", f"{n}") for n in range(9)), message("old", "o", failed(1)))
    assert sorted(bench.queue.back) == [[*"012345678"], ["o"]]


def test_untried_events_join_events_tried_as_often() -> None:
    bench = Bench(everything(GONE), first_alone=True)
    bench(message("1", "abc"), message("2", "d", failed(1)))
    assert bench.target.batches == [["a"]]
    assert bench.queue.back == [["a", "d"], ["b", "c"]]
    assert [one.history.tries for one in bench.queue.sent] == [1, 0]


def test_only_terms_begun_within_an_hour_are_merged() -> None:
    """Else one of them would be given up days before its time."""
    bench = Bench(everything(BUSY))
    ages = (2_000, 2_001, 3_602_000, 5 * 3_600_000)
    bench(*(message(f"{n}", f"{n}", failed(since=NOW - age)) for n, age in enumerate(ages)))
    assert sorted(map(len, bench.queue.back)) == [1, 1, 2]
    assert {one.history.since for one in bench.queue.sent} == {NOW - age for age in ages[1:]}


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
    histories = {key: one.history for one in bench.queue.sent for key in keys_in(one.body)}
    assert (histories["a"].since, histories["a"].failed) == (NOW - days, False)
    assert (histories["b"].since, histories["b"].failed) == (SENT, True)


@pytest.mark.parametrize("given", [{"created": 10**400}, {"created": -1}, {"since": 1 << 60}])
def test_foreign_history_is_ignored(given: dict[str, int]) -> None:
    bench = Bench(everything(BUSY), Policy(time_to_live=60))
    history = History.read(json.dumps(given))
    assert bench(message("1", "a", history), message("2", "b")).retried == 2
    assert [one.history.since for one in bench.queue.sent] == [SENT]


def test_a_foreign_pause_of_years_is_not_kept() -> None:
    bench = Bench()
    assert bench(message("1", "a", History(not_before=NOW + 1_000 * DAY_MS))).delivered == 1


def test_once_a_redriven_event_is_tried_once() -> None:
    bench = Bench(everything(BUSY), ONCE)
    assert counts(bench(message("1", "a", History(redriven=True)))) == (0, 0, 1)


def test_each_merged_event_keeps_its_own_reason() -> None:
    bench = Bench(only({"a": Retryable("disk full"), "b": Retryable("locked")}))
    bench(message("1", "ab"))
    (again,) = bench.again()
    old = again._replace(sent=SENT, history=again.history._replace(since=NOW - TERM_MS - 1))
    bench(old)
    assert bench.queue.reasons == [
        "disk full (given up after 13 days and 1 tries)",
        "locked (given up after 13 days and 1 tries)",
    ]


def test_reason_that_is_sent_again_is_one_that_sqs_takes() -> None:
    bench = Bench(everything(Retryable("\ufffe\ud800" + "x" * 2_000)))
    bench(message("1", "a"))
    reason = bench.queue.sent[0].history.reason
    assert reason.startswith("??xxx")
    assert len(reason) <= REASON_LENGTH


@pytest.mark.parametrize("error", [BUSY, GONE, Throttled("slow", 9)])
def test_messages_that_sqs_does_not_take_stay(error: DeliveryError) -> None:
    bench = Bench(everything(error))
    bench.queue.full = True
    outcome = bench(message("1", "a"), message("2", "b"))
    assert (sorted(outcome.stay), counts(outcome)) == (["1", "2"], (0, 2, 0))
    assert set(bench.queue.pauses) == {"receipt of 1", "receipt of 2"}


def test_longest_pause_of_a_message_that_stays_counts() -> None:
    bench = Bench(only({"a": Throttled("slow", 5), "b": Throttled("slow", 600)}))
    bench.queue.full = True
    bench(message("1", "ab"))
    assert 600 <= bench.queue.pauses["receipt of 1"] <= 750


def test_events_are_sent_back_ten_at_a_time_while_there_is_time() -> None:
    bench = Bench(everything(BUSY))
    some = [message(f"{n}", "a", failed(topic=f"{n}")) for n in range(25)]
    assert (bench(*some).stay, bench.queue.calls) == ([], [10, 10, 5])
    late = Bench(everything(BUSY))
    outcome = late(*some, left=[60, 60, 60, 0.5, 0.5])
    assert (late.queue.calls, len(outcome.stay)) == ([10], 15)


def test_no_more_messages_are_postponed_than_there_is_time_for() -> None:
    """A function that is killed over thousands has sent the rest back, and deleted nothing."""
    bench = Bench(everything(BUSY))
    bench.queue.full = True
    messages = [message(f"{n}", "ab") for n in range(900)]

    def remaining() -> float:
        return 60.0 - 29 * len(bench.queue.pauses) / 100

    outcome = bench.engine(messages, Policy(), now=NOW, remaining=remaining)
    assert (len(bench.queue.pauses), len(outcome.stay)) == (200, 900)


# Out of time


def test_events_out_of_time_come_back_at_once_without_a_try() -> None:
    """40 s may be what the next batch takes, and 5 s are for saying what became of it."""
    bench = Bench(batch_size=2)
    outcome = bench(message("1", "abc"), message("2", "d", failed(3)), left=[60, 60, 44.9])
    assert (bench.target.batches, outcome.stay) == ([["a", "b"]], [])
    assert (counts(outcome), outcome.waiting) == ((2, 0, 0), 2)
    assert bench.queue.back == [["c"], ["d"]]
    assert [one.delay for one in bench.queue.sent] == [0, 0]
    assert [one.history.tries for one in bench.queue.sent] == [0, 3]
    assert bench.queue.sent[1].history == failed(3)
    assert bench.target.closed == 0


def test_in_order_events_out_of_time_come_back_at_once() -> None:
    """The target takes events: were they hidden for longer, a long queue would never be done."""
    bench = Bench(policy=IN_ORDER, chunk_bytes=4)
    messages = [message(key, key, sent=NOW - 7_200_000) for key in "abcd"]
    outcome = bench(*messages, left=[60, 60, 1.0])
    assert (bench.target.batches, outcome.stay) == ([["a"]], ["b", "c", "d"])
    assert {*bench.queue.pauses.values()} == {0}


def test_untried_event_is_not_dead_lettered_however_old_it_is() -> None:
    bench = Bench(everything(BUSY), batch_size=1)
    old = History(NOW - TERM_MS - 1, 3)
    bench(message("1", "a", old), message("2", "b", old), left=[60, 60, 1.0])
    assert (bench.target.batches, bench.queue.dead_keys) == ([["a"]], ["a"])
    assert bench.queue.reasons == ["busy (given up after 13 days and 4 tries)"]
    assert bench.queue.back == [["b"]]


def test_unopened_messages_stay_and_are_visible_at_once() -> None:
    bench = Bench(chunk_bytes=1)
    outcome = bench(message("1", "a"), message("2", "b"), message("3", "c"), left=[60, 60, 1.0])
    assert (bench.target.batches, outcome.stay) == ([["a"]], ["3"])
    assert (bench.queue.back, bench.queue.pauses) == ([["b"]], {"receipt of 3": 0})


# A message nobody reads


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


# For a newer release

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


# At the end of its term


@pytest.mark.parametrize(
    ("sent", "history", "dead_lettered"),
    [
        (NOW - TERM_MS - 1, History(), True),
        (NOW - TERM_MS, History(), False),
        (SENT, History(NOW - TERM_MS - 1, 7), True),
        (SENT, History(NOW - TERM_MS, 7), False),
        # It only waited so far: its term begins with its first try.
        (SENT, History(NOW - TERM_MS - 1), False),
        # Longer ago than SQS keeps anything: it was moved, by whatever way.
        (SENT, History(NOW - 2 * TERM_MS, 7), False),
    ],
)
def test_event_past_its_term_is_dead_lettered_with_its_last_reason(
    sent: int, history: History, *, dead_lettered: bool
) -> None:
    bench = Bench(everything(GONE))
    outcome = bench(message("1", "a", history, sent=sent))
    assert (bench.target.batches, str(outcome.reason)[:7]) == ([["a"]], "refused")
    assert bench.queue.dead_keys == (["a"] if dead_lettered else [])
    assert bench.queue.back == ([] if dead_lettered else [["a"]])


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


def test_expired_message_without_a_dead_letter_keeps_its_reason() -> None:
    bench = Bench()
    bench.queue.no_dead = True
    bench(message("1", "a", failed(9, since=NOW - TERM_MS - 1)))
    for _ in range(3):
        bench(*bench.again())
    assert bench.target.batches == []
    (left,) = bench.queue.sent
    assert left.history.reason == "refused"
    assert left.delay >= 1


def test_message_that_crashes_the_function_is_dead_lettered_unopened() -> None:
    bench = Bench()
    old = History(AT_ITS_END, 1)
    outcome = bench(
        message("1", "ab", old, receives=4, sent=SENT), message("2", "c", old, receives=3)
    )
    assert (bench.target.batches, counts(outcome)) == ([["c"]], (1, 0, 2))
    (dead,) = bench.queue.dead
    assert keys_in(dead.body) == ["a", "b"]
    assert dead.reason == (
        "no try came to an end: the function ended before it could say why "
        "(given up after 13 days and 1 tries)"
    )
    assert dead.history.created == SENT


# What SQS itself would do


@pytest.mark.parametrize("how", [{"receives": RENEW_AFTER}, {"sent": AT_ITS_END}])
def test_aged_message_is_sent_again_before_anything_else(how: dict[str, Any]) -> None:
    """Also where the function dies of it: it did not say what became of it so far."""
    bench = Bench()
    aged = message("1", "a", **how)
    outcome = bench(aged, message("2", "b"))
    assert (bench.target.batches, outcome.stay) == ([["b"]], [])
    (sent,) = bench.queue.sent
    assert (sent.body, sent.delay) == (aged.body, 0)
    assert sent.history.since == sent.history.created == aged.sent, "it is as old as before"


def test_given_up_events_are_dead_lettered_and_reported_per_chunk() -> None:
    bench = Bench(chunk_bytes=30)
    over = failed(since=NOW - TERM_MS - 1)
    dead_lettered: list[int] = []
    reported: list[int] = []
    bench.queue.dead_letter = lambda dead: dead_lettered.append(len(dead)) or set()  # type: ignore[method-assign,func-returns-value]
    outcome = bench(
        *(message(str(n), str(n % 10), over) for n in range(30)),
        on_outcomes=lambda each: reported.append(sum(map(len, each.dead.values()))),
    )
    assert (outcome.dead, dead_lettered) == (30, [10, 5, 10, 5])
    assert reported == [15, 15, 0]


def test_queue_that_takes_nothing_is_called_once() -> None:
    bench = Bench(everything(BUSY))
    bench.queue.full = True
    hour = 3_600_000
    messages = [message(str(n), "a", failed(since=SENT - n * hour)) for n in range(100)]
    assert (len(bench(*messages).stay), bench.queue.calls) == (100, [10])


def test_aged_message_keeps_its_history() -> None:
    bench = Bench()
    known = failed(7, since=NOW - 5_000, topic="t", created=3)
    bench(message("1", "a", known, receives=RENEW_AFTER))
    assert bench.queue.sent[0].history == known


def test_aged_message_that_is_no_envelope_is_sent_again_too() -> None:
    bench = Bench()
    assert bench(Message("1", "r", "rubbish", NOW, RENEW_AFTER)) == Outcome()
    assert [one.body for one in bench.queue.sent] == ["rubbish"]


def test_aged_messages_are_sent_again_ten_at_a_time_while_there_is_time() -> None:
    """Were the function ended here, all that was sent again would be there twice."""
    aged = [message(str(n), "a", receives=RENEW_AFTER) for n in range(25)]
    bench = Bench()
    assert (bench(*aged).stay, bench.queue.calls, bench.target.batches) == ([], [10, 10, 5], [])
    late = Bench()
    assert late(*aged, left=[60, 60, 0, 0]).stay == [str(n) for n in range(10, 25)]
    assert late.queue.calls == [10]


def test_aged_message_that_sqs_does_not_take_is_tried() -> None:
    bench = Bench()
    bench.queue.full = True
    assert bench(message("1", "a", receives=RENEW_AFTER)).delivered == 1


def test_messages_are_seen_again_soon_after_the_function_was_killed() -> None:
    bench = Bench()
    bench(*(message(f"{n}", "a", receives=n) for n in (1, 4, 6, 9, 400)))
    assert list(bench.queue.kept.values()) == [15, 15, 32, 256, 300]


# In order


def test_in_order_one_event_at_a_time() -> None:
    bench = Bench(policy=IN_ORDER)
    assert bench(message("1", "a"), message("2", "b"), message("3", "c")).delivered == 3
    assert bench.target.batches == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("error", [BUSY, GONE, Throttled("slow", 9)])
def test_in_order_nothing_is_sent_after_the_first_that_failed(error: DeliveryError) -> None:
    bench = Bench(only({"b": error}), IN_ORDER)
    outcome = bench(message("1", "a"), message("2", "b"), message("3", "c"), message("4", "d"))
    assert bench.target.batches == [["a"], ["b"]]
    assert (outcome.stay, counts(outcome)) == (["2", "3", "4"], (1, 3, 0))
    assert bench.queue.sent == [], "it would be last"


def test_in_order_a_rejected_event_lets_the_next_go() -> None:
    bench = Bench(only({"b": Rejected("never")}), IN_ORDER)
    outcome = bench(message("1", "a"), message("2", "b"), message("3", "c"))
    assert bench.target.batches == [["a"], ["b"], ["c"]]
    assert (outcome.stay, bench.queue.dead_keys) == ([], ["b"])


def test_in_order_a_part_never_goes_back_behind_the_others() -> None:
    bench = Bench(only({"b": BUSY}), IN_ORDER)
    outcome = bench(message("1", "abc"), message("2", "d"))
    assert (outcome.stay, bench.queue.sent) == (["1", "2"], [])


def test_in_order_an_aged_message_is_not_put_behind_the_others() -> None:
    bench = Bench(everything(BUSY), IN_ORDER)
    outcome = bench(message("1", "a", receives=RENEW_AFTER, sent=NOW - TERM_MS // 2))
    assert (bench.queue.sent, outcome.stay) == ([], ["1"])


def test_in_order_an_untried_message_is_dead_lettered_alone() -> None:
    """None is tried beside it: if that crashed the function, it would not be deleted."""
    bench = Bench(everything(GONE), IN_ORDER)
    bench(message("1", "a"))
    outcome = bench(message("2", "b", sent=AT_ITS_END), message("3", "c", sent=AT_ITS_END))
    assert (bench.target.batches, counts(outcome), outcome.stay) == ([["a"]], (0, 0, 1), ["3"])
    assert bench.queue.reasons[0].startswith("it waited behind events that the target did")


# In chunks


def test_progress_is_reported_per_chunk() -> None:
    bench = Bench(only({"a": BUSY}), chunk_bytes=1)
    seen: list[Outcomes] = []
    bench(message("1", "ab"), message("2", "c"), on_outcomes=seen.append)
    assert [[each.key for each in one.delivered] for one in seen] == [["b"], ["c"], []]
    assert [[each.key for each in one.retried.get("busy", ())] for one in seen] == [["a"], [], []]


def test_large_message_and_ten_thousand_messages_are_delivered() -> None:
    bench = Bench()
    large = message("large", [f"{n}" for n in range(1_000)])
    small = message("", "a")
    many = [small._replace(id=f"{n}", receipt=f"{n}") for n in range(10_000)]
    assert bench(large, *many) == Outcome(delivered=11_000)


def test_ten_thousand_messages_that_wait_become_a_few() -> None:
    bench = Bench(everything(BUSY))
    small = message("", "a")
    outcome = bench(*(small._replace(id=f"{n}", receipt=f"{n}") for n in range(10_000)))
    assert (outcome.stay, sum(map(len, bench.queue.back))) == ([], 10_000)
    assert len(bench.queue.sent) == 10


def test_a_message_that_was_given_twice_is_sent_twice_and_settled() -> None:
    bench = Bench(everything(BUSY))
    outcome = bench(message("1", "a"), message("1", "a"))
    assert (outcome.stay, bench.queue.back) == ([], [["a", "a"]])
