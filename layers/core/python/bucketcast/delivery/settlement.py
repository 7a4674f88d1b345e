"""Events that were not delivered: they are dead-lettered, or sent back to their queue.

Events that fail in the same way are merged, from however many messages: each message that waits is
received again and again, and so ten thousand of them soon become a few. Only those whose terms
began within an hour are merged, so that no event is given up more than an hour early.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from bucketcast.delivery import dead_letters
from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.envelope import Delivery, TooLarge, pack
from bucketcast.delivery.messages import Batch, Failed, Received, deliveries
from bucketcast.delivery.policy import CRASHED, History
from bucketcast.delivery.queue import Outgoing
from bucketcast.delivery.tracing import Try
from bucketcast.delivery.verdict import Fate, Verdict, of_event
from bucketcast.delivery.whole_messages import (
    delayed_message,
    history_after,
    last_reason,
    send_while_time,
)
from bucketcast.errors import DeliveryError, GivenUp, OutOfTime, Waiting, name_of

_HOUR_MS = 3_600_000
_LIKE_TRIES = 13
"""After so many tries the pause does not grow any more."""

_Judged = tuple[Failed, Verdict]


class Settlement:
    """Settles the events of one queue that were not delivered."""

    def __init__(self, queue: Consumer) -> None:
        self._queue = queue

    def settle(self, failed: Sequence[Failed], batch: Batch) -> None:
        """Dead-letter or send back each event; its message stays where SQS takes neither."""
        judged = [(failure, of_event(failure, batch.now)) for failure in failed]
        retried = [one for one in judged if one[1].fate is not Fate.DEAD]
        retried += self._dead_letter([one for one in judged if one[1].fate is Fate.DEAD], batch)
        for failure, verdict in retried:
            _count(failure, verdict.pause, batch)
        kept: dict[str, tuple[Received, int]] = {}
        for failure, verdict in (
            retried if batch.policy.in_order else self._send_back(retried, batch)
        ):
            id_ = failure.received.message.id
            before = kept.get(id_, (failure.received, 0))[1]
            kept[id_] = failure.received, max(before, verdict.pause)
        for received, pause in kept.values():
            batch.keep(received, pause)

    def halve(self, received: Received, batch: Batch) -> bool:
        """Send the halves of a message instead of it; return False if that cannot be done.

        Raises:
            ValueError: its body is no envelope.
        """
        events = deliveries(received.message)
        middle, history = len(events) // 2, received.term.renewed_history
        halves = [*pack(events[:middle]), *pack(events[middle:])]
        outgoing = [Outgoing(packed.body, history=history) for packed in halves]
        return not send_while_time(self._queue.send, outgoing, batch)

    def _dead_letter(self, final: Sequence[_Judged], batch: Batch) -> list[_Judged]:
        """Dead-letter events with their errors; return those that SQS did not take."""
        outcome = batch.outcome
        letters = [_dead(failure, verdict.error) for failure, verdict in final]
        refused = send_while_time(self._queue.dead_letter, letters, batch)
        for index, (failure, verdict) in enumerate(final):
            outcome.reason = verdict.error
            if index not in refused:
                outcome.dead += 1
                about = failure.error.stage, str(verdict.error)
                tries = outcome.outcomes.dead.setdefault(about, [])
                tries.append(Try(failure.delivery.event, failure.tries))
        return [final[index] for index in refused]

    def _send_back(self, failed: Sequence[_Judged], batch: Batch) -> list[_Judged]:
        """Send events back in as few messages as hold them; return those that SQS did not take."""
        parts: list[tuple[Outgoing, Sequence[_Judged]]] = []
        kept: list[_Judged] = []
        for group in _group(_fold(failed)):
            messages, too_large = _merge(group, batch)
            parts += messages
            kept += self._dead_letter(too_large, batch)
        outgoing = [message for message, _ in parts]
        for index in send_while_time(self._queue.send, outgoing, batch):
            kept += parts[index][1]
        return kept


def _count(failure: Failed, pause: int, batch: Batch) -> None:
    batch.outcome.reason = failure.error
    if not failure.error.is_try:
        batch.outcome.waiting += 1
        return
    batch.outcome.retried += 1
    about = failure.error.stage, str(failure.error)
    tries = batch.outcome.outcomes.retried.setdefault(about, [])
    tries.append(Try(failure.delivery.event, failure.tries, pause))


def _dead(failure: Failed, error: DeliveryError) -> dead_letters.Dead:
    history = failure.received.message.history
    history = history._replace(to=failure.to or history.to)
    return dead_letters.of_event(
        failure.delivery, history, name_of(error), str(error), error.answer
    )


def _fold(failed: Iterable[_Judged]) -> Iterable[_Judged]:
    """Return each event once: of its copies, as SQS or a killed function leaves them, the oldest.

    That is the one with the most tries.
    """
    found: dict[Any, _Judged] = {}
    for one in failed:
        failure, _ = one
        delivery = failure.delivery
        history = failure.received.message.history
        to = failure.to or history.to
        key = delivery.copy_id, delivery.rule, delivery.created, to, history.topic, history.redriven
        if key not in found or found[key][0].tries < failure.tries:
            found[key] = one
    return found.values()


def _group(failed: Iterable[_Judged]) -> Iterable[list[_Judged]]:
    """Return the events in groups that may share a message."""
    groups: dict[Any, list[_Judged]] = {}
    for one in failed:
        groups.setdefault(_likeness(one[0]), []).append(one)
    return groups.values()


def _likeness(failure: Failed) -> Any:
    history, term = failure.received.message.history, failure.received.term
    to = failure.to or history.to
    if history.error == CRASHED and not failure.error.is_try:  # it stays alone
        return failure.received.message.id, to
    if isinstance(failure.error, OutOfTime):
        return history, to
    # Where tries are limited each counts; else the pause does not grow for ever.
    tries = failure.tries if term.policy.retries else min(failure.tries, _LIKE_TRIES)
    hour = term.started // _HOUR_MS
    like = hour, to, history.topic, history.redriven, tries, name_of(failure.error)
    # One whose term began keeps it while it waits; the others' is to begin with their first try.
    return *like, type(failure.error) is Waiting and history.failed


def _merge(
    group: list[_Judged], batch: Batch
) -> tuple[list[tuple[Outgoing, Sequence[_Judged]]], list[_Judged]]:
    """Return the messages that hold these events, and the events that are too large for any."""
    too_large: list[_Judged] = []
    while group:
        history = _merge_histories([failure for failure, _ in group])
        try:
            packed = list(pack([_with_reason(failure, history) for failure, _ in group]))
        except TooLarge as error:
            failure, verdict = group.pop(error.index)
            reason = GivenUp(str(error), type(error).__name__)
            too_large.append((failure, verdict._replace(error=reason)))
            continue
        messages: list[tuple[Outgoing, Sequence[_Judged]]] = []
        for body, start, stop in packed:
            part = group[start:stop]
            pause = max(verdict.pause for _, verdict in part)
            messages.append((delayed_message(body, history, pause, batch), part))
        return messages, too_large
    return [], too_large


def _merge_histories(group: Sequence[Failed]) -> History:
    """Return the history of the message that holds these events."""
    last = {failure.received.message.id: failure for failure in group}
    histories = [history_after(failure.received, failure.error) for failure in last.values()]
    first = histories[0]
    since = min(history.since for history in histories)
    # Each event has its own; that of the message is told where its term begins, or began, later.
    arrived = min(failure.delivery.created for failure in group)
    return first._replace(
        since=since,
        tries=max(failure.tries for failure in group),
        to=group[0].to or first.to,
        created=arrived if arrived < since or not first.failed else 0,
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
