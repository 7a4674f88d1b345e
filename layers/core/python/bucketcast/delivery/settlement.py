"""Events that were not delivered: they are dead-lettered, or sent back to their queue.

Events that fail in the same way are merged, from however many messages: each message that waits is
received again and again, and so ten thousand of them soon become a few. Only those whose terms
began within an hour are merged, so that no event is given up more than an hour early.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from bucketcast.delivery.consumer import OwnQueue
from bucketcast.delivery.dead_letters import Dead, of_event
from bucketcast.delivery.envelope import Delivery, TooLarge, pack
from bucketcast.delivery.messages import Batch, Failed, Received
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Outgoing
from bucketcast.delivery.whole_messages import (
    delayed_message,
    history_after,
    last_reason,
    send_while_time,
)
from bucketcast.errors import (
    FINAL,
    BreakerOpen,
    DeliveryError,
    GivenUp,
    OutOfTime,
    Throttled,
    Waiting,
    name_of,
)

_HOUR_MS = 3_600_000
_LIKE_TRIES = 11
"""After so many tries the pause does not grow any more."""


class Settlement:
    """Settles the events of one queue that were not delivered."""

    def __init__(self, queue: OwnQueue) -> None:
        self._queue = queue

    def settle(self, failed: Sequence[Failed], batch: Batch) -> None:
        """Dead-letter or send back each event; its message stays where SQS takes neither."""
        judged = [(failure, _judge(failure)) for failure in failed]
        retried = [failure for failure, error in judged if not isinstance(error, FINAL)]
        retried += self._dead_letter([one for one in judged if isinstance(one[1], FINAL)], batch)
        for failure in retried:
            _count(failure, batch)
        kept: dict[str, tuple[Received, int]] = {}
        for failure in retried if batch.policy.in_order else self._send_back(retried, batch):
            id_ = failure.received.message.id
            before = kept.get(id_, (failure.received, 0))[1]
            kept[id_] = failure.received, max(before, _pause(failure, batch.now))
        for received, pause in kept.values():
            batch.keep(received, pause)

    def _dead_letter(
        self, final: Sequence[tuple[Failed, DeliveryError]], batch: Batch
    ) -> list[Failed]:
        """Dead-letter events with these errors; return those that SQS did not take."""
        outcome = batch.outcome
        letters = [_dead(failure, error) for failure, error in final]
        refused = send_while_time(self._queue.dead_letter, letters, batch)
        for index, (failure, error) in enumerate(final):
            outcome.reason = error
            if index not in refused:
                outcome.dead += 1
                events = outcome.outcomes.dead.setdefault(str(error), [])
                events.append(failure.delivery.event)
        return [final[index][0] for index in refused]

    def _send_back(self, failed: Sequence[Failed], batch: Batch) -> list[Failed]:
        """Send events back in as few messages as hold them; return those that SQS did not take."""
        parts: list[tuple[Outgoing, Sequence[Failed]]] = []
        kept: list[Failed] = []
        for group in _group(failed):
            messages, too_large = _merge(group, batch)
            parts += messages
            kept += self._dead_letter(too_large, batch)
        outgoing = [message for message, _ in parts]
        for index in send_while_time(self._queue.send, outgoing, batch):
            kept += parts[index][1]
        return kept


def _judge(failure: Failed) -> DeliveryError:
    """Return an event's error, or the error that gives it up."""
    error, term, policy = failure.error, failure.received.term, failure.received.term.policy
    if isinstance(error, FINAL):
        return error
    # Behind one that got no answer nothing is tried; what is tried once is lost with it.
    if policy.once and (error.is_try or isinstance(error, BreakerOpen)):
        return GivenUp(str(error), name_of(error))
    if not error.is_try:
        return error
    if policy.retries and failure.tries > policy.retries:
        limit = f"max_retries of {policy.retries}: {failure.tries} tries failed"
    elif term.expired:
        limit = term.describe(failure.tries)
    else:
        return error
    return GivenUp(f"{error} ({limit})", name_of(error), str(error))


def _count(failure: Failed, batch: Batch) -> None:
    batch.outcome.reason = failure.error
    if not failure.error.is_try:
        batch.outcome.waiting += 1
        return
    batch.outcome.retried += 1
    events = batch.outcome.outcomes.retried.setdefault(str(failure.error), [])
    events.append(failure.delivery.event)


