"""What becomes of events that were not delivered: dead-lettered, or sent back to their queue.

Events that fail in the same way are merged, from however many messages: each message that waits is
received again and again, and so ten thousand of them soon become a few. Only those whose terms
began within an hour are merged, so that no event is given up more than an hour early.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from bucketcast import limits
from bucketcast.delivery.dead_letters import Dead, of_event
from bucketcast.delivery.envelope import Delivery, TooLarge, pack
from bucketcast.delivery.messages import Batch, Failed, Received
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import Outgoing, legal_text
from bucketcast.errors import (
    FINAL,
    DeliveryError,
    GivenUp,
    NotConnected,
    OutOfTime,
    Throttled,
    Waiting,
    name_of,
)

_T = TypeVar("_T")
_HOUR_MS = 3_600_000
_LIKE_TRIES = 11
"""After so many tries the pause does not grow any more."""


class Actions(Protocol):
    """What can be done with messages of a queue; `send` and `bury` return what SQS did not take.

    While `heartbeat` is entered, no other consumer sees the messages of these receipts. If the
    function is killed after the `first` seconds, they are visible again after the given ones.
    """

    @property
    def in_order(self) -> bool:
        """Whether the queue keeps its messages in order."""
        ...

    def send(self, messages: Sequence[Outgoing]) -> set[int]: ...

    def bury(self, dead: Sequence[Dead]) -> set[int]: ...

    def postpone(self, pauses: Mapping[str, int]) -> None: ...

    def heartbeat(
        self, seconds: Mapping[str, int], first: float
    ) -> AbstractContextManager[None]: ...


class Settlement:
    """Settles what was not delivered."""

    def __init__(self, queue: Actions) -> None:
        self._queue = queue

    def settle(self, failed: Sequence[Failed], batch: Batch) -> None:
        """Dead-letter or send back each event; its message stays where SQS takes neither."""
        judged = [one._replace(error=_judged(one)) for one in failed]
        again = [one for one in judged if not isinstance(one.error, FINAL)]
        again += self._bury([one for one in judged if isinstance(one.error, FINAL)], batch)
        for one in again:
            _count(one, batch)
        stay: dict[str, tuple[Received, int]] = {}
        for one in again if batch.policy.in_order else self._send_back(again, batch):
            before = stay.get(one.of.message.id, (one.of, 0))[1]
            stay[one.of.message.id] = one.of, max(before, _pause(one, batch.now))
        for message, pause in stay.values():
            batch.stays(message, pause)

    def send_whole(self, some: Sequence[tuple[Received, History, int]], batch: Batch) -> None:
        """Send messages again as they are, with these histories, after so many seconds."""
        outgoing = [_outgoing(one.message.body, told, wait, batch) for one, told, wait in some]
        for index in _while_time(self._queue.send, outgoing, batch):
            one, _, wait = some[index]
            batch.stays(one, wait)

    def _bury(self, final: Sequence[Failed], batch: Batch) -> list[Failed]:
        """Dead-letter events; return those that SQS did not take."""
        outcome = batch.outcome
        refused = _while_time(self._queue.bury, [_dead(one) for one in final], batch)
        for index, one in enumerate(final):
            outcome.reason = one.error
            if index not in refused:
                outcome.dead += 1
                outcome.outcomes.dead.setdefault(str(one.error), []).append(one.delivery.event)
        return [final[index] for index in refused]

    def _send_back(self, some: Sequence[Failed], batch: Batch) -> list[Failed]:
        """Send events back in as few messages as hold them; return those that SQS did not take."""
        parts: list[tuple[Outgoing, Sequence[Failed]]] = []
        left: list[Failed] = []
        for group in _groups(some):
            messages, large = _messages(group, batch)
            parts += messages
            left += self._bury(large, batch)
        refused = _while_time(self._queue.send, [one for one, _ in parts], batch)
        return left + [one for index in refused for one in parts[index][1]]


def _while_time(
    take: Callable[[Sequence[_T]], set[int]], some: Sequence[_T], batch: Batch
) -> list[int]:
    """Give SQS as many as one call takes, while there is time; return the indexes of the others.

    When it takes nothing of a call it is not asked again: where it does not answer, each call would
    wait until the function is killed, and all that it did is repeated.
    """
    left: list[int] = []
    late = False
    for start in range(0, len(some), limits.TOGETHER):
        part = some[start : start + limits.TOGETHER]
        late = late or batch.remaining() < limits.TO_SEND_BACK
        refused = range(len(part)) if late else sorted(take(part))
        late = len(refused) == len(part)
        left += [start + index for index in refused]
    return left


def history_after(one: Received, error: DeliveryError, *, tried: bool) -> History:
    """Return the history of a message's events after an error."""
    known, term = one.message.history, one.term
    if isinstance(error, OutOfTime) or type(error) is Waiting:  # its term has not begun
        return term.waiting
    return known._replace(
        since=term.started,
        tries=known.tries + tried,
        reason=_text(error),
        error=name_of(error),
        not_before=0,
    )


def _text(error: DeliveryError) -> str:
    """Return an error's text for the history, without why it would be given up."""
    last = error.last if isinstance(error, GivenUp) else ""
    return legal_text(last or str(error))[: limits.REASON_LENGTH]


