"""What happens before anything is sent: old messages are renewed or given up."""

from collections.abc import Iterator, Sequence

from bucketcast.delivery.envelope import Sealed
from bucketcast.delivery.retries import NO_ANSWER, Term, pause
from bucketcast.dispatch.attempts import history, renewed
from bucketcast.dispatch.messages import Batch, Message, QueueActions, Requeue, SealedMessage
from bucketcast.dispatch.opening import open_message
from bucketcast.dispatch.outcome import GivenUp, Paused, name_of
from bucketcast.dispatch.settlement import Settlement, dead_letter
from bucketcast.errors import DeliveryError, Retryable
from bucketcast.targets.base import SPARE

_TOGETHER = 10
"""How many old messages are sent again at once: as many as one call of SQS takes."""
_NO_TRY = "it waited behind events that the target did not take"


class Expiry:
    """Renews messages that SQS would drop, and gives up expired ones; `last` is the last error."""

    def __init__(self, queue: QueueActions, settlement: Settlement, *, in_order: bool) -> None:
        self._queue = queue
        self._settlement = settlement
        self._in_order = in_order
        self.last: DeliveryError | None = None

    def due(self, messages: Sequence[SealedMessage], batch: Batch) -> Iterator[SealedMessage]:
        """Return the messages that are to be tried.

        In order, none is tried in a call that gave one up: if it crashed the function, the one
        given up would not be deleted, and SQS would count another of its last receives.
        """
        going = []
        old = []
        blocked = given_up = False
        for one in messages:
            term = one.term
            if one.newer or blocked:
                blocked = self._in_order
                self._leave_newer(one, batch)
            elif one.envelope and (term.should_give_up or (self._in_order and term.expires_soon)):
                late = batch.remaining() < SPARE
                if late or not self._give_up(one.message, one.envelope, term, batch):
                    batch.stays(one.message)
                given_up = self._in_order
            elif given_up:
                batch.stays(one.message, term.spacing)
            elif term.needs_renewal and not self._in_order:
                old.append(one)
            else:
                going.append(one)
        return iter([*going, *self._renew(old, batch)])

    def _leave_newer(self, one: SealedMessage, batch: Batch) -> None:
        """Leave a message for the newer release; dead-letter it, as it is, when its term is over.

        In order, what comes behind it waits too. It cannot be renewed: nobody here knows its
        fields.
        """
        if one.newer:
            reason = str(one.newer)
            batch.outcome.reason = Retryable(reason)
            over = one.term.expired or one.term.needs_renewal
            if over and self._queue.dead_letter_message(one.message, reason):
                batch.outcome.dead += 1
                return
        batch.stays(one.message, pause(one.term.tries))

    def _renew(self, old: Sequence[SealedMessage], batch: Batch) -> Iterator[SealedMessage]:
        """Send successors of these messages; yield those that SQS did not take."""
        for start in range(0, len(old), _TOGETHER):
            part = old[start : start + _TOGETHER]
            if batch.remaining() < SPARE:
                for one in part:
                    batch.stays(one.message)
                continue
            refused = self._queue.send_again([renewed(one) for one in part])
            yield from (part[index] for index in sorted(refused))

    def _give_up(self, message: Message, envelope: Sealed, term: Term, batch: Batch) -> bool:
        """Dead-letter all events of a message; return whether the message may be deleted."""
        outcome = batch.outcome
        last = (self._settlement.hindrance() if self._in_order else None) or self.last
        reason = f"{self._reason(envelope, last)} ({term})"
        outcome.reason = Retryable(reason)
        error = envelope.error or name_of(last or outcome.reason)
        if not envelope.reason:
            # As it is: to open it may be what the function dies of.
            whole = message._replace(body=envelope.again(term.started, 0))
            taken = self._queue.dead_letter_message(whole, reason, error)
            if taken:
                outcome.dead += envelope.number
            return taken
        one = open_message(SealedMessage(message, envelope, term), self._queue, batch)
        if one is None:
            return message.id not in outcome.stay
        for index in range(len(one.deliveries)):
            one.failures[index] = GivenUp(reason, error)
        dead_letter([one], self._queue, outcome)
        left = [one.deliveries[index] for index in sorted(one.failures)]
        if left and not self._in_order and len(left) < len(one.deliveries):
            return not self._queue.requeue([Requeue(left, history(envelope, term), 0)])
        return not left

    def _reason(self, envelope: Sealed, error: DeliveryError | None) -> str:
        """Return the last known reasons why an event was not delivered."""
        last = str(error) if error else ""
        if envelope.reason:
            return envelope.reason + (f"; at last: {last}" if last not in envelope.reason else "")
        behind = last and self._in_order and not isinstance(error, Paused)
        return f"{_NO_TRY}: {last}" if behind else last or NO_ANSWER
