"""The verdicts: row by row of the table in `delivery.ruling`, and what holds for all of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bucketcast import limits
from bucketcast.delivery.envelope import Delivery
from bucketcast.delivery.messages import Item, Message, Received
from bucketcast.delivery.policy import CRASHED, History, Policy, Term
from bucketcast.delivery.ruling import (
    Answers,
    Now,
    Standing,
    State,
    of_part,
    possible_faults_of_settings,
)
from bucketcast.delivery.verdict import Fate, Step, Verdict, of_event, of_message, of_wait
from bucketcast.errors import (
    BreakerOpen,
    DeliveryError,
    GivenUp,
    NotAuthorized,
    NotConnected,
    OutOfTime,
    Paused,
    RefusesAll,
    Rejected,
    Retryable,
    Throttled,
    TimedOut,
    Unavailable,
    Waiting,
    name_of,
)
from tests.unit.delivery.bench import IN_ORDER, NEW, NOW, ONCE, PLAIN, SENT, failed
from tests.unit.samples import event

FRESH = Standing(1_000, 1_000)
AWAY, SILENT, LOGIN = NotConnected("refused"), TimedOut("no answer"), NotAuthorized("who")
BUSY, SLOW, NEVER = Retryable("503"), Throttled("429", 7), Rejected("400")
LONE, LOCKED = Retryable("it refuses this row"), TimedOut("its row is locked")
LONE.alone = LONE.may_be_settings = LOCKED.alone = True
TOO_OLD = Rejected.anywhere("a mirror takes nothing so old")
LATE, OPEN = OutOfTime("late"), BreakerOpen("behind another")
UNREAD = Unavailable("Secrets Manager does not answer")
ENDLESS = limits.RETENTION_DAYS * limits.DAY_MS
SILENT_1, FAILED_1 = limits.SILENT_EVENTS - 1, limits.FAILED_EVENTS - 1


def item(key: str, policy: Policy = PLAIN, history: History = NEW, **of: Any) -> Item:
    sent, receives = of.get("sent", SENT), of.get("receives", 1)
    term = Term(NOW, sent, receives, history, policy.for_message(history))
    message = Message(key, key, "", sent, receives, history)
    return Item(Received(message, term), Delivery("rule", event(key), created=sent))


def part(number: int, policy: Policy = PLAIN, history: History = NEW) -> list[Item]:
    return [item(f"{n}", policy, history) for n in range(number)]


# The target, by its answers


@pytest.mark.parametrize(
    ("what", "number", "errors", "whole", "standing", "state"),
    [
        ("all were taken", 3, [], False, FRESH, State.WELL),
        ("some were taken beside silence", 3, [SILENT, SILENT], False, FRESH, State.WELL),
        ("some were taken beside a lost connection", 9, [AWAY] * 8, False, FRESH, State.WELL),
        ("nobody is there for one", 1, [AWAY], False, FRESH, State.TROUBLE),
        ("nobody is there for all", 3, [AWAY] * 3, True, FRESH, State.TROUBLE),
        ("the connection's login is refused", 1, [LOGIN], True, FRESH, State.TROUBLE),
        ("the login of one is refused", 1, [LOGIN], False, FRESH, State.UNKNOWN),
        ("one event gets no answer", 1, [SILENT], False, FRESH, State.UNKNOWN),
        ("two get none", 2, [SILENT] * 2, False, FRESH, State.UNKNOWN),
        ("three get none", 3, [SILENT] * 3, False, FRESH, State.TROUBLE),
        ("the third", 1, [SILENT], False, FRESH._replace(silent=SILENT_1), State.TROUBLE),
        ("nine are busy", 9, [BUSY] * 9, False, FRESH, State.UNKNOWN),
        ("ten are busy", 10, [BUSY] * 10, False, FRESH, State.TROUBLE),
        ("the tenth", 1, [SLOW], False, FRESH._replace(failed=FAILED_1), State.TROUBLE),
        ("all refused, but few so far", 99, [NEVER] * 99, False, FRESH, State.WELL),
        ("what cannot be sent is no answer", 99, [TOO_OLD] * 99, False, FRESH, State.UNKNOWN),
        ("nor is it silence", 3, [TOO_OLD, TOO_OLD, SILENT], False, FRESH, State.UNKNOWN),
        ("each of ten is refused alone", 10, [LONE] * 10, False, FRESH, State.WELL),
        ("each of three waits for a lock", 3, [LOCKED] * 3, False, FRESH, State.TROUBLE),
        ("one time-out for two", 2, [SILENT] * 2, True, FRESH, State.UNKNOWN),
        ("one time-out for many", 99, [SILENT] * 99, True, FRESH, State.TROUBLE),
        ("one answer for all", 99, [BUSY] * 99, True, FRESH, State.UNKNOWN),
        (
            "for both its halves, too",
            50,
            [BUSY] * 50,
            True,
            FRESH._replace(wholes=2),
            State.TROUBLE,
        ),
        ("refused as a whole", 99, [NEVER] * 99, True, FRESH, State.WELL),
        ("one answer till repair", 9, [LONE] * 9, True, FRESH._replace(wholes=2), State.TROUBLE),
        ("throttled as a whole", 99, [SLOW] * 99, True, FRESH, State.TROUBLE),
        ("no time for it", 3, [LATE] * 3, False, FRESH, State.UNKNOWN),
        ("not sent", 3, [OPEN] * 3, False, FRESH, State.UNKNOWN),
        ("its secret cannot be read", 99, [UNREAD] * 99, True, FRESH, State.UNKNOWN),
    ],
)
def test_what_the_answers_say_of_a_target(
    what: str,
    number: int,
    errors: list[DeliveryError],
    whole: bool,  # noqa: FBT001
    standing: Standing,
    state: State,
) -> None:
    answers = Answers(dict(enumerate(errors)), whole)
    ruling = of_part(part(number), answers, standing, Now(), PLAIN)
    assert ruling.state is state, what
    single = number > 1 and whole and errors[0] in (BUSY, NEVER)
    assert ruling.halves is (single and state is not State.TROUBLE), what
    ends = LATE in errors or UNREAD in errors
    assert (ruling.stops is not None) is (ends or state is State.TROUBLE), what


@pytest.mark.parametrize("whole", [False, True])
def test_silence_beside_what_was_taken_lately_is_that_of_single_events(*, whole: bool) -> None:
    answers = Answers(dict.fromkeys(range(9), SILENT), whole)
    for quiet, state in ((9.9, State.UNKNOWN), (10.0, State.TROUBLE)):
        ruling = of_part(part(9), answers, FRESH, Now(quiet), PLAIN)
        assert (ruling.state, ruling.halves) == (state, False)
        assert ruling.standing.size == (4 if whole and state is State.TROUBLE else 1_000)


@pytest.mark.parametrize("error", [SILENT, BUSY, LOGIN, SLOW])
def test_what_failed_before_says_nothing_new(error: DeliveryError) -> None:
    answers = Answers(dict.fromkeys(range(99), error))
    old = part(99, history=failed())
    assert of_part(old, answers, FRESH, Now(), PLAIN).state is State.UNKNOWN
    assert (
        of_part(old[:1], Answers({0: error}), FRESH, Now(probe_of="TimedOut"), PLAIN).state
        is State.TROUBLE
    )


@pytest.mark.parametrize("probe_of", ["TimedOut", "RefusesAll"])
def test_a_refused_probe_is_an_answer_unless_all_were_refused(probe_of: str) -> None:
    """Whether all were is known from their number: one of new settings, or of few, says nothing."""
    now = Now(probe_of=probe_of, refusals=1)
    assert of_part(part(1), Answers({0: NEVER}), FRESH, now, PLAIN).state is State.WELL


@pytest.mark.parametrize(
    ("errors", "whole", "policy", "refusals"),
    [
        ([NEVER] * 2, False, PLAIN, 2),
        ([NEVER] * 2, True, PLAIN, 1),
        ([LONE] * 2, False, PLAIN, 2),
        ([NEVER, TOO_OLD], False, PLAIN, 1),
        ([TOO_OLD] * 2, True, PLAIN, 0),
        ([NEVER], False, PLAIN, 0),
        ([NEVER] * 2, False, ONCE, 0),
        ([NEVER] * 2, False, Policy(retries=3), 0),
    ],
)
def test_refusals_of_a_part_count_if_nothing_of_it_was_taken(
    errors: list[DeliveryError],
    whole: bool,  # noqa: FBT001
    policy: Policy,
    refusals: int,
) -> None:
    answers = Answers(dict(enumerate(errors)), whole)
    faults = possible_faults_of_settings(part(2, policy), answers, policy, took=False)
    assert faults == refusals
    lone = refusals if LONE in errors else 0
    assert possible_faults_of_settings(part(2, policy), answers, policy, took=True) == lone


@pytest.mark.parametrize(
    ("refusals", "state"),
    [(limits.UNTRUSTED_REFUSALS - 1, State.WELL), (limits.UNTRUSTED_REFUSALS, State.TROUBLE)],
)
@pytest.mark.parametrize("policy", [PLAIN, IN_ORDER])
def test_what_all_functions_were_refused_is_the_settings_fault(
    refusals: int, state: State, policy: Policy
) -> None:
    now = Now(refusals=refusals)
    ruling = of_part(part(1, policy), Answers({0: NEVER}), FRESH, now, policy)
    assert (ruling.state, ruling.stops is not None) == (state, state is State.TROUBLE)


@pytest.mark.parametrize("quiet", [1.0, 99.0])
def test_an_event_for_which_the_connection_is_closed_is_not_the_target(quiet: float) -> None:
    state = State.UNKNOWN if quiet == 1.0 else State.TROUBLE
    answers, old = Answers({0: AWAY}), part(1, history=failed())
    assert of_part(old, answers, FRESH, Now(quiet), PLAIN).state is state
    assert of_part(part(1), answers, FRESH, Now(quiet), PLAIN).state is State.TROUBLE
    whole = Answers(dict.fromkeys(range(9), AWAY), whole=True)
    ruling = of_part(part(9), whole, FRESH, Now(quiet), PLAIN)
    assert (ruling.state, ruling.halves) == (state, quiet == 1.0)


@pytest.mark.parametrize(
    ("error", "quiet", "sends"), [(BUSY, 99.0, 3), (BUSY, 1.0, 12), (AWAY, 99.0, 1), (AWAY, 1.0, 3)]
)
def test_halving_ends_after_a_few_failures_in_a_row(
    error: DeliveryError, quiet: float, sends: int
) -> None:
    standing, answers = FRESH, Answers(dict.fromkeys(range(9), error), whole=True)
    for number in range(1, sends + 1):
        ruling = of_part(part(9), answers, standing, Now(quiet), PLAIN)
        standing = ruling.standing
        assert (ruling.state is State.TROUBLE) is (number == sends)
    limited = of_part(part(9), answers, FRESH, Now(limited=True), Policy(retries=9))
    assert limited.halves is (error is BUSY)


@pytest.mark.parametrize(("error", "opens"), [(SILENT, True), (AWAY, True), (BUSY, False)])
def test_where_each_event_is_tried_once_none_is_lost_behind_another(
    error: DeliveryError, *, opens: bool
) -> None:
    answers = Answers({**dict.fromkeys(range(50), error), **dict.fromkeys(range(50, 99), OPEN)})
    ruling = of_part(part(99, ONCE), answers, FRESH, Now(), ONCE)
    assert (ruling.state is State.TROUBLE, ruling.stops) == (opens, None)
    assert len(ruling.again) == 49


@pytest.mark.parametrize("error", [NEVER, LONE])
def test_only_a_refusal_for_good_counts_again_for_the_same_event(error: DeliveryError) -> None:
    """The first event of a queue in order would open its breaker for all."""
    answers, final = Answers({0: error}), error is NEVER
    again = [item("a", history=failed()), item("a", IN_ORDER, receives=2)]
    counted = [possible_faults_of_settings([each], answers, PLAIN, took=False) for each in again]
    assert counted == [final, final]


@pytest.mark.parametrize(
    ("error", "state"), [(TOO_OLD, State.WELL), (NEVER, State.WELL), (LONE, State.TROUBLE)]
)
def test_only_a_probe_that_is_surely_at_fault_itself_leaves_no_breaker_open(
    error: DeliveryError, state: State
) -> None:
    ruling = of_part(part(1), Answers({0: error}), FRESH, Now(probe_of="TimedOut"), PLAIN)
    assert ruling.state is state


@pytest.mark.parametrize(
    ("error", "stops"), [(AWAY, True), (SILENT, True), (BUSY, True), (NEVER, False)]
)
def test_in_order_nothing_is_sent_behind_what_failed(error: DeliveryError, *, stops: bool) -> None:
    ruling = of_part(part(1, IN_ORDER), Answers({0: error}), FRESH, Now(), IN_ORDER)
    assert (ruling.stops is not None) is stops


@pytest.mark.parametrize(
    ("error", "hours", "receives", "over"),
    [
        (LONE, 2, 4, True),
        (LONE, 2, 3, False),
        (LONE, 0.9, 40, False),
        (LOCKED, 2, 40, False),
        (BUSY, 99, 99, False),
        (RefusesAll.because(LONE), 99, 99, False),
    ],
)
def test_in_order_what_is_refused_alone_holds_up_others_for_an_hour(
    error: DeliveryError, hours: float, receives: int, *, over: bool
) -> None:
    sent = NOW - round(hours * limits.HELD_UP_MS)
    it = item("a", IN_ORDER, sent=sent, receives=receives)
    ruling = of_part([it], Answers({0: error}), FRESH, Now(), IN_ORDER)
    assert (ruling.stops is None) is over
    assert (of_event(it.fail(error), NOW).fate is Fate.DEAD) is over


@pytest.mark.parametrize(
    ("ms", "age", "leaves"),
    [(limits.HELD_UP_MS, 2, False), (limits.HELD_UP_MS + 1, 2, True), (99**9, 0.5, False)],
)
def test_in_order_an_outage_by_refusals_gives_up_one_event_an_hour(
    ms: int, age: float, *, leaves: bool
) -> None:
    """Many that are really at fault, one behind the other, would hold up all others for days."""
    it = item("a", IN_ORDER, sent=NOW - round(age * limits.HELD_UP_MS), receives=9)
    now = Now(probe_of="RefusesAll", ms=ms)
    ruling = of_part([it], Answers({0: LONE}), FRESH, now, IN_ORDER)
    assert (ruling.stops is None, ruling.error is None) == (leaves, leaves)


def test_a_batch_without_an_answer_is_halved_and_grows_again_with_success() -> None:
    answers = Answers(dict.fromkeys(range(99), SILENT), whole=True)
    standing = of_part(part(99), answers, FRESH, Now(), PLAIN).standing
    assert standing.size == 49
    for _ in range(limits.GROWS_AFTER_BATCHES):
        standing = of_part(part(49), Answers({}), standing, Now(), PLAIN).standing
    assert standing.size == 98


# An event, by its error


@pytest.mark.parametrize(
    ("error", "policy", "history", "fate"),
    [
        (NEVER, PLAIN, NEW, Fate.DEAD),
        (NEVER, IN_ORDER, NEW, Fate.DEAD),
        (BUSY, PLAIN, NEW, Fate.AGAIN),
        (BUSY, PLAIN, failed(99, since=NOW - limits.TERM_MS - 1), Fate.DEAD),
        (BUSY, Policy(retries=2), failed(1), Fate.AGAIN),
        (BUSY, Policy(retries=2), failed(2), Fate.DEAD),
        (BUSY, Policy(retries=2), failed(2, redriven=True), Fate.AGAIN),
        (BUSY, ONCE, NEW, Fate.DEAD),
        (OPEN, ONCE, NEW, Fate.DEAD),
        (OPEN, PLAIN, failed(99, since=NOW - limits.TERM_MS - 1), Fate.WAITS),
        (OPEN, Policy(retries=2), failed(2), Fate.WAITS),
        (LATE, ONCE, NEW, Fate.WAITS),
        (Paused(NOW, 5), ONCE, NEW, Fate.WAITS),
        (Waiting("off"), PLAIN, NEW, Fate.WAITS),
        (UNREAD, ONCE, NEW, Fate.WAITS),
        (UNREAD, Policy(retries=2), failed(2), Fate.WAITS),
    ],
)
def test_what_becomes_of_an_event(
    error: DeliveryError, policy: Policy, history: History, fate: Fate
) -> None:
    assert of_event(item("a", policy, history).fail(error), NOW).fate is fate


@pytest.mark.parametrize(
    ("policy", "history"), [(ONCE, NEW), (PLAIN, failed(99, since=NOW - limits.TERM_MS - 1))]
)
def test_what_is_given_up_says_what_the_target_answered(policy: Policy, history: History) -> None:
    error = Retryable("answered 404: no such album")
    error.answer = "404\n\nno such album: 1"
    for each in (error, RefusesAll.because(error)):
        given_up = of_event(item("a", policy, history).fail(each), NOW).error
        assert isinstance(given_up, GivenUp)
        assert str(each) in str(given_up)
        assert given_up.answer == error.answer


@pytest.mark.parametrize(
    ("error", "outage", "least", "most"),
    [
        (SILENT, None, 32, 64),
        (SILENT, 9, 32, 64),
        (SILENT, 200, 200, 200),
        (AWAY, 9, 32, 64),
        (BUSY, 200, 200, 200),
        (SLOW, None, 32, 64),
        (Throttled("429", 300), None, 300, 375),
        (Throttled("429", 1e9), None, 900, 900),
        (OPEN, 9, 9, 9),
        (Waiting("off", 77), None, 77, 77),
        (LATE, 9, 0, 0),
        (UNREAD, None, 1, 1),
    ],
)
def test_the_pause_of_an_event_is_its_own_and_at_least_its_targets(
    error: DeliveryError, outage: int | None, least: int, most: int
) -> None:
    failure = item("a", PLAIN, failed(6)).fail(error, pause=outage)
    for _ in range(20):
        assert least <= of_event(failure, NOW).pause <= most


# A message, before anything is tried


@pytest.mark.parametrize(
    ("events", "receives", "history", "policy", "step"),
    [
        (1, 1, NEW, PLAIN, Step.TRY),
        (99, 3, NEW, PLAIN, Step.TRY),
        (99, 4, NEW, PLAIN, Step.HALVE),
        (1, 4, NEW, PLAIN, Step.MARK),
        (1, 99, failed(error=CRASHED), PLAIN, Step.TRY),
        (99, 4, failed(error=CRASHED), PLAIN, Step.HALVE),
        (99, 4, NEW, IN_ORDER, Step.TRY),
        (99, 4, NEW, ONCE, Step.GIVE_UP),
        (1, 1, failed(not_before=NOW + 1), PLAIN, Step.POSTPONE),
        (1, 1, failed(since=NOW - limits.TERM_MS - 1), PLAIN, Step.GIVE_UP),
        (1, limits.RENEW_AFTER_RECEIVES, NEW, PLAIN, Step.RENEW),
        (1, limits.RENEW_AFTER_RECEIVES, NEW, Policy(retries=3), Step.RENEW),
    ],
)
def test_what_is_done_with_a_message(
    events: int, receives: int, history: History, policy: Policy, step: Step
) -> None:
    received = item("a", policy, history, receives=receives).received
    assert of_message(received, events, gave_up=False) is step


@pytest.mark.parametrize(
    ("events", "obstacle", "messages", "least", "most"),
    [
        (9, BreakerOpen("", 60), 10_000, 60, 60),
        (9, Waiting(""), 10_000, 900, 900),
        (9, UNREAD, 10_000, 30, 30),
        (999, BreakerOpen("", 60), 1, 600, 900),
        (999, BreakerOpen("", 1_000), 1, 1_000, 1_000),
        (999, BreakerOpen("", 60), 9_000, 1_200, 1_800),
        (999, Paused(NOW, 60), 1, 600, 900),
        (999, Paused(NOW, 60), 9_000, 6_000, 9_000),
        (999, Paused(NOW, 60), 90_000, 9_600, 14_400),
        (999, Paused(NOW, 60), 100_000, 600, 900),
        (999, UNREAD, 100_000, 720, 720),
    ],
)
def test_the_more_large_messages_wait_the_longer_each_does(
    events: int, obstacle: Waiting, messages: int, least: int, most: int
) -> None:
    history = failed(since=NOW - limits.DAY_MS, error=name_of(obstacle))
    received = [item(f"{n}", history=history).received for n in range(99)]
    pauses = {of_wait(each, events, obstacle, messages).seconds for each in received}
    assert least <= min(pauses) <= max(pauses) <= most
    assert len(pauses) > 50 or least == most, "they come one after the other"


@pytest.mark.parametrize(
    ("history", "receives", "policy", "events", "stays"),
    [
        (failed(error="Paused"), 2, PLAIN, 999, True),
        (failed(error="Paused"), 2, PLAIN, 9, False),
        (failed(error="Paused"), limits.CRASHED_RECEIVES, PLAIN, 999, False),
        (failed(error="NotConnected"), 1, PLAIN, 999, False),
        (NEW, 1, PLAIN, 999, False),
        (NEW, 9, IN_ORDER, 1, True),
    ],
)
def test_what_waits_is_sent_again_for_its_reason_and_before_it_seems_to_crash(
    history: History, receives: int, policy: Policy, events: int, *, stays: bool
) -> None:
    received = item("a", policy, history, receives=receives).received
    wait = of_wait(received, events, Paused(NOW, 60), 9_000)
    assert wait.stays is stays
    assert wait.stays or wait.seconds <= limits.LONGEST_DELAY_SECONDS, "the longest that SQS takes"


@pytest.mark.parametrize(("events", "policy"), [(1, PLAIN), (999, PLAIN), (1, IN_ORDER)])
def test_all_that_waited_for_aws_comes_within_a_minute_of_an_hour(
    events: int, policy: Policy
) -> None:
    history = failed(since=NOW - 3_600_000, error=name_of(UNREAD))
    one = item("a", policy, history, receives=limits.UNAVAILABLE_RECEIVES)
    pauses = {
        of_wait(one.received, events, UNREAD, 10_000).seconds,
        of_event(one.fail(UNREAD), NOW).pause,
    }
    assert pauses == {limits.UNAVAILABLE_SECONDS}


def test_in_order_messages_behind_one_that_is_given_up_stay() -> None:
    assert of_message(item("a", IN_ORDER).received, 1, gave_up=True) is Step.KEEP


# What holds for all


_errors = st.sampled_from(
    [
        AWAY,
        SILENT,
        LOGIN,
        BUSY,
        SLOW,
        NEVER,
        TOO_OLD,
        LATE,
        OPEN,
        UNREAD,
        Waiting("off", 3),
        GivenUp("over", "x"),
    ]
)
_policies = st.builds(
    Policy,
    time_to_live=st.sampled_from([0, 60]),
    retries=st.integers(0, 3),
    pause=st.sampled_from([None, 0, 5]),
    once=st.booleans(),
    in_order=st.booleans(),
)
_histories = st.builds(
    failed,
    tries=st.integers(0, 99),
    since=st.integers(NOW - ENDLESS, NOW),
    redriven=st.booleans(),
    error=st.sampled_from(["TimedOut", "Retryable", CRASHED]),
)


@given(_errors, _policies, _histories, st.one_of(st.none(), st.integers(1, 300)))
def test_every_event_has_a_verdict_with_a_reason_a_pause_and_its_try_counted(
    error: DeliveryError, policy: Policy, history: History, outage: int | None
) -> None:
    failure = item("a", policy, history).fail(error, pause=outage)
    verdict: Verdict = of_event(failure, NOW)
    assert 0 <= verdict.pause <= limits.LONGEST_PAUSE_SECONDS
    assert (verdict.fate is Fate.WAITS) is not (error.is_try or verdict.fate is Fate.DEAD)
    if verdict.fate is Fate.DEAD:
        assert str(error) in str(verdict.error)
    else:
        assert failure.tries == history.tries + (verdict.fate is Fate.AGAIN)


_nows = st.builds(
    Now,
    st.sampled_from([0.0, 99.0]),
    st.sampled_from([None, "TimedOut"]),
    st.booleans(),
    st.sampled_from([0, limits.UNTRUSTED_REFUSALS]),
)


@given(st.data(), st.integers(1, 12), _policies, st.booleans(), _nows)
def test_every_answer_has_a_ruling(
    data: st.DataObject,
    number: int,
    policy: Policy,
    whole: bool,  # noqa: FBT001
    now: Now,
) -> None:
    standing = FRESH._replace(largest=8, size=data.draw(st.integers(1, 8)))
    items = part(number, policy, data.draw(_histories))
    for _ in range(4):
        indexes = st.sampled_from(range(number))
        errors = data.draw(st.dictionaries(indexes, _errors, max_size=number))
        if whole:
            errors = dict.fromkeys(range(number), data.draw(_errors))
        ruling = of_part(items, Answers(errors, whole), standing, now, policy)
        standing = ruling.standing
        assert 1 <= standing.size <= 8
        assert (ruling.state is State.TROUBLE) is (ruling.error is not None)
        assert not (ruling.halves and (number == 1 or ruling.state is State.TROUBLE))
        assert all(errors[index] is OPEN for index in ruling.again)
        assert len(ruling.again) < number
        if policy.retries:
            assert ruling.state is not State.TROUBLE
        if len(errors) < number:
            assert ruling.state is State.WELL
