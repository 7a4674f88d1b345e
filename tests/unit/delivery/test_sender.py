"""What is sent to a target at once, and what its answers mean for the rest."""

from unittest.mock import Mock

import pytest

from bucketcast.delivery.breaker import Breaker, LocalStore, Outage
from bucketcast.delivery.connection import Connection
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.policy import History, Policy
from bucketcast.delivery.sender import Gone, Sender
from bucketcast.errors import (
    BreakerOpen,
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Rejected,
    Retryable,
    TimedOut,
)
from bucketcast.limits import DAY_MS, UNTRUSTED_REFUSALS
from bucketcast.settings.types import Pem, SecretPem
from bucketcast.targets import base
from bucketcast.targets.base import options
from tests.unit.delivery.bench import (
    IN_ORDER,
    NOW,
    PLAIN,
    SENT,
    WELL,
    Bench,
    FakeQueue,
    Target,
    counts,
    everything,
    failed,
    message,
    only,
)
from tests.unit.samples import event

GONE = NotConnected("refused")
SILENT = TimedOut("no answer within 10 s")
PASSWORD = NotAuthorized("password")


# Batches


def test_connection_is_made_when_needed_and_kept() -> None:
    bench = Bench()
    bench()
    assert bench.connections == []
    bench(message("1", "a"))
    bench(message("2", "b"))
    assert (bench.connections, bench.target.closed) == ([False], 0)
    bench.engine.close()
    bench.engine.close()
    assert bench.target.closed == 1


def test_connection_that_cannot_be_closed_costs_no_event_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(everything(GONE))
    monkeypatch.setattr(bench.target, "close", Mock(side_effect=OSError))
    assert bench(message("1", "a")).retried == 1


def test_first_event_of_an_invocation_is_confirmed_before_the_others() -> None:
    bench = Bench(batch_size=3, first_alone=True)
    assert bench(message("1", "abc"), message("2", "def")).delivered == 6
    assert bench.target.batches == [["a"], ["b", "c", "d"], ["e", "f"]]
    bench.target.batches.clear()
    bench(message("3", "gh"))
    assert bench.target.batches == [["g", "h"]], "it took one just now: silence is that event's own"


@pytest.mark.parametrize("error", [SILENT, PASSWORD])
@pytest.mark.parametrize("policy", [Policy(retries=1, pause=0), Policy(once=True), PLAIN])
def test_what_a_target_did_not_send_behind_one_without_an_answer_is_sent_now(
    error: NotConnected, policy: Policy
) -> None:
    """An event that always hangs must not use up the tries of its neighbours."""

    def answer(keys: list[str]) -> base.Failures:
        behind = dict.fromkeys(range(1, len(keys)), BreakerOpen.behind(error))
        return {0: error, **behind} if keys[0] == "b" else {}

    bench = Bench(answer, policy, batch_size=2)
    outcome = bench(message("1", "bc", failed(tries=1)), message("2", "de"))
    assert bench.target.batches[-2:] == [["c"], ["d", "e"]]
    assert (outcome.delivered, outcome.waiting) == (3, 0)
    assert [*bench.queue.back, bench.queue.dead_keys] in ([["b"], []], [["b"]])


@pytest.mark.parametrize("pause", [None, 1])
def test_where_tries_are_limited_what_was_not_sent_comes_back_soon(pause: int | None) -> None:
    """Each call tries a few: if the others waited for a part of their age, it would take days."""
    policy = Policy(retries=3, pause=pause)
    bench = Bench(only({"a": SILENT, "b": BreakerOpen.behind(SILENT)}), policy)
    bench(message("1", "ab", failed(tries=1, since=NOW - DAY_MS)))
    assert bench.queue.back == [["a"], ["b"]]
    assert max(back.delay for back in bench.queue.sent) <= 2