def _dead(failure: Failed, error: DeliveryError) -> Dead:
    history = failure.received.message.history
    history = history._replace(to=failure.to or history.to)
    return of_event(failure.delivery, history, name_of(error), str(error))


def _group(failed: Sequence[Failed]) -> Iterable[list[Failed]]:
    """Return the events in groups that may share a message."""
    groups: dict[Any, list[Failed]] = {}
    for failure in failed:
        groups.setdefault(_likeness(failure), []).append(failure)
    return groups.values()


def _likeness(failure: Failed) -> Any:
    history, term = failure.received.message.history, failure.received.term
    to = failure.to or history.to
    if isinstance(failure.error, OutOfTime):
        return history, to
    # Where tries are limited each counts; else the pause does not grow for ever.
    tries = failure.tries if term.policy.retries else min(failure.tries, _LIKE_TRIES)
    hour = term.started // _HOUR_MS
    like = hour, to, history.topic, history.redriven, tries, name_of(failure.error)
    # One whose term began keeps it while it waits; the others' is to begin with their first try.
    return *like, type(failure.error) is Waiting and history.failed


def _merge(
    group: Sequence[Failed], batch: Batch
) -> tuple[list[tuple[Outgoing, Sequence[Failed]]], list[tuple[Failed, DeliveryError]]]:
    """Return the messages that hold these events, and the events that are too large for any."""
    too_large: list[tuple[Failed, DeliveryError]] = []
    while group:
        history = _merge_histories(group)
        try:
            packed = list(pack([_with_reason(failure, history) for failure in group]))
        except TooLarge as error:
            lone = group[error.index]
            too_large.append((lone, GivenUp(str(error), type(error).__name__)))
            group = [failure for failure in group if failure is not lone]
            continue
        messages: list[tuple[Outgoing, Sequence[Failed]]] = []
        for body, start, stop in packed:
            part = group[start:stop]
            pause = max(_pause(failure, batch.now) for failure in part)
            messages.append((delayed_message(body, history, pause, batch), part))
        return messages, too_large
    return [], too_large


def _merge_histories(group: Sequence[Failed]) -> History:
    """Return the history of the message that holds these events."""
    histories = {
        failure.received.message.id: history_after(failure.received, failure.error)
        for failure in group
    }
    first, *_ = histories.values()
    return first._replace(
        since=min(history.since for history in histories.values()),
        tries=max(failure.tries for failure in group),
        to=group[0].to or first.to,
        created=0,  # each event has its own
    )


def _with_reason(failure: Failed, history: History) -> Delivery:
    """Return an event with the reason of its last failure, if its message has another one."""
    if isinstance(failure.error, Waiting | OutOfTime):
        return failure.delivery
    reason, error = last_reason(failure.error), name_of(failure.error)
    own = ("", "") if reason == history.reason else (reason, error)
    if own == (failure.delivery.reason, failure.delivery.error):
        return failure.delivery
    return replace(failure.delivery, reason=own[0], error=own[1])


def _pause(failure: Failed, now: int) -> int:
    """Return the seconds until the next try of an event, or until it is too old."""
    error, term = failure.error, failure.received.term
    if isinstance(error, OutOfTime):
        return 0
    if failure.pause is not None:
        pause = failure.pause
    elif isinstance(error, Waiting) and error.seconds is not None:
        pause = error.seconds
    elif isinstance(error, BreakerOpen) and term.policy.retries:
        # Without a breaker a part of its age would grow, while few are tried in each call.
        pause = term.pause(tries=failure.tries)
    elif not error.is_try:
        pause = term.recheck_seconds
    else:
        after = error.after if isinstance(error, Throttled) else 0.0
        pause = term.pause(tries=failure.tries, after=after)
    if term.policy.in_order:
        pause = max(pause, term.recheck_seconds)
    elif error.is_try:
        pause = max(pause, term.policy.pause or 0)
    seconds_left = term.policy.seconds_left(failure.delivery.created, now)
    return pause if seconds_left < 0 else round(min(pause, seconds_left + 1))
