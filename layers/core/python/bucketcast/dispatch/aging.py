"""What is seen to before anything is sent: messages that grew old, or that SQS would soon take."""

from collections.abc import Iterator, Sequence

from msgspec.structs import force_setattr

from bucketcast.dispatch.history import history, renewed
from bucketcast.dispatch.leaving import Leaving
from bucketcast.dispatch.messages import Back, Batch, Message, Open, Waiting, Way
from bucketcast.dispatch.outcome import GivenUp
from bucketcast.envelope import Sealed, seal
from bucketcast.errors import DeliveryError, Retryable
from bucketcast.retries import Term
from bucketcast.targets.base import SPARE

_TOGETHER = 10
"""How many worn messages are sent again at once: as many as one call of SQS takes."""
_NO_ANSWER = "no try came to an end: the function ended before it could say why"
_NO_TRY = "it waited behind events that the target did not take"


class Aging:
    """Renews what is worn and buries what is hopeless; `last` is the last error of a try."""

    def __init__(self, way: Way, leaving: Leaving, *, in_order: bool) -> None:
        self._way = way
        self._leaving = leaving
        self._in_order = in_order
        self.last: DeliveryError | None = None

    def see_to(self, messages: Sequence[Waiting], batch: Batch) -> Iterator[Waiting]:
        """Those that are to be tried."""
        going = []
        worn = []
        for one in messages:
            term = one.term
            if one.envelope and (term.hopeless or (self._in_order and term.last_call)):
                late = batch.remaining() < SPARE
                if late or not self._give_up(one.message, one.envelope, term, batch):
                    batch.stays(one.message)
            elif term.worn and not self._in_order:
                worn.append(one)
            else:
                going.append(one)
        return iter([*going, *self._renew(worn, batch)])

    def opened(self, one: Waiting, batch: Batch) -> Open | None:
        """The message with its events; None if it is none, and is buried or stays."""
        message, envelope, term = one
        try:
            envelope = envelope or seal(message.body)
            deliveries = envelope.open()
        except ValueError as error:
            if self._way.bury_message(message, str(error)):
                batch.outcome.dead += 1
            else:
                batch.stays(message)
            return None
        for each in deliveries:
            force_setattr(each.event, "rule", each.rule)
            force_setattr(each.event, "named", each.named)
            if not each.created:
                force_setattr(each, "created", envelope.since or message.sent)
        return Open(message, envelope, term, deliveries)

    def _renew(self, worn: Sequence[Waiting], batch: Batch) -> Iterator[Waiting]:
        """Send worn messages again, and give those that SQS did not take."""
        for start in range(0, len(worn), _TOGETHER):
            part = worn[start : start + _TOGETHER]
            if batch.remaining() < SPARE:
                for one in part:
                    batch.stays(one.message)
                continue
            refused = self._way.send_again([renewed(one) for one in part])
            yield from (part[place] for place in sorted(refused))

    def _give_up(self, message: Message, envelope: Sealed, term: Term, batch: Batch) -> bool:
        """Bury all of a message; whether it may go."""
        outcome = batch.outcome
        reason = f"{self._known(envelope)} ({term})"
        outcome.reason = Retryable(reason)
        error = envelope.error or type(self.last or outcome.reason).__name__
        if not envelope.reason:
            # As it is: to open it may be what the function dies of.
            whole = message._replace(body=envelope.again(term.begun, 0))
            taken = self._way.bury_message(whole, reason, error)
            outcome.dead += taken
            return taken
        one = self.opened(Waiting(message, envelope, term), batch)
        if one is None:
            return message.id not in outcome.stay
        for place in range(len(one.deliveries)):
            one.failures[place] = GivenUp(reason, error)
        self._leaving.bury([one], outcome)
        left = [one.deliveries[place] for place in sorted(one.failures)]
        if not left or self._in_order or len(left) == len(one.deliveries):
            return not left
        return not self._way.go_back([Back(left, history(envelope, term), 0)])

    def _known(self, envelope: Sealed) -> str:
        """The last known reasons why an event was not taken."""
        last = str(self.last) if self.last else ""
        if envelope.reason:
            return envelope.reason + (f"; at last: {last}" if last not in envelope.reason else "")
        return f"{_NO_TRY}: {last}" if last and self._in_order else last or _NO_ANSWER
