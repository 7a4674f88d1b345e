"""The verdicts: what becomes of a message, of a part of a batch, and of an event that failed.

Nothing else decides on an event's future; engine, sender and settlement carry out what is said
here. All of it is a function of its arguments.

================================  ==========================  ==================================
a target's answers to one part    its events                  the target
================================  ==========================  ==================================
some were taken                   each by its own answer      is well: its breaker closes
none; nobody is there             again                       is away: its breaker opens
none; so far fewer first tries    again, each after its own   is not known: the next part is sent
in a row than `SILENT_EVENTS`     growing pause
without an answer for some
seconds, or than `FAILED_EVENTS`
none; that many                   again                       is in trouble: its breaker opens
refused; it took one before       dead, each with its reason  is well
refused; it never took one        dead; those from            refuses everything: its breaker
                                  `UNTRUSTED_REFUSALS` of     opens
                                  all functions on again
one answer, and a reason of one   both halves are sent now    in trouble if `WHOLE_FAILURES` such
of them is possible                                           parts follow one another
one time-out for all of them      again, half of them at once  takes half as many, and is in
                                                              trouble, if it took nothing lately
not sent, or AWS does not tell    wait, and no try counts     is not known
its secret
================================  ==========================  ==================================

While a breaker is open one event goes alone: if it fails, too, the breaker stays open. Where tries
are limited (`Policy.retries`) each event is to have its own: no breaker opens, and what the target
did not send is sent again; also where each is tried once, though the first silence opens a breaker.
In order nothing is sent behind an event that failed.
"""

import enum
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from operator import attrgetter
from typing import Final, NamedTuple
from zlib import crc32

