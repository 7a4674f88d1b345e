"""What becomes of each event of a batch: row by row of the table in `bucketcast.dispatch`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from bucketcast.delivery.envelope import Delivery, Envelope, pack, unpack
from bucketcast.delivery.retention import DAY_MS
from bucketcast.delivery.retries import LONGEST_PAUSE, RENEW_AFTER, TERM_MS
from bucketcast.dispatch import Dead, Dispatcher, Message, Outcome, Requeue
from bucketcast.dispatch.breaker import Breaker, LocalStore
from bucketcast.dispatch.dispatcher import LONGEST_LIFE_MS
from bucketcast.errors import (
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Rejected,
    Retryable,
    Throttled,
)
from bucketcast.event import Event
from bucketcast.settings.options import read
from bucketcast.targets import base
from bucketcast.targets.base import options
from tests.unit.made import event

NOW = 1_800_000_000_000
Answer = Callable[[list[str]], base.Failures]


class Target(base.Target):
    """Answers as configured; records the keys that it was sent and whether it was closed."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(read(options.Common, {}))
        self.answer = answer
        self.batches: list[list[str]] = []
        self.closed = 0

    first_alone = False  # the tests of it say otherwise

    @property
    def where(self) -> str:
        return "here"

    def send(self, events: Sequence[Event]) -> base.Failures:
        self.batches.append([each.key for each in events])
        return self.answer(self.batches[-1])

    def probe(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self.closed += 1


@dataclass
class FakeQueue:
    """Takes what leaves the batch, but for what `full` says."""

    full: bool = False
    dead: list[Dead] = field(default_factory=list)
    dead_messages: list[tuple[str, str]] = field(default_factory=list)
    back: list[tuple[list[str], int, int, int]] = field(default_factory=list)
    reasons: list[tuple[str, str]] = field(default_factory=list)
    histories: list[Envelope] = field(default_factory=list, compare=False)
    again: list[str] = field(default_factory=list)
    renewals: list[int] = field(default_factory=list)
    pauses: dict[str, int] = field(default_factory=dict)
    calls: list[int] = field(default_factory=list, compare=False)
    kept: dict[str, int] = field(default_factory=dict, compare=False)

    def dead_letter(self, dead: Sequence[Dead]) -> set[int]:
        if self.full:
            return set(range(len(dead)))
        self.dead += dead
        return set()

    def dead_letter_message(self, message: Message, reason: str, error: str = "") -> bool:  # noqa: ARG002
        if not self.full:
            self.dead_messages.append((message.id, reason))
        return not self.full

    def requeue(self, parts: Sequence[Requeue]) -> set[int]:
        self.calls.append(len(parts))
        if self.full:
            return set(range(len(parts)))
        for part, history, pause in parts:
            keys = [each.event.key for each in part]
            self.back.append((keys, history.since, history.attempts, pause))
            self.reasons.append((history.reason, history.error))
            self.histories.append(history)
        return set()

    def send_again(self, bodies: Sequence[str], pause: int = 0) -> set[int]:  # noqa: ARG002
        self.renewals.append(len(bodies))
        if self.full:
            return set(range(len(bodies)))
        self.again += bodies
        return set()

    def postpone(self, pauses: dict[str, int]) -> None:
        self.pauses |= pauses

    @contextmanager
    def heartbeat(self, seconds: Mapping[str, int]) -> Iterator[None]:
        self.kept |= seconds
        yield

    @property
    def dead_keys(self) -> list[str]:
        return [each.delivery.event.key for each in self.dead]


class Bench:
    """A dispatcher between a made-up target and a made-up way."""

    def __init__(
        self,
        answer: Answer,
        *,
        batch_size: int = 1_000,
        in_order: bool = False,
        full: bool = False,
    ) -> None:
        self.target = Target(answer)
        self.queue = FakeQueue(full)
        self.connections: list[bool] = []
        self.store = LocalStore()
        self.dispatcher = Dispatcher(
            self._connect,
            self.queue,
            batch_size=batch_size,
            in_order=in_order,
            breaker=Breaker(self.store),
        )

    def _connect(self, fresh: bool) -> Target:  # noqa: FBT001 - dispatch calls it by place
        self.connections.append(fresh)
        return self.target

    def __call__(self, *messages: Message, left: Sequence[float] = ()) -> Outcome:
        """Dispatch; `left` are the seconds left whenever it asks, then more than enough."""
        clock = iter(left)
        return self.dispatcher(messages, now=NOW, remaining=lambda: next(clock, 900.0))

    def pause_is_over(self) -> None:
        """Let a target that did not answer be tried again."""
        found = self.store.read()
        assert found is not None
        self.store.clear()
        self.store.note(found._replace(next=0, probing=0), probed=True)


def message(  # noqa: PLR0913 - what SQS and an envelope say of one
    name: str,
    keys: str | Sequence[str],
    *,
    receives: int = 1,
    attempts: int = 0,
    reason: str = "",
    since: int = NOW - 1_000,
    sent: int = NOW - 1_000,
    created: int = 0,
) -> Message:
    made = [Delivery("rule", event(key), created=created) for key in keys]
    error = "NotConnected" if reason else ""
    history = Envelope(since, attempts=attempts, reason=reason, error=error)
    ((body, _, _),) = pack(made, since, history=history)
    return Message(name, f"receipt of {name}", body, sent, receives)


def everything(error: DeliveryError) -> Answer:
    def answer(_: list[str]) -> base.Failures:
        raise error

    return answer


def only(errors: dict[str, DeliveryError]) -> Answer:
    return lambda keys: {index: errors[key] for index, key in enumerate(keys) if key in errors}


def counts(outcome: Outcome) -> tuple[int, int, int]:
    return outcome.delivered, outcome.retried, outcome.dead


# Delivered


def test_delivered_events_go_with_their_messages() -> None:
    bench = Bench(only({}))
    outcome = bench(message("1", "ab"), message("2", "c"))
    assert outcome == Outcome(delivered=3)
    assert bench.target.batches == [["a", "b", "c"]]
    assert bench.queue == FakeQueue()


def test_messages_are_cut_into_batches_that_the_target_takes() -> None:
    bench = Bench(only({}), batch_size=2)
    assert bench(message("1", "abc"), message("2", "de")).delivered == 5
    assert bench.target.batches == [["a", "b"], ["c", "d"], ["e"]]


def test_connection_is_made_when_needed_and_kept() -> None:
    bench = Bench(only({}))
    bench()
    assert bench.connections == []
    bench(message("1", "a"))
    bench(message("2", "b"))
    assert (bench.connections, bench.target.closed) == ([False], 0)
    bench.dispatcher.close()
    bench.dispatcher.close()
    assert bench.target.closed == 1


# Rejected


def test_rejected_event_is_buried_alone() -> None:
    bench = Bench(only({"b": Rejected("too long")}))
    outcome = bench(message("1", "abc", attempts=2, since=NOW - 9_000))
    assert counts(outcome) == (2, 0, 1)
    assert outcome.stay == []
    (dead,) = bench.queue.dead
    assert (dead.delivery.event.key, dead.reason) == ("b", "too long")
    assert (dead.since, dead.error) == (NOW - 9_000, "Rejected")
    assert str(outcome.reason) == "too long"


def test_rejected_event_that_cannot_be_buried_stays() -> None:
    bench = Bench(only({"b": Rejected("too long")}), full=True)
    outcome = bench(message("1", "ab"), message("2", "c"))
    assert outcome.stay == ["1"]
    assert counts(outcome) == (2, 1, 0)


# Retryable


def test_whole_message_that_fails_first_goes_back_with_its_reason() -> None:
    bench = Bench(only({"a": Retryable("busy"), "b": Retryable("busy")}))
    outcome = bench(message("1", "ab"), message("2", "c"))
    assert (outcome.stay, counts(outcome)) == ([], (1, 2, 0))
    assert bench.queue.back == [(["a", "b"], NOW - 1_000, 1, 1)]
    assert bench.queue.reasons == [("busy", "Retryable")]


def test_whole_message_that_failed_before_stays_with_a_pause() -> None:
    bench = Bench(only({"a": Retryable("busy"), "b": Retryable("busy")}))
    outcome = bench(message("1", "ab", reason="refused"), message("2", "c"))
    assert outcome.stay == ["1"]
    assert counts(outcome) == (1, 2, 0)
    assert bench.queue.back == []
    assert bench.queue.pauses == {"receipt of 1": 1}


def test_part_that_failed_goes_back_alone() -> None:
    bench = Bench(only({"b": Retryable("busy")}))
    outcome = bench(message("1", "abc", receives=3, attempts=2, since=NOW - 9_000))
    assert outcome.stay == []
    assert counts(outcome) == (2, 1, 0)
    ((keys, since, attempts, pause),) = bench.queue.back
    assert (keys, since, attempts) == (["b"], NOW - 9_000, 5)
    assert 8 <= pause <= 16
    assert bench.queue.pauses == {}


def test_part_that_cannot_go_back_stays_as_a_whole_message() -> None:
    bench = Bench(only({"b": Retryable("busy")}), full=True)
    outcome = bench(message("1", "abc"))
    assert outcome.stay == ["1"]
    assert bench.queue.pauses == {"receipt of 1": 1}


def test_rejected_and_retryable_of_one_message_go_their_own_ways() -> None:
    bench = Bench(only({"a": Rejected("never"), "b": Retryable("busy")}))
    outcome = bench(message("1", "abc"))
    assert (outcome.stay, counts(outcome)) == ([], (1, 1, 1))
    assert bench.queue.dead_keys == ["a"]
    assert [keys for keys, *_ in bench.queue.back] == [["b"]]


def test_rest_of_a_message_whose_rejected_events_are_buried_goes_back() -> None:
    """Were it to stay, what is buried already would be tried and buried again."""
    bench = Bench(only({"a": Rejected("never"), "b": Retryable("busy")}))
    outcome = bench(message("1", "ab"))
    assert (outcome.stay, bench.queue.dead_keys) == ([], ["a"])
    assert [keys for keys, *_ in bench.queue.back] == [["b"]]


# Of a newer release

NEWER = pytest.mark.parametrize(
    "body",
    ['{"v": 2, "since": 1, "events": []}', '{"v": 2, "items": [{}]}', '{"since": "x", "v": 3}'],
)


@NEWER
def test_message_of_a_newer_release_waits_for_it_as_it_is(body: str) -> None:
    bench = Bench(only({}))
    outcome = bench(Message("1", "r", body, NOW, 3), message("2", "c"))
    assert (outcome.stay, counts(outcome)) == (["1"], (1, 0, 0))
    assert "this release reads version 1" in str(outcome.reason)
    assert 2 <= bench.queue.pauses["r"] <= 4
    assert (bench.queue.dead_messages, bench.queue.again, bench.queue.back) == ([], [], [])


@NEWER
def test_what_comes_behind_a_message_of_a_newer_release_waits_where_order_counts(body: str) -> None:
    bench = Bench(only({}), in_order=True)
    outcome = bench(message("1", "a"), Message("2", "r", body, NOW, 1), message("3", "c"))
    assert (outcome.stay, bench.target.batches) == (["2", "3"], [["a"]])


@NEWER
def test_a_message_of_a_newer_release_is_at_last_dead_lettered_unchanged(body: str) -> None:
    bench = Bench(only({}))
    outcome = bench(Message("1", "r", body, NOW - TERM_MS - 1, 600))
    assert (outcome.stay, outcome.dead, bench.queue.again) == ([], 1, [])
    ((name, reason),) = bench.queue.dead_messages
    assert (name, "this release reads version 1" in reason) == ("1", True)


# Not connected


def test_rest_is_not_tried_where_the_target_is_gone() -> None:
    bench = Bench(everything(NotConnected("refused")), batch_size=1)
    outcome = bench(message("1", "ab", reason="refused"), message("2", "c"))
    assert bench.target.batches == [["a"]]
    assert outcome.stay == []
    assert [keys for keys, *_ in bench.queue.back] == [["a", "b", "c"]], "they wait in one message"
    assert counts(outcome) == (0, 3, 0)
    assert str(outcome.reason) == "refused"
    assert bench.target.closed == 1


def test_connection_lost_in_a_batch_leaves_what_arrived() -> None:
    bench = Bench(only({"b": NotConnected("reset"), "c": NotConnected("reset")}), batch_size=3)
    outcome = bench(message("1", "abc"), message("2", "d"))
    assert bench.target.batches == [["a", "b", "c"]]
    assert counts(outcome) == (1, 3, 0)
    assert [keys for keys, *_ in bench.queue.back] == [["b", "c", "d"]]
    assert outcome.stay == []


def test_target_that_came_back_is_connected_anew() -> None:
    bench = Bench(everything(NotConnected("refused")))
    bench(message("1", "a"))
    bench.target.answer = only({})
    bench.pause_is_over()
    assert bench(message("1", "a")).delivered == 1
    assert bench.connections == [False, False]


# Not authorized


def test_secret_is_fetched_again_once() -> None:
    bench = Bench(everything(NotAuthorized("password")))
    outcome = bench(message("1", "ab", reason="password"))
    assert bench.connections == [False, True]
    assert bench.target.batches == [["a", "b"]] * 2
    assert outcome.stay == ["1"]
    assert isinstance(outcome.reason, NotAuthorized)


def test_changed_secret_is_found_without_a_retry() -> None:
    bench = Bench(lambda _: {})
    bench.target.answer = lambda keys: (
        {} if bench.connections[-1] else dict.fromkeys(range(len(keys)), NotAuthorized("password"))
    )
    assert bench(message("1", "ab")) == Outcome(delivered=2)
    assert bench.connections == [False, True]


def test_secret_that_cannot_be_read_is_an_outcome() -> None:
    def connect(_: bool) -> Target:  # noqa: FBT001
        raise NotAuthorized("the secret 'db' cannot be read")

    dispatcher = Dispatcher(
        connect, FakeQueue(), batch_size=10, in_order=False, breaker=Breaker(LocalStore())
    )
    outcome = dispatcher([message("1", "a")], now=NOW, remaining=lambda: 900.0)
    assert outcome.retried == 1
    assert str(outcome.reason) == "the secret 'db' cannot be read"


def test_what_got_through_is_not_sent_again_with_fresh_secrets() -> None:
    """A firewall that refuses one event says 403 too."""
    bench = Bench(only({"b": NotAuthorized("forbidden")}))
    outcome = bench(message("1", "ab"))
    assert bench.target.batches == [["a", "b"]]
    assert counts(outcome) == (1, 1, 0)


# A batch refused whole


@pytest.mark.parametrize("poison", ["a", "e", "h", "ah", "de", "abcdefgh"])
def test_batch_refused_whole_is_halved_until_the_poison_stands_alone(poison: str) -> None:
    def answer(keys: list[str]) -> base.Failures:
        if set(keys) & set(poison):
            raise Rejected("something in it")
        return {}

    bench = Bench(answer)
    outcome = bench(message("1", "abcdefgh"))
    assert bench.queue.dead_keys == list(poison)
    assert counts(outcome) == (8 - len(poison), 0, len(poison))
    alone = [key for batch in bench.target.batches if len(batch) == 1 for key in batch]
    assert set(poison) <= set(alone)


def test_halves_are_sent_in_their_order() -> None:
    def answer(keys: list[str]) -> base.Failures:
        if len(keys) > 1:
            raise Rejected("one at a time")
        return {}

    bench = Bench(answer)
    assert bench(message("1", "abcde")).delivered == 5
    assert [batch[0] for batch in bench.target.batches if len(batch) == 1] == list("abcde")


def test_halving_ends_where_the_connection_does() -> None:
    def answer(keys: list[str]) -> base.Failures:
        if len(keys) > 1:
            raise Rejected("something in it")
        raise NotConnected("gone")

    bench = Bench(answer)
    outcome = bench(message("1", "abcdefgh"))
    assert [len(batch) for batch in bench.target.batches] == [8, 4, 2, 1]
    assert (outcome.stay, counts(outcome)) == ([], (0, 8, 0))
    assert [len(keys) for keys, *_ in bench.queue.back] == [8]


@pytest.mark.parametrize("poison", ["a", "d"])
def test_an_unmapped_error_is_retried_and_stops_no_other_event(poison: str) -> None:
    def answer(keys: list[str]) -> base.Failures:
        if poison in keys:
            raise KeyError(poison)
        return {}

    bench = Bench(answer)
    outcome = bench(message("1", "abcd"))
    assert counts(outcome) == (3, 1, 0)
    assert [keys for keys, *_ in bench.queue.back] == [[poison]]
    assert str(outcome.reason) == "unexpected KeyError: '***'"


# Broken messages


@pytest.mark.parametrize("body", ["rubbish", '{"v": 1, "since": ""}', "[" * 100_000])
def test_broken_message_is_buried_and_its_neighbours_go_on(body: str) -> None:
    bench = Bench(only({}))
    broken = Message("broken", "r", body, NOW, 1)
    outcome = bench(message("1", "a"), broken, message("2", "b"))
    assert (outcome.stay, counts(outcome)) == ([], (2, 0, 1))
    ((name, reason),) = bench.queue.dead_messages
    assert name == "broken"
    assert "envelope" in reason


def test_broken_message_that_cannot_be_buried_stays() -> None:
    bench = Bench(only({}), full=True)
    assert bench(Message("broken", "r", "rubbish", NOW, 1)).stay == ["broken"]


# Time


def test_what_there_is_no_time_for_stays_without_a_pause() -> None:
    """40 s may be what the next batch takes, and 5 s are for saying what became of it."""
    bench = Bench(only({}), batch_size=2)
    outcome = bench(message("1", "ab"), message("2", "cd"), left=[60, 60, 44.9])
    assert bench.target.batches == [["a", "b"]]
    assert (outcome.stay, counts(outcome)) == (["2"], (2, 2, 0))
    assert bench.queue.pauses == {"receipt of 2": 0}
    assert bench.target.closed == 0


def test_the_first_batch_is_tried_however_little_time_there_is() -> None:
    bench = Bench(only({}), batch_size=2)
    outcome = bench(message("1", "ab"), left=[0.1])
    assert (bench.target.batches, outcome.delivered) == ([["a", "b"]], 2)


@pytest.mark.parametrize(
    ("sent", "since", "attempts", "buried"),
    [
        (NOW - TERM_MS - 1, NOW, 0, True),
        (NOW - TERM_MS, NOW - TERM_MS, 0, False),
        (NOW - 1, NOW - TERM_MS - 1, 7, True),
        (NOW - 1, NOW - TERM_MS, 7, False),
        # Redriven: it is the first message of its term, or is newer than any of the old term.
        (NOW - 1, NOW - TERM_MS - 1, 0, False),
        (NOW - 1, NOW - TERM_MS - DAY_MS - 2, 7, False),
    ],
)
def test_what_is_too_old_is_buried_with_its_last_reason(
    sent: int, since: int, attempts: int, *, buried: bool
) -> None:
    bench = Bench(everything(NotConnected("refused")), in_order=True)
    outcome = bench(message("1", "a", sent=sent, since=since, attempts=attempts))
    assert bench.target.batches == [["a"]]
    assert bench.queue.dead_keys == (["a"] if buried else [])
    assert outcome.stay == ([] if buried else ["1"])
    assert str(outcome.reason) == "refused"


def test_what_failed_before_is_buried_up_front_with_the_reason_that_it_has_with_it() -> None:
    """A target that says nothing takes a minute for each try: too long for all that waits."""
    bench = Bench(only({}))
    old = message("1", "ab", since=NOW - TERM_MS - 1, attempts=9, reason="refused", created=7)
    outcome = bench(old, message("2", "c"))
    assert bench.target.batches == [["c"]]
    assert (outcome.stay, counts(outcome)) == ([], (1, 0, 2))
    first, second = bench.queue.dead
    assert (first.error, first.reason) == (
        "NotConnected",
        "refused (given up after 13 days and 10 tries)",
    )
    assert first.delivery.created == second.delivery.created == 7


def test_the_last_error_seen_here_is_reported_too() -> None:
    bench = Bench(everything(NotConnected("no route")))
    bench(message("1", "a"))
    old = message("2", "b", since=NOW - TERM_MS - 1, attempts=9, reason="refused")
    assert bench(old).dead == 1
    assert bench.queue.dead[0].reason.startswith("refused; at last: no route (given up")


def test_what_cannot_be_buried_up_front_stays() -> None:
    bench = Bench(only({}), full=True)
    old = message("1", "ab", since=NOW - TERM_MS - 1, attempts=9, reason="refused")
    outcome = bench(old)
    assert (outcome.stay, counts(outcome), bench.target.batches) == (["1"], (0, 0, 0), [])


def test_what_had_no_turn_is_not_buried_however_old_it_is() -> None:
    bench = Bench(everything(Retryable("busy")), batch_size=1)
    old: Any = {"since": NOW - TERM_MS - 1, "attempts": 3}
    outcome = bench(message("1", "a", **old), message("2", "b", **old), left=[60, 60, 1.0])
    assert (bench.target.batches, bench.queue.dead_keys, outcome.stay) == ([["a"]], ["a"], ["2"])
    assert bench.queue.dead[0].reason == "busy (given up after 13 days and 4 tries)"


def test_part_that_had_no_turn_goes_back_apart_from_the_part_that_failed() -> None:
    """At its end the term is over for what was tried only."""
    bench = Bench(everything(Retryable("busy")), batch_size=1)
    outcome = bench(message("1", "ab"), left=[60, 60, 1.0])
    assert (outcome.stay, [keys for keys, *_ in bench.queue.back]) == ([], [["a"], ["b"]])
    assert bench.queue.reasons == [("busy", "Retryable"), ("", "")]


# What SQS itself would do


@pytest.mark.parametrize(
    "how", [{"receives": RENEW_AFTER}, {"sent": NOW - TERM_MS - DAY_MS // 2 - 1}]
)
def test_aged_message_is_sent_again_before_anything_else(how: dict[str, Any]) -> None:
    """Also where the function dies of it: it did not say what became of it so far."""
    bench = Bench(only({}))
    outcome = bench(message("1", "a", **how), message("2", "b"))
    assert (bench.target.batches, outcome.stay) == ([["b"]], [])
    (body,) = bench.queue.again
    envelope, (delivery,) = unpack(body)
    assert (delivery.event.key, envelope.attempts) == ("a", how.get("receives", 0))


def test_aged_message_keeps_its_history() -> None:
    bench = Bench(only({}))
    bench(message("1", "a", receives=RENEW_AFTER, attempts=600, since=NOW - 5, reason="refused"))
    envelope, _ = unpack(bench.queue.again[0])
    assert (envelope.since, envelope.attempts) == (NOW - 5, RENEW_AFTER + 600)
    assert (envelope.reason, envelope.error) == ("refused", "NotConnected")


def test_aged_message_that_is_no_envelope_is_sent_again_too() -> None:
    bench = Bench(only({}))
    assert bench(Message("1", "r", "rubbish", NOW, RENEW_AFTER)) == Outcome()
    assert bench.queue.again == ["rubbish"]


def test_aged_messages_are_sent_again_ten_at_a_time() -> None:
    bench = Bench(only({}))
    outcome = bench(*(message(str(n), "a", receives=RENEW_AFTER) for n in range(25)))
    assert (bench.queue.renewals, outcome.stay) == ([10, 10, 5], [])
    assert bench.target.batches == []


def test_aged_messages_for_which_there_is_no_time_stay() -> None:
    """Were the function ended here, all that was sent again would be there twice."""
    bench = Bench(only({}))
    aged = [message(str(n), "a", receives=RENEW_AFTER) for n in range(25)]
    outcome = bench(*aged, left=[60, 60, 0, 0])
    assert bench.queue.renewals == [10]
    assert outcome.stay == [str(n) for n in range(10, 25)]


def test_aged_message_that_sqs_does_not_take_is_tried() -> None:
    bench = Bench(only({}), full=True)
    assert bench(message("1", "a", receives=RENEW_AFTER)).delivered == 1


def test_what_the_function_dies_of_is_buried_unopened_in_the_end() -> None:
    bench = Bench(only({}))
    old: Any = {"since": NOW - TERM_MS - DAY_MS // 2 - 1, "attempts": RENEW_AFTER}
    outcome = bench(message("1", "ab", receives=4, **old), message("2", "c", receives=3, **old))
    assert (bench.target.batches, counts(outcome)) == ([["c"]], (1, 0, 2))
    ((name, reason),) = bench.queue.dead_messages
    assert name == "1"
    assert reason.startswith("no try came to an end: the function ended before it could say why")
    assert reason.endswith("(given up after 13 days and 504 tries)")


def test_in_order_an_aged_message_is_not_put_behind_the_others() -> None:
    """The rest of its receives is spaced out over the rest of its term, before it is tried."""
    bench = Bench(everything(Retryable("busy")), in_order=True)
    half = NOW - TERM_MS // 2
    outcome = bench(message("1", "a", receives=RENEW_AFTER, sent=half, since=half))
    assert (bench.queue.again, outcome.stay) == ([], ["1"])
    (pause,) = bench.queue.pauses.values()
    assert (1_000 - RENEW_AFTER - 1) * pause == pytest.approx(
        (TERM_MS / 2 + DAY_MS / 2) / 1_000, rel=0.01
    )


def test_in_order_what_never_had_a_turn_is_buried_before_sqs_drops_it() -> None:
    bench = Bench(everything(NotConnected("refused")), in_order=True)
    late = NOW - TERM_MS - DAY_MS // 2 - 1
    bench(message("1", "a"))
    outcome = bench(message("2", "b", sent=late, since=late))
    assert (bench.target.batches, counts(outcome)) == ([["a"]], (0, 0, 1))
    assert bench.queue.dead_messages[0][1].startswith("it waited behind events that the target did")


# Mirrors


class Rows(Target):
    @property
    def keeps_rows(self) -> bool:
        return True


def test_mirror_is_not_given_what_it_may_have_forgotten() -> None:
    bench = Bench(only({}))
    bench.target = Rows(only({}))
    outcome = bench(
        message("1", "a", created=NOW - LONGEST_LIFE_MS - 1),
        message("2", "b", created=NOW - LONGEST_LIFE_MS),
        # The jobs send no `created`: the `since` of the envelope counts.
        message("3", "c", since=NOW - LONGEST_LIFE_MS - 1),
    )
    assert bench.target.batches == [["b"]]
    assert (bench.queue.dead_keys, outcome.delivered) == (["a", "c"], 1)
    assert "90: bucketcast reconcile finds" in bench.queue.dead[0].reason


def test_other_targets_take_events_of_any_age() -> None:
    bench = Bench(only({}))
    assert bench(message("1", "a", created=1)).delivered == 1


def test_age_of_the_oldest_is_reported() -> None:
    bench = Bench(only({}))
    assert bench().oldest == 0
    outcome = bench(
        message("1", "a", sent=NOW - 3_000), message("2", "b", since=NOW - 9_000, attempts=1)
    )
    assert outcome.oldest == 9.0


def test_old_event_that_arrives_is_not_buried() -> None:
    bench = Bench(only({}))
    old = message("1", "a", since=NOW - TERM_MS - 1, attempts=1)
    assert bench(old) == Outcome(delivered=1)


@pytest.mark.parametrize(
    ("attempts", "receives", "least", "most"),
    [
        (0, 1, 1, 1),
        (0, 2, 1, 2),
        (0, 5, 8, 16),
        (4, 1, 8, 16),
        (6, 4, 256, 512),
        (0, 12, 600, LONGEST_PAUSE),
        (9_000, 400, 600, LONGEST_PAUSE),
    ],
)
def test_pause_doubles_with_every_try_and_has_an_end(
    attempts: int, receives: int, least: int, most: int
) -> None:
    for _ in range(50):
        bench = Bench(everything(Retryable("busy")), in_order=True)
        bench(message("1", "a", attempts=attempts, receives=receives, sent=NOW))
        (pause,) = bench.queue.pauses.values()
        assert least <= pause <= most


@pytest.mark.parametrize(
    ("after", "least", "most"), [(0, 1, 1), (7.4, 7, 10), (90, 90, 113), (1e9, 1_200, 1_200)]
)
def test_a_target_may_require_a_minimum_wait(after: float, least: int, most: int) -> None:
    for _ in range(50):
        bench = Bench(everything(Throttled("slow down", after)), in_order=True)
        bench(message("1", "a"))
        (pause,) = bench.queue.pauses.values()
        assert least <= pause <= most


def test_pause_grows_also_where_the_target_asks_for_a_short_one() -> None:
    """With `Retry-After: 1` a message was received a thousand times in 17 minutes."""
    bench = Bench(everything(Throttled("slow down", 1)), in_order=True)
    bench(message("1", "a", receives=12))
    assert bench.queue.pauses["receipt of 1"] >= 600


def test_longest_pause_of_a_message_counts() -> None:
    bench = Bench(only({"a": Throttled("slow", 5), "b": Throttled("slow", 600)}))
    bench(message("1", "ab", reason="slow"))
    assert 600 <= bench.queue.pauses["receipt of 1"] <= 750


# In order


def test_in_order_one_event_at_a_time() -> None:
    bench = Bench(only({}), in_order=True)
    assert bench(message("1", "a"), message("2", "b"), message("3", "c")).delivered == 3
    assert bench.target.batches == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("error", [Retryable("busy"), NotConnected("gone"), Throttled("slow", 9)])
def test_in_order_nothing_is_sent_after_the_first_that_failed(error: DeliveryError) -> None:
    bench = Bench(only({"b": error}), in_order=True)
    outcome = bench(message("1", "a"), message("2", "b"), message("3", "c"), message("4", "d"))
    assert bench.target.batches == [["a"], ["b"]]
    assert outcome.stay == ["2", "3", "4"]
    assert counts(outcome) == (1, 3, 0)
    assert bench.queue.back == []


def test_in_order_a_rejected_event_is_buried_and_the_next_is_sent() -> None:
    bench = Bench(only({"b": Rejected("never")}), in_order=True)
    outcome = bench(message("1", "a"), message("2", "b"), message("3", "c"))
    assert bench.target.batches == [["a"], ["b"], ["c"]]
    assert (outcome.stay, bench.queue.dead_keys) == ([], ["b"])


def test_in_order_a_part_never_goes_back_behind_the_others() -> None:
    bench = Bench(only({"b": Retryable("busy")}), in_order=True)
    outcome = bench(message("1", "abc"), message("2", "d"))
    assert outcome.stay == ["1", "2"]
    assert bench.queue.back == []


def test_every_event_is_delivered_retried_or_dead() -> None:
    errors: dict[str, Any] = {"b": Rejected("x"), "d": Retryable("y"), "g": Throttled("z", 1)}
    bench = Bench(only(errors), batch_size=3)
    outcome = bench(message("1", "abc"), message("2", "def"), message("3", "g"))
    assert counts(outcome) == (4, 2, 1)
    assert sum(counts(outcome)) == 7