def test_lost_connection_keeps_the_events_that_arrived() -> None:
    bench = Bench(only({"b": GONE, "c": GONE}), batch_size=3)
    outcome = bench(message("1", "abc"), message("2", "d"))
    assert (bench.target.batches, counts(outcome)) == ([["a", "b", "c"], ["d"]], (2, 2, 0))
    assert (bench.queue.back, outcome.waiting, bench.target.closed) == ([["b", "c"]], 0, 1)


# Logins


@pytest.mark.parametrize(
    ("error", "known", "seconds", "remaining", "anew"),
    [
        (PASSWORD, "", 5.0, 60.0, True),
        (PASSWORD, "", 5.0, 44.0, False),
        (GONE, "", 5.0, 60.0, False),
        (GONE, "a key", 5.0, 60.0, True),
        (GONE, "a key", 5.0, 44.0, False),
        (GONE, "a key", 5.1, 60.0, False),
        (GONE, "another key", 5.0, 60.0, False),
        (SILENT, "a key", 5.0, 60.0, False),
    ],
)
def test_changed_secret_is_found_without_a_retry(
    monkeypatch: pytest.MonkeyPatch,
    error: DeliveryError,
    known: str,
    seconds: float,
    remaining: float,
    *,
    anew: bool,
) -> None:
    """Over TLS 1.3 a server that refuses a certificate may just close the connection.

    So may one that is away, or in the middle of a batch: that alone is no reason to send twice.
    """
    clock, sent = iter((0.0, seconds)), []
    monkeypatch.setattr("bucketcast.delivery.connection.time.monotonic", lambda: next(clock))

    def answer(keys: list[str]) -> base.Failures:
        sent.append(keys)
        return dict.fromkeys(range(len(keys)), error) if len(sent) == 1 else {}

    def connect(fresh: bool) -> Target:  # noqa: FBT001 - a connection calls it by place
        target, key = Target(answer), SecretPem("another key" if fresh else known)
        target.settings = options.Tls(cert_authority=Pem(""), client_cert=Pem(""), client_key=key)
        return target

    answers = Connection(connect).send([event("a"), event("b")], lambda: remaining)
    assert (not answers.errors, len(sent)) == (anew, 1 + anew)


def test_an_answer_that_is_on_no_list_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    unlisted = Retryable("it says 799")
    unlisted.unlisted = "799"
    bench = Bench(only({"b": unlisted}))
    for _ in range(2):
        outcome = bench(message("1", "abc"))
        assert (outcome.delivered, outcome.retried) == (2, 1)
    assert bench.store.read() == WELL
    assert caplog.text.count("an answer that is on no list") == 1


def test_secret_that_cannot_be_read_is_an_outcome() -> None:
    def connect(_: bool) -> Target:  # noqa: FBT001
        raise NotAuthorized("the secret 'db' cannot be read")

    queue = FakeQueue()
    engine = Engine(queue, Sender(Connection(connect), Breaker(LocalStore()), 10))
    outcome = engine([message("1", "a")], PLAIN, now=NOW, remaining=lambda: 900.0)
    assert (outcome.retried, queue.back) == (1, [["a"]])
    assert str(outcome.reason) == "the secret 'db' cannot be read"


# A batch refused whole


@pytest.mark.parametrize("poison", ["a", "e", "h", "ah", "de", "bcdefgh"])
def test_batch_refused_whole_is_halved_until_the_poison_stands_alone(poison: str) -> None:
    def answer(keys: list[str]) -> base.Failures:
        if set(keys) & set(poison):
            raise Rejected("something in it")
        return {}

    bench = Bench(answer)
    bench(message("0", "o"))
    bench.target.batches.clear()
    outcome = bench(message("1", "abcdefgh"))
    assert bench.queue.dead_keys == list(poison)
    assert counts(outcome) == (8 - len(poison), 0, len(poison))
    alone = [batch[0] for batch in bench.target.batches if len(batch) == 1]
    assert set(poison) <= set(alone)
    assert alone == sorted(alone), "halves are sent in their order"