from bucketcast import limits
from bucketcast.delivery.messages import Failed, Item, Received
from bucketcast.delivery.policy import CRASHED, Policy, Term
from bucketcast.errors import (
    FINAL,
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

_SILENT: Final = TimedOut.__name__
_tries = attrgetter("received.message.history.tries")


class Step(enum.Enum):
    """What is done with a message before any event is tried."""

    TRY = enum.auto()
    KEEP = enum.auto()
    """It stays, and is visible again at once."""
    POSTPONE = enum.auto()
    """It is sent again until its pause is over."""
    RENEW = enum.auto()
    """It is sent again: SQS would soon move or drop it."""
    HALVE = enum.auto()
    """Its halves are sent: the function ended again and again while it had this message."""
    MARK = enum.auto()
    """It is sent again as one that the function may have ended with: its event is alone."""
    GIVE_UP = enum.auto()


def of_message(received: Received, events: int, *, gave_up: bool) -> Step:
    """Return what is done with a message of so many `events`.

    In order none is tried in a call that `gave_up` one: if it ended the function, the one given up
    would not be deleted, and SQS would count another of its last receives.
    """
    (message, term), in_order = received, received.term.policy.in_order
    crashed = message.receives > limits.CRASHED_RECEIVES and not (in_order or term.policy.once)
    marked = message.history.error == CRASHED and events == 1
    if in_order and gave_up:
        return Step.KEEP
    if term.should_give_up:
        return Step.GIVE_UP
    if message.history.not_before > term.now and message.history.failed:  # else it never begins
        return Step.POSTPONE
    if term.needs_renewal:
        return Step.RENEW
    if crashed and not marked:
        return Step.MARK if events == 1 else Step.HALVE
    return Step.TRY


class Wait(NamedTuple):
    """The seconds for which a message waits unopened; it `stays`, hidden, or is sent again."""

    seconds: int
    stays: bool = False


def of_wait(received: Received, events: int, obstacle: Waiting, messages: int) -> Wait:
    """Return how a message of so many events waits, if so many large `messages` do.

    Large messages wait for longer: each look at one costs as much. They are spread, so that some
    come soon when the obstacle is gone. A send costs as much again, but where a message stays SQS
    counts another receive, as if the function had ended; and only one sent again has a new reason.
    """
    (message, term), longest = received, limits.LONGEST_DELAY_SECONDS
    seconds = _obstacle_pause(obstacle, term)
    if term.policy.in_order:
        return Wait(seconds, stays=True)
    if events < limits.MERGED_EVENTS:
        return Wait(seconds)
    if isinstance(obstacle, Unavailable):
        part = term.age // limits.UNAVAILABLE_AGE_PER_PAUSE // 1_000
        return Wait(max(seconds, min(part, longest)))
    known = message.history.failed and message.history.error == name_of(obstacle)
    stays = known and message.receives < limits.CRASHED_RECEIVES
    stays = stays and messages < limits.HIDDEN_MESSAGES
    if stays:
        paused = isinstance(obstacle, Paused)
        looks = limits.PAUSED_LOOKS_A_SECOND if paused else limits.LOOKS_A_SECOND
        longest = max(longest, min(messages // looks, limits.LONGEST_HIDDEN_SECONDS))
    most = term.part_of_age(longest)
    spread = crc32(message.id.encode()) % (most // 3 + 1)
    return Wait(max(seconds, most - spread), stays)


class Answers(NamedTuple):
    """The errors of the events of one part, by index; all others were taken.

    `whole`: it is one answer for all of them, as of a transaction.
    """

    errors: Mapping[int, DeliveryError]
    whole: bool = False


class Standing(NamedTuple):
    """What a function has seen of a target since it connected with these settings.

    `size` is how many events it takes at once, of at most `largest`; it took so many `batches` of
    that size in a row. Since it took an event so many first tries of events were `silent`, or
    `failed` at all, and so many parts failed as `wholes`.
    """

    size: int
    largest: int
    batches: int = 0
    silent: int = 0
    failed: int = 0
    wholes: int = 0


class Now(NamedTuple):
    """What else the ruling on a part depends on.

    `quiet` is the seconds since this function saw the target take an event. `probe_of` is the error
    of the outage that the part is the probe of, None if it is no probe. `limited`: tries are.
    `refusals` are those of all functions, with those of this part, by a target that took nothing.
    """

    quiet: float = inf
    probe_of: str | None = None
    limited: bool = False
    refusals: int = 0

    @property
    def is_quiet(self) -> bool:
        return self.quiet >= limits.QUIET_SECONDS


class State(enum.Enum):
    """What the answers say of the target."""

    WELL = enum.auto()
    UNKNOWN = enum.auto()
    TROUBLE = enum.auto()


class Ruling(NamedTuple):
    """What the answers to one part say.

    `error` is that of a target in trouble. `halves`: nothing is said of its events, but both halves
    are to be sent. `again` are the events to be sent again now, by index. `stops` is the error of
    all behind them, if they are not to be sent now.
    """

    standing: Standing
    state: State
    error: DeliveryError | None = None
    halves: bool = False
    again: frozenset[int] = frozenset()
    stops: OutOfTime | Waiting | None = None


def possible_faults_of_settings(part: Sequence[Item], answers: Answers, policy: Policy) -> int:
    """Return how many refusals of a part may be due to the settings, as nothing of it was taken.

    None are counted where tries are limited: there no breaker opens.
    """
    if len(answers.errors) < len(part) or policy.retries or policy.once:
        return 0
    refusals = sum(error.may_be_settings for error in answers.errors.values())
    return min(refusals, 1) if answers.whole else refusals


def of_part(
    part: Sequence[Item], answers: Answers, standing: Standing, now: Now, policy: Policy
) -> Ruling:
    """Return what the answers to one part say."""
    errors = answers.errors
    ends = (error for error in errors.values() if isinstance(error, OutOfTime | Unavailable))
    late = next(ends, None)
    if len(errors) < len(part):
        ruling = Ruling(_after_success(standing, len(part)), State.WELL)
    elif tried := {index: error for index, error in errors.items() if error.is_try}:
        ruling = _of_failures(part, tried, answers, standing, now)
    else:
        return Ruling(standing, State.UNKNOWN, stops=late)
    if policy.retries or (policy.once and not isinstance(ruling.error, NotConnected)):
        state = State.UNKNOWN if ruling.error else ruling.state
        ruling = ruling._replace(state=state, error=None)
    if policy.in_order:
        kept = isinstance(ruling.error, RefusesAll)
        failed = (error for n, error in errors.items() if kept or not _is_final(error, part[n]))
        return ruling._replace(stops=late or next(map(BreakerOpen.behind, failed), None))
    if late or (ruling.error and not policy.once):
        behind = BreakerOpen.behind(ruling.error) if ruling.error else None
        return ruling._replace(stops=late or behind)
    unsent = (index for index, error in errors.items() if isinstance(error, BreakerOpen))
    return ruling._replace(again=frozenset(unsent))


def _of_failures(
    part: Sequence[Item],
    tried: Mapping[int, DeliveryError],
    answers: Answers,
    standing: Standing,
    now: Now,
) -> Ruling:
    """Return the ruling on a part of which nothing was taken."""
    first = next(iter(tried.values()))
    away = all(_is_away(error, whole=answers.whole) for error in tried.values())
    new_to_it = any(not part[index].tries for index in tried)
    if away and (now.is_quiet or (new_to_it and not answers.whole)):
        return Ruling(standing, State.TROUBLE, first)
    if answers.whole and len(part) > 1 and not isinstance(first, Throttled):
        return _of_whole(len(part), first, standing, now)
    rejected = [error for error in tried.values() if isinstance(error, Rejected)]
    if refusal := next((error for error in rejected if error.may_be_settings), None):
        return _of_refusals(refusal, standing, now)
    failing = {index: error for index, error in tried.items() if error not in rejected}
    if not failing:
        return Ruling(standing, State.UNKNOWN if now.probe_of is None else State.WELL)
    first = next(iter(failing.values()))
    # What failed before says nothing new: it may be its own fault.
    new = [isinstance(error, NotConnected) for n, error in failing.items() if not part[n].tries]
    standing = standing._replace(
        silent=standing.silent + sum(new), failed=standing.failed + len(new)
    )
    silent = standing.silent >= limits.SILENT_EVENTS and now.is_quiet
    policy = part[0].received.term.policy
    # The next event of a topic that is tried once would come to another function.
    blocks = policy.once and isinstance(first, TimedOut)
    blocks |= policy.in_order and isinstance(first, NotConnected)
    if silent or standing.failed >= limits.FAILED_EVENTS or blocks or now.probe_of is not None:
        return Ruling(standing, State.TROUBLE, first)
    return Ruling(standing, State.UNKNOWN)


def _of_refusals(error: DeliveryError, standing: Standing, now: Now) -> Ruling:
    """Return the ruling on refusals by a target that took nothing beside them."""
    if now.refusals >= limits.UNTRUSTED_REFUSALS:
        return Ruling(standing, State.TROUBLE, RefusesAll.because(error))
    return Ruling(standing._replace(silent=0, failed=0, wholes=0), State.WELL)


def _of_whole(events: int, error: DeliveryError, standing: Standing, now: Now) -> Ruling:
    """Return the ruling on one answer for several events: any of them may be its reason."""
    if isinstance(error, TimedOut):
        if not now.is_quiet or (events < limits.SILENT_EVENTS and now.probe_of is None):
            return Ruling(standing, State.UNKNOWN)
        standing = standing._replace(size=max(1, events // 2), batches=0)
        return Ruling(standing, State.TROUBLE, error)
    if isinstance(error, Rejected):
        known = Ruling(standing, State.UNKNOWN)
        ruling = _of_refusals(error, standing, now) if error.may_be_settings else known
        return ruling._replace(halves=ruling.state is not State.TROUBLE)
    standing = standing._replace(wholes=standing.wholes + 1)
    # A target that is there takes the other halves: of several bad events some lie side by side.
    sure = now.is_quiet or isinstance(error, NotConnected)
    most = limits.WHOLE_FAILURES if sure else limits.WHOLE_FAILURES_BESIDE
    if standing.wholes >= most and not now.limited:
        return Ruling(standing._replace(wholes=0), State.TROUBLE, error)
    return Ruling(standing, State.UNKNOWN, halves=True)


def _is_away(error: DeliveryError, *, whole: bool) -> bool:
    """Return True if nobody is there; a login may be refused, an answer missing, for one event."""
    if isinstance(error, NotAuthorized):
        return whole
    return isinstance(error, NotConnected) and not isinstance(error, TimedOut)


def _after_success(standing: Standing, events: int) -> Standing:
    """Return the standing after a part of which something was taken."""
    size, batches = standing.size, standing.batches
    if events >= size and size < standing.largest:
        batches += 1
        if batches >= limits.GROWS_AFTER_BATCHES:
            batches, size = 0, min(standing.largest, 2 * size)
    return Standing(size, standing.largest, batches)


def turns(items: Sequence[Item]) -> list[tuple[int, Iterator[Item]]]:
    """Return events in the order in which to send them, and how often to halve a part of them.

    Those that got no answer before come after all others, and fewer of them at once with each such
    try: so the one that is the reason is soon alone.
    """
    if not any(map(_tries, items)):
        return [(0, iter(items))]
    groups: dict[int, list[Item]] = {}
    for item in items:
        groups.setdefault(item.tries if item.last_error == _SILENT else 0, []).append(item)
    return [(shift, iter(groups[shift])) for shift in sorted(groups)]


class Fate(enum.Enum):
    """What becomes of an event that was not delivered."""

    DEAD = enum.auto()
    AGAIN = enum.auto()
    WAITS = enum.auto()
    """It comes again, and no try of it counts."""


class Verdict(NamedTuple):
    """The fate of one event, the reason, and the seconds until it is visible again.

    A dead one is so, too, if the dead letters do not take it.
    """

    fate: Fate
    error: DeliveryError
    pause: int = 0


def of_event(failure: Failed, now: int) -> Verdict:
    """Return the verdict on an event that was not delivered; `now` is Unix ms."""
    error, policy = failure.error, failure.received.term.policy
    pause = _pause(failure)
    seconds_left = policy.seconds_left(failure.delivery.created, now)
    if seconds_left >= 0:
        pause = round(min(pause, seconds_left + 1))
    if isinstance(error, FINAL):
        return Verdict(Fate.DEAD, error, pause)
    # Where the breaker is open nothing is tried; what is tried once is lost with it.
    if policy.once and (error.is_try or isinstance(error, BreakerOpen)):
        return Verdict(Fate.DEAD, GivenUp(str(error), name_of(error)), pause)
    if error.is_try and (limit := _limit(failure)):
        given_up = GivenUp(f"{error} ({limit})", name_of(error), str(error))
        return Verdict(Fate.DEAD, given_up, pause)
    return Verdict(Fate.AGAIN if error.is_try else Fate.WAITS, error, pause)


def too_old(item: Item, now: int) -> GivenUp | None:
    """Return the error of an event whose time is over before it is tried, None if it is not."""
    policy = item.received.term.policy
    if policy.seconds_left(item.delivery.created, now) >= 0:
        return None
    tries = item.received.message.history.tries
    text = f"time_to_live of {policy.time_to_live} s is over after {tries} tries"
    text += f"; at last: {item.last_reason}" if item.last_reason else ""
    return GivenUp(text, item.last_error or Retryable.__name__, item.last_reason)


def _limit(failure: Failed) -> str:
    """Return the limit that a failed try has reached, "" if none."""
    term = failure.received.term
    if term.policy.retries and failure.tries > term.policy.retries:
        return f"max_retries of {term.policy.retries}: {failure.tries} tries failed"
    return term.describe(failure.tries) if term.expired else ""


def _pause(failure: Failed) -> int:
    """Return the seconds until an event is tried again, by its error and by the breaker's."""
    error, term = failure.error, failure.received.term
    policy = term.policy
    if isinstance(error, OutOfTime):
        return 0
    if not error.is_try:
        pause = _wait(failure)
    else:
        after = error.after if isinstance(error, Throttled) else 0.0
        pause = term.pause(tries=failure.tries, after=after)
        if isinstance(error, Unavailable):
            pause = min(pause, limits.LONGEST_OUTAGE_PAUSE_SECONDS)
        if failure.pause is not None:
            pause = max(failure.pause, min(pause, limits.LONGEST_DELAY_SECONDS))
    if policy.in_order:
        return pause if isinstance(error, Unavailable) else max(pause, term.recheck_seconds)
    return max(pause, policy.pause or 0) if error.is_try else pause


def _wait(failure: Failed) -> int:
    """Return the seconds until an event that was not tried is looked at again."""
    error, term = failure.error, failure.received.term
    if failure.pause is not None:
        return failure.pause
    if isinstance(error, BreakerOpen) and error.seconds is None and term.policy.retries:
        # Without a breaker a part of its age would grow, while few are tried in each call.
        return term.pause(tries=failure.tries)
    return _obstacle_pause(error, term)


def _obstacle_pause(error: DeliveryError, term: Term) -> int:
    """Return the seconds until what an error holds up is looked at again."""
    recheck, in_order = term.recheck_seconds, term.policy.in_order
    if isinstance(error, Unavailable):
        is_short = not in_order or term.receives <= limits.UNAVAILABLE_RECEIVES
        return min(recheck, limits.UNAVAILABLE_SECONDS) if is_short else recheck
    known = error.seconds if isinstance(error, Waiting) else None
    if known is None:
        return recheck
    return max(known, recheck) if in_order else known


def _is_final(error: DeliveryError, item: Item) -> bool:
    return isinstance(error, FINAL) or item.received.term.expired
