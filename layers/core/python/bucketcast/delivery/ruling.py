"""The ruling on a part of a batch: what a target's answers to it say, of its events and of itself.

All of it is a function of its arguments; the sender carries it out.

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
refused till the target's repair  each after its own growing  so, by the same number in a row; a
                                  pause                       probe leaves its breaker open
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
In order nothing is sent behind one that failed; refused ones count when they are given up.
"""

import enum
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import Final, NamedTuple

from bucketcast import limits
from bucketcast.delivery.messages import Item
from bucketcast.delivery.policy import Policy
from bucketcast.errors import (
    FINAL,
    BreakerOpen,
    DeliveryError,
    NotAuthorized,
    NotConnected,
    OutOfTime,
    RefusesAll,
    Rejected,
    Throttled,
    TimedOut,
    Unavailable,
    Waiting,
)

_SILENT: Final = TimedOut.__name__
_received = attrgetter("received")


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
    `refusals` are those of all functions in a row, with those of this part. The target is in
    trouble for so many `ms`.
    """

    quiet: float = inf
    probe_of: str | None = None
    limited: bool = False
    refusals: int = 0
    ms: int = 0

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


def possible_faults_of_settings(
    part: Sequence[Item], answers: Answers, policy: Policy, *, took: bool
) -> int:
    """Return how many refusals of a part may be due to the settings, as nothing of it was taken.

    None are counted where tries are limited: there no breaker opens. What a target that `took` an
    event refuses for good is the event's own fault.
    """
    if len(answers.errors) < len(part) or policy.retries or policy.once:
        return 0
    refusals = sum(_counts(part[n], error, took=took) for n, error in answers.errors.items())
    return min(refusals, 1) if answers.whole else refusals


def _counts(item: Item, error: DeliveryError, *, took: bool) -> bool:
    """Return True if it may be due to the settings, and was not counted for the same event."""
    if isinstance(error, Rejected):
        return error.may_be_settings and not took
    term = item.received.term
    # In order what others held up is received often before it is tried.
    is_first = not item.tries and item.received.message.receives == 1
    counts = term.is_over(refused=True) if term.policy.in_order else is_first
    return error.may_be_settings and counts


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
        # Else the first of many that are really at fault would hold up all others for days.
        if kept and now.ms > limits.HELD_UP_MS and part[0].received.term.is_over(refused=True):
            ruling, kept = ruling._replace(state=State.WELL, error=None), False
        failed = (
            error
            for index, error in errors.items()
            if kept
            or not (
                isinstance(error, FINAL)
                or part[index].received.term.is_over(refused=error.may_be_settings)
            )
        )
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
    if refusal := next((error for error in tried.values() if error.may_be_settings), None):
        return _of_refusals(refusal, standing, now)
    failing = {n: error for n, error in tried.items() if not isinstance(error, Rejected)}
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
    stays_open = now.probe_of is not None and not isinstance(error, Rejected)
    if stays_open or now.refusals >= limits.UNTRUSTED_REFUSALS:
        return Ruling(standing, State.TROUBLE, RefusesAll.because(error))
    return Ruling(standing._replace(silent=0, failed=0, wholes=0), State.WELL)


def _of_whole(events: int, error: DeliveryError, standing: Standing, now: Now) -> Ruling:
    """Return the ruling on one answer for several events: any of them may be its reason."""
    if isinstance(error, TimedOut):
        if not now.is_quiet or (events < limits.SILENT_EVENTS and now.probe_of is None):
            return Ruling(standing, State.UNKNOWN)
        standing = standing._replace(size=max(1, events // 2), batches=0)
        return Ruling(standing, State.TROUBLE, error)
    if error.halves:
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
    if not any(received.message.history.tries for received, _ in groupby(items, _received)):
        return [(0, iter(items))]
    groups: dict[int, list[Item]] = {}
    for item in items:
        groups.setdefault(item.tries if item.last_error == _SILENT else 0, []).append(item)
    return [(shift, iter(groups[shift])) for shift in sorted(groups)]