def test_halving_ends_where_the_connection_does() -> None:
    def answer(keys: list[str]) -> base.Failures:
        raise Rejected.anywhere("not Unicode") if len(keys) > 1 else GONE

    bench = Bench(answer)
    outcome = bench(message("1", "abcdefgh", failed(tries=1)))
    assert [len(batch) for batch in bench.target.batches] == [8, 4, 4, 2, 2, 2, 2, 1]
    assert (counts(outcome), outcome.waiting) == ((0, 1, 0), 7)
    assert sorted(one.history.tries for one in bench.queue.sent) == [1, 2], "seven were not alone"


@pytest.mark.parametrize("poison", ["a", "d"])
def test_an_unmapped_error_is_retried_and_stops_no_other_event(poison: str) -> None:
    def answer(keys: list[str]) -> base.Failures:
        if poison in keys:
            raise KeyError(poison)
        return {}

    bench = Bench(answer)
    outcome = bench(message("1", "abcd"))
    assert (counts(outcome), bench.queue.back) == ((3, 1, 0), [[poison]])
    assert str(outcome.reason) == "unexpected KeyError: '***'"


# A target that refuses everything


REFUSED = Rejected("400 no such page")


@pytest.mark.parametrize("policy", [PLAIN, IN_ORDER])
def test_all_functions_of_a_wrong_target_bury_few_events(policy: Policy) -> None:
    """Each new function buried some."""
    store = LocalStore()
    dead = []
    for number in range(99):
        bench = Bench(only(dict.fromkeys("ab", REFUSED)), policy, store=store)
        outcome = bench(message(f"{number}", "a"), message("behind", "b"))
        dead += bench.queue.dead_keys
        if policy.in_order and outcome.stay:
            assert outcome.stay[-1] == "behind", "nothing goes behind what was held back"
    assert 0 < len(dead) < UNTRUSTED_REFUSALS


def test_one_refused_event_says_nothing_of_new_settings() -> None:
    """It kept a queue in order blocked, as the target's outage was that of the old ones."""
    store = LocalStore()
    store.count_refusals(UNTRUSTED_REFUSALS, "old", NOW)
    store.record(Outage(1, 1, error="RefusesAll", settings="old"), probed=False)
    bench = Bench(only({"a": REFUSED}), IN_ORDER, store=store)
    assert counts(bench(*(message(key, key) for key in "abc"))) == (2, 0, 1)


# Trouble of single events


def test_events_that_got_no_answer_are_sent_last_and_fewer_at_once() -> None:
    bench = Bench(batch_size=4)
    silent = [History(SENT, tries, "no answer", "TimedOut") for tries in (1, 9)]
    bench(message("1", "ab", silent[1]), message("2", "cdef", silent[0]), message("3", "ghij"))
    assert bench.target.batches == [[*"ghij"], [*"cd"], [*"ef"], ["a"], ["b"]]


# Time


def test_the_first_batch_is_tried_however_little_time_there_is() -> None:
    bench = Bench(batch_size=2)
    assert bench(message("1", "ab"), remaining=[0.1, 0.1]).delivered == 2


def test_second_part_is_sent_within_the_shortest_timeout() -> None:
    """Else each invocation would send one event."""
    for remaining, delivered in (
        ([45.0, 44.9, 43.1], 3),
        ([45.0, 44.9, 42.9], 1),
        ([9.0, 8.9, 8.8], 3),
    ):
        bench = Bench(first_alone=True)
        assert bench(message("1", "abc"), remaining=remaining).delivered == delivered


# Targets that are not there


def test_messages_of_a_target_that_will_not_come_back_are_given_up() -> None:
    queue = FakeQueue()
    Engine(queue, Gone("deleted"))([message("1", "ab")], PLAIN, now=NOW, remaining=lambda: 900.0)
    assert (queue.dead_keys, queue.reasons, queue.sent) == (["a", "b"], ["deleted"] * 2, [])