def _judged(one: Failed) -> DeliveryError:
    """Return an event's error, or that it is given up."""
    error, term, policy = one.error, one.of.term, one.of.term.policy
    # Behind one that got no answer nothing is tried; what is tried once is lost with it.
    once = policy.once and isinstance(error, NotConnected)
    if isinstance(error, FINAL) or not (one.tried or once):
        return error
    tries = one.of.message.history.tries + 1
    if policy.once:
        return GivenUp(str(error), name_of(error))
    if policy.retries and tries > policy.retries:
        why = f"max_retries of {policy.retries}: {tries} tries failed"
    elif term.expired:
        why = term.after(tries)
    else:
        return error
    return GivenUp(f"{error} ({why})", name_of(error), str(error))


def _count(one: Failed, batch: Batch) -> None:
    batch.outcome.reason = one.error
    if isinstance(one.error, Waiting | OutOfTime):
        batch.outcome.waiting += 1
        return
    batch.outcome.retried += 1
    event = one.delivery.event
    batch.outcome.outcomes.retried.setdefault(str(one.error), []).append(event)


def _dead(one: Failed) -> Dead:
    history = one.of.message.history
    history = history._replace(to=one.to or history.to)
    return of_event(one.delivery, history, name_of(one.error), str(one.error))


def _groups(failed: Sequence[Failed]) -> Iterable[list[Failed]]:
    """Return the events that may share a message, and what became of them so far."""
    groups: dict[Any, list[Failed]] = {}
    for one in failed:
        groups.setdefault(_likeness(one), []).append(one)
    return groups.values()


def _likeness(one: Failed) -> Any:
    known, term = one.of.message.history, one.of.term
    to = one.to or known.to
    if isinstance(one.error, OutOfTime):
        return known, to
    # Where tries are limited each counts; else the pause does not grow for ever.
    tries = known.tries + one.tried
    tries = tries if term.policy.retries else min(tries, _LIKE_TRIES)
    hour = term.started // _HOUR_MS
    like = hour, to, known.topic, known.redriven, tries, name_of(one.error)
    # One whose term began keeps it while it waits; the others' is to begin with their first try.
    return *like, type(one.error) is Waiting and known.failed


def _merged(group: Sequence[Failed]) -> History:
    """Return the history of the message that holds these events."""
    told = {one.of.message.id: history_after(one.of, one.error, tried=one.tried) for one in group}
    first, *_ = told.values()
    return first._replace(
        since=min(each.since for each in told.values()),
        tries=max(each.tries for each in told.values()),
        to=group[0].to or first.to,
        created=0,  # each event says it
    )


def _messages(
    group: Sequence[Failed], batch: Batch
) -> tuple[list[tuple[Outgoing, Sequence[Failed]]], list[Failed]]:
    """Return the messages that hold these events, and the events that fit in none."""
    large: list[Failed] = []
    while group:
        history = _merged(group)
        try:
            packed = list(pack([_told(one, history) for one in group]))
        except TooLarge as error:
            one = group[error.index]
            large.append(one._replace(error=GivenUp(str(error), type(error).__name__)))
            group = [each for each in group if each is not one]
            continue
        parts = [(body, group[start:stop]) for body, start, stop in packed]
        waits = [max(_pause(one, batch.now) for one in part) for _, part in parts]
        return [
            (_outgoing(body, history, wait, batch), part)
            for (body, part), wait in zip(parts, waits, strict=True)
        ], large
    return [], large


def _told(one: Failed, history: History) -> Delivery:
    """Return an event with the reason of its last failure, where its message says another one."""
    if isinstance(one.error, Waiting | OutOfTime):
        return one.delivery
    reason, error = _text(one.error), name_of(one.error)
    own = ("", "") if reason == history.reason else (reason, error)
    if own == (one.delivery.reason, one.delivery.error):
        return one.delivery
    return replace(one.delivery, reason=own[0], error=own[1])


def _pause(one: Failed, now: int) -> int:
    """Return the seconds until the next try of an event, or until it is too old."""
    error, term = one.error, one.of.term
    if isinstance(error, OutOfTime):
        return 0
    if one.pause is not None:
        wait = one.pause
    elif isinstance(error, Waiting) and error.seconds is not None:
        wait = error.seconds
    elif not one.tried:
        wait = term.patience
    else:
        after = error.after if isinstance(error, Throttled) else 0.0
        wait = term.pause(tries=one.of.message.history.tries + 1, after=after)
    if term.policy.in_order:
        wait = max(wait, term.patience)
    elif one.tried:
        wait = max(wait, term.policy.pause or 0)
    left = term.policy.left(one.delivery.created, now)
    return wait if left < 0 else round(min(wait, left + 1))


def _outgoing(body: str, history: History, wait: int, batch: Batch) -> Outgoing:
    """Return a message that is seen after so many seconds, however many."""
    if wait > limits.LONGEST_DELAY:
        history = history._replace(not_before=batch.now + wait * 1_000)
    return Outgoing(body, min(wait, limits.LONGEST_DELAY), history)
