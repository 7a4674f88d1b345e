"""One batch of messages: what comes before it is sent, the sending, and what follows."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import force_setattr

from bucketcast.dispatch.messages import Message, Open, Way
from bucketcast.dispatch.outcome import (
    GivenUp,
    NoTurn,
    Outcome,
    dead_one,
    history,
    pause_of,
    pause_unopened,
    read,
    renewed,
)
from bucketcast.dispatch.portions import portions
from bucketcast.dispatch.sending import Sender
from bucketcast.envelope import Delivery, Sealed, seal
from bucketcast.errors import DeliveryError, Foreign, NotConnected, Rejected, Retryable
from bucketcast.lifetime import DAY_MS, LONGEST_LIFE_DAYS
from bucketcast.retries import Term
from bucketcast.targets.base import SPARE, Target
from bucketcast.tracing import Fates

LONGEST_LIFE_MS = LONGEST_LIFE_DAYS * DAY_MS
_FINAL = (Rejected, GivenUp)
_TOGETHER = 10
"""How many worn messages are sent again at once: as many as one call of SQS takes."""
_NO_TURN = "the function's time was up before its turn came"
_NO_ANSWER = "no try came to an end: the function ended before it could say why"
_NO_TRY = "it waited behind events that the target did not take"


class Dispatcher:
    """Sends batches to one target.

    `connect(fresh)` makes the target with its secrets, fetched again if `fresh`. `in_order` sends
    one event at a time and stops at the first that fails.
    """

    def __init__(
        self, connect: Callable[[bool], Target], way: Way, *, batch_size: int, in_order: bool
    ) -> None:
        self._sender = Sender(connect)
        self._way = way
        self._batch_size = 1 if in_order else batch_size
        self._in_order = in_order
        self._last: DeliveryError | None = None

    def __call__(
        self,
        messages: Iterable[Message],
        *,
        now: int,
        remaining: Callable[[], float],
        told: Callable[[Fates], None] = lambda _: None,
    ) -> Outcome:
        """Deliver what these messages hold; `now` is Unix ms, `remaining` the seconds left.

        They are opened a portion at a time, so that not all of their events are in memory at once;
        `told` hears what became of each portion.
        """
        outcome = Outcome()
        sealed = [(message, *read(message, now)) for message in messages]
        outcome.oldest = max((now - term.begun for _, _, term in sealed), default=0) / 1_000
        going = self._see_to_age(sealed, outcome, remaining)
        gone: DeliveryError | None = None
        begun = False
        for opened in portions(going, partial(self._opened, outcome=outcome)):
            gone = self._deliver(opened, now, remaining, begun=begun)
            begun = True
            self._settle(opened, outcome)
            told(outcome.take_fates())
            opened.clear()  # before the next portion is opened
            if gone is not None:
                break
        if gone is not None:
            self._leave(going, gone, outcome)
        told(outcome.take_fates())
        return outcome

    def close(self) -> None:
        """Drop the target with its connection and its secrets."""
        self._sender.close()

    def _settle(self, opened: Sequence[Open], outcome: Outcome) -> None:
        """See to what became of each event of a portion that was sent."""
        for one in opened:
            outcome.delivered += len(one.deliveries) - len(one.failures)
            outcome.fates.delivered += [
                delivery.event
                for place, delivery in enumerate(one.deliveries)
                if place not in one.failures
            ]
        failed = [one for one in opened if one.failures]
        if failed:
            self._bury(failed, outcome)
            self._keep(failed, outcome)

    # Before anything is sent

    def _see_to_age(
        self,
        sealed: Sequence[tuple[Message, Sealed | None, Term]],
        outcome: Outcome,
        remaining: Callable[[], float],
    ) -> Iterator[tuple[Message, Sealed | None, Term]]:
        """Renew what is worn, bury what is hopeless, and give the others."""
        going = []
        worn = []
        spaced = {}
        for message, envelope, term in sealed:
            if envelope and (term.hopeless or (self._in_order and term.last_call)):
                if remaining() < SPARE or not self._give_up(message, envelope, term, outcome):
                    outcome.stay.append(message.id)
                continue
            if self._in_order:
                if term.spacing:
                    spaced[message.receipt] = term.spacing
            elif term.worn:
                worn.append((message, envelope, term))
                continue
            going.append((message, envelope, term))
        if spaced:
            self._way.postpone(spaced)
        return iter([*going, *self._renew(worn, outcome, remaining)])

    def _renew(
        self,
        worn: Sequence[tuple[Message, Sealed | None, Term]],
        outcome: Outcome,
        remaining: Callable[[], float],
    ) -> Iterator[tuple[Message, Sealed | None, Term]]:
        """Send worn messages again, and give those that SQS did not take."""
        for start in range(0, len(worn), _TOGETHER):
            part = worn[start : start + _TOGETHER]
            if remaining() < SPARE:
                outcome.stay += [message.id for message, _, _ in part]
                continue
            refused = self._way.send_again([renewed(*one) for one in part])
            yield from (part[place] for place in sorted(refused))

    def _give_up(self, message: Message, envelope: Sealed, term: Term, outcome: Outcome) -> bool:
        """Bury all of a message; whether it may go."""
        reason = f"{self._known(envelope)} ({term})"
        outcome.reason = Retryable(reason)
        error = envelope.error or type(self._last or outcome.reason).__name__
        if not envelope.reason:
            # As it is: to open it may be what the function dies of.
            whole = message._replace(body=envelope.again(term.begun, 0))
            taken = self._way.bury_message(whole, reason, error)
            outcome.dead += taken
            return taken
        one = self._opened(message, envelope, term, outcome)
        if one is None:
            return message.id not in outcome.stay
        for place in range(len(one.deliveries)):
            one.failures[place] = GivenUp(reason, error)
        self._bury([one], outcome)
        left = [one.deliveries[place] for place in sorted(one.failures)]
        if not left or self._in_order or len(left) == len(one.deliveries):
            return not left
        return self._way.go_back(left, history(envelope, term), 0)

    def _known(self, envelope: Sealed) -> str:
        """The last known reasons why an event was not taken."""
        last = str(self._last) if self._last else ""
        if envelope.reason:
            return envelope.reason + (f"; at last: {last}" if last not in envelope.reason else "")
        return f"{_NO_TRY}: {last}" if last and self._in_order else last or _NO_ANSWER

    def _opened(
        self, message: Message, envelope: Sealed | None, term: Term, outcome: Outcome
    ) -> Open | None:
        """The message with its events; None if it is none, and is buried or stays."""
        try:
            envelope = envelope or seal(message.body)
            deliveries = envelope.open()
        except ValueError as error:
            if self._way.bury_message(message, str(error)):
                outcome.dead += 1
            else:
                outcome.stay.append(message.id)
            return None
        for one in deliveries:
            force_setattr(one.event, "rule", one.rule)
            force_setattr(one.event, "named", one.named)
            if not one.created:
                force_setattr(one, "created", envelope.since or message.sent)
        return Open(message, envelope, term, deliveries)

    # Sending

    def _deliver(
        self, opened: Sequence[Open], now: int, remaining: Callable[[], float], *, begun: bool
    ) -> DeliveryError | None:
        """Send everything in bulk and note what failed beside its message.

        `begun` is that something of the batch was sent before. The answer is why no more is to be
        sent, if so.
        """
        places = [(one, place) for one in opened for place in range(len(one.deliveries))]
        gone: DeliveryError | None = None
        for start in range(0, len(places), self._batch_size):
            part = places[start : start + self._batch_size]
            if (start or begun) and gone is None and self._sender.short_of(remaining()):
                gone = NoTurn(_NO_TURN)
            if gone is not None:
                for one, place in part:
                    one.failures[place] = gone
                continue
            failures = self._send([one.deliveries[place] for one, place in part], now)
            for index, error in failures.items():
                one, place = part[index]
                one.tried.add(place)
                one.failures[place] = error
                stops = self._in_order and not isinstance(error, _FINAL) and not one.term.over
                if stops or isinstance(error, NotConnected):
                    gone = error
            if isinstance(gone, NotConnected):
                self._sender.close()
        return gone

    def _send(self, part: Sequence[Delivery], now: int) -> Mapping[int, DeliveryError]:
        """Send those that the target may still have."""
        refused = self._too_old(part, now)
        left = [place for place in range(len(part)) if place not in refused]
        failures = self._sender.send([part[place].event for place in left]) if left else {}
        if self._in_order:
            # It would hold up all others until people decide, or for the whole of its term.
            failures = {
                place: GivenUp(str(error), type(error).__name__)
                if isinstance(error, Foreign)
                else error
                for place, error in failures.items()
            }
        self._last = next(
            (error for error in failures.values() if not isinstance(error, _FINAL)), self._last
        )
        if not refused:
            return failures
        return refused | {left[place]: error for place, error in failures.items()}

    def _too_old(self, part: Sequence[Delivery], now: int) -> dict[int, DeliveryError]:
        """Those that would spoil a mirror: it may have forgotten a removal that came after them."""
        old = [n for n, one in enumerate(part) if now - one.created > LONGEST_LIFE_MS]
        try:
            if not old or not self._sender.refuses_old():
                return {}
        except DeliveryError:
            return {}  # whatever it is, sending them says so of each
        days = {n: (now - part[n].created) // DAY_MS for n in old}
        return {
            n: Rejected(
                f"the event came {days[n]} days ago, and a mirror takes none older than "
                f"{LONGEST_LIFE_DAYS}: bucketcast reconcile finds and mends what is missing"
            )
            for n in old
        }

    # What failed

    def _bury(self, failed: Sequence[Open], outcome: Outcome) -> None:
        """Bury what will not be tried again, and forget those failures that SQS took."""
        final = [
            (one, place)
            for one in failed
            for place, error in sorted(one.failures.items())
            if isinstance(error, _FINAL) or (one.term.over and place in one.tried)
        ]
        dead = [dead_one(one, place) for one, place in final]
        refused = self._way.bury(dead) if dead else set()
        for index, (one, place) in enumerate(final):
            outcome.reason = one.failures[place]
            if index not in refused:
                reason = str(one.failures.pop(place))
                outcome.fates.dead.setdefault(reason, []).append(one.deliveries[place].event)
                outcome.dead += 1

    def _keep(self, failed: Sequence[Open], outcome: Outcome) -> None:
        """Let what failed be seen again: the message itself, or new ones with just those events."""
        pauses: dict[str, int] = {}
        for one in failed:
            if not one.failures:
                continue
            outcome.retried += len(one.failures)
            outcome.reason = next(iter(one.failures.values()))
            for place, error in one.failures.items():
                event = one.deliveries[place].event
                outcome.fates.retried.setdefault(str(error), []).append(event)
            if not self._gone_back(one):
                outcome.stay.append(one.message.id)
                wait = max(pause_of(one, place) for place in one.failures)
                pauses[one.message.receipt] = max(wait, one.term.spacing if self._in_order else 0)
        if pauses:
            self._way.postpone(pauses)

    def _leave(
        self,
        rest: Iterable[tuple[Message, Sealed | None, Term]],
        gone: DeliveryError,
        outcome: Outcome,
    ) -> None:
        """Let messages that had no turn be seen again; what is no envelope is buried all the same.

        They are not opened: there may be many times more of them than of those that had a turn.
        """
        pauses: dict[str, int] = {}
        for message, envelope, term in rest:
            if envelope is None:
                self._opened(message, envelope, term, outcome)
                continue
            outcome.retried += envelope.number
            outcome.stay.append(message.id)
            wait = pause_unopened(term, gone)
            pauses[message.receipt] = max(wait, term.spacing if self._in_order else 0)
        if pauses:
            self._way.postpone(pauses)

    def _gone_back(self, one: Open) -> bool:
        """Send what failed as new messages; False where the message itself is to stay.

        It stays where that says all there is to say: it failed as a whole, and for no reason that
        it does not have with it.
        """
        tried = sorted(one.tried & one.failures.keys())
        without_turn = sorted(one.failures.keys() - one.tried)
        whole = len(one.failures) == len(one.deliveries)
        if self._in_order or (whole and (one.envelope.reason or not tried)):
            return False
        for places in (tried, without_turn):
            if not places:
                continue
            error = one.failures[places[0]] if places is tried else None
            part = [one.deliveries[place] for place in places]
            wait = max(pause_of(one, place) for place in places)
            if not self._way.go_back(part, history(one.envelope, one.term, error), wait):
                return False
        return True
