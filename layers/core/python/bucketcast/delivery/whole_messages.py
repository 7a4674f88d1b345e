"""Messages that are settled whole, without being opened: sent again, postponed, dead-lettered."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from bucketcast import limits
from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.dead_letters import Dead
from bucketcast.delivery.envelope import number_in
from bucketcast.delivery.messages import Batch, Received
from bucketcast.delivery.policy import CRASHED, History
from bucketcast.delivery.queue import Outgoing, legal_text
from bucketcast.delivery.verdict import Wait
from bucketcast.errors import DeliveryError, GivenUp, OutOfTime, Retryable, Waiting, name_of

_T = TypeVar("_T")


class WholeMessages:
    """Settles messages of one queue; what SQS does not take stays in the queue."""

    def __init__(self, queue: Consumer) -> None:
        self._queue = queue

    def send(self, messages: Sequence[tuple[Received, History, int]], batch: Batch) -> None:
        """Send messages again as they are, with these histories, after so many seconds."""
        outgoing = [
            delayed_message(received.message.body, history, seconds, batch)
            for received, history, seconds in messages
        ]
        for index in send_while_time(self._queue.send, outgoing, batch):
            received, _, seconds = messages[index]
            batch.keep(received, seconds)

    def renew(self, messages: Sequence[tuple[Received, History]], batch: Batch) -> list[Received]:
        """Send messages again before anything is tried; return those that SQS did not take."""
        renewed = [
            Outgoing(received.message.body, history=history) for received, history in messages
        ]
        refused = send_while_time(self._queue.send, renewed, batch, reserve=limits.SETTLE_SECONDS)
        if refused and batch.remaining() < limits.SETTLE_SECONDS:
            for index in refused:
                batch.keep(messages[index][0])
            return []
        return [messages[index][0] for index in refused]

    def wait(
        self,
        messages: Sequence[tuple[Received, Wait]],
        error: DeliveryError,
        batch: Batch,
    ) -> None:
        """Let messages wait."""
        again: list[tuple[Received, History, int]] = []
        for received, wait in messages:
            if wait.stays:
                batch.keep(received, wait.seconds)
            else:
                history = _with_creation(received, history_after(received, error))
                again.append((received, history, wait.seconds))
        self.send(again, batch)

    def dead_letter(self, received: Received, error: str, reason: str, batch: Batch) -> None:
        """Dead-letter a message as it is."""
        batch.outcome.reason = Retryable(reason)
        message = received.message
        history = message.history._replace(created=message.created)
        if self._queue.dead_letter([Dead(message.body, history, error, reason)]):
            batch.keep(received, received.term.recheck_seconds)
        else:
            batch.outcome.dead += number_in(message.body)

    def postpone(self, batch: Batch) -> None:
        """Set when kept messages are visible again; without time for it they come back soon.

        Thousands take long. If the function were killed meanwhile, all its work would be repeated.
        """
        pauses = list(batch.pauses.items())
        for start in range(0, len(pauses), limits.POSTPONED_MESSAGES):
            if start and batch.remaining() < limits.POSTPONE_SECONDS:
                return
            self._queue.postpone(dict(pauses[start : start + limits.POSTPONED_MESSAGES]))


def send_while_time(
    send: Callable[[Sequence[_T]], set[int]],
    entries: Sequence[_T],
    batch: Batch,
    reserve: float = limits.SEND_BACK_SECONDS,
) -> list[int]:
    """Send entries, as many as one call takes; return the indexes of those that SQS did not take.

    Nothing is sent in the last `reserve` seconds, or after a call of which SQS took nothing: where
    it does not answer, each call would wait until the function is killed, and all that it did is
    repeated.
    """
    refused: list[int] = []
    stopped = False
    for start in range(0, len(entries), limits.SQS_CALL_MESSAGES):
        part = entries[start : start + limits.SQS_CALL_MESSAGES]
        stopped = stopped or batch.remaining() < reserve
        indexes = range(len(part)) if stopped else sorted(send(part))
        stopped = len(indexes) == len(part)
        refused += [start + index for index in indexes]
    return refused


def delayed_message(body: str, history: History, seconds: int, batch: Batch) -> Outgoing:
    """Return a message that is seen after so many seconds, however many."""
    if seconds > limits.LONGEST_DELAY_SECONDS:
        history = history._replace(not_before=batch.now + seconds * 1_000)
    return Outgoing(body, min(seconds, limits.LONGEST_DELAY_SECONDS), history)


def history_after(received: Received, error: DeliveryError) -> History:
    """Return the history of a message's events after an error."""
    history, term = received.message.history, received.term
    if isinstance(error, OutOfTime) or type(error) is Waiting:  # its term has not begun
        return term.waiting_history
    if history.error == CRASHED and not error.is_try:
        return history._replace(since=term.started, not_before=0)
    return history._replace(
        since=term.started,
        reason=last_reason(error),
        error=name_of(error),
        not_before=0,
    )


def last_reason(error: DeliveryError) -> str:
    """Return the text of an error for the history, without the reason why it was given up."""
    last = error.last if isinstance(error, GivenUp) else ""
    return legal_text(last or str(error))[: limits.REASON_CHARACTERS]


def _with_creation(received: Received, history: History) -> History:
    """Return the history with the arrival of its events: an unopened envelope may lack it."""
    return history._replace(created=history.created or received.message.sent)
