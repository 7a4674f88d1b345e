"""The verdicts: what becomes of a message and of an event that failed, and how long each waits.

Nothing else decides on an event's future but the ruling on its part (`delivery.ruling`); engine and
settlement carry out what is said here. All of it is a function of its arguments.
"""

import enum
from typing import NamedTuple
from zlib import crc32

from bucketcast import limits
from bucketcast.delivery.messages import Failed, Item, Received
from bucketcast.delivery.policy import CRASHED, Term
from bucketcast.errors import (
    FINAL,
    BreakerOpen,
    DeliveryError,
    GivenUp,
    OutOfTime,
    Paused,
    Retryable,
    Throttled,
    Unavailable,
    Waiting,
    name_of,
)


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
        given_up = GivenUp(str(error), name_of(error), answer=error.answer)
        return Verdict(Fate.DEAD, given_up, pause)
    if error.is_try and (limit := _limit(failure)):
        given_up = GivenUp(f"{error} ({limit})", name_of(error), str(error), error.answer)
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
    over = term.is_over(refused=failure.error.may_be_settings)
    return term.describe(failure.tries) if over else ""


def _pause(failure: Failed) -> int:
    """Return the seconds until an event is tried or looked at again."""
    error, term = failure.error, failure.received.term
    policy = term.policy
    if isinstance(error, OutOfTime):
        return 0
    if error.is_try:
        after = error.after if isinstance(error, Throttled) else 0.0
        pause = term.pause(tries=failure.tries, after=after)
        if isinstance(error, Unavailable):
            pause = min(pause, limits.LONGEST_OUTAGE_PAUSE_SECONDS)
        if failure.pause is not None:
            pause = max(failure.pause, min(pause, limits.LONGEST_DELAY_SECONDS))
        pause = pause if policy.in_order else max(pause, policy.pause or 0)
    elif failure.pause is not None:
        pause = failure.pause
    elif isinstance(error, BreakerOpen) and error.seconds is None and policy.retries:
        # Without a breaker a part of its age would grow, while few are tried in each call.
        pause = term.pause(tries=failure.tries)
    else:
        pause = _obstacle_pause(error, term)
    follows_age = policy.in_order and not isinstance(error, Unavailable)
    return max(pause, term.recheck_seconds) if follows_age else pause


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
