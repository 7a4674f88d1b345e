"""One batch of messages: what comes before it is sent, the sending, and what follows."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from bucketcast.dispatch.aging import Aging
from bucketcast.dispatch.breaker import Breaker, Gate, Memory, is_silence
from bucketcast.dispatch.history import read
from bucketcast.dispatch.leaving import Leaving
from bucketcast.dispatch.messages import Batch, Message, Open, Waiting, Way
from bucketcast.dispatch.outcome import FINAL, GivenUp, NoTurn, Outcome
from bucketcast.dispatch.portions import portions
from bucketcast.dispatch.sending import FOR_THE_FIRST, NO_TURN, Sender
from bucketcast.envelope import Delivery
from bucketcast.errors import DeliveryError, Foreign, NotAuthorized, NotConnected, Rejected
from bucketcast.lifetime import DAY_MS, LONGEST_LIFE_DAYS
from bucketcast.targets.base import Target
from bucketcast.tracing import Fates

LONGEST_LIFE_MS = LONGEST_LIFE_DAYS * DAY_MS
_POSTPONED = 100
"""How many messages are postponed before the time is looked at."""
_TO_ANSWER = 3.0
"""Seconds for that, and for the function's answer and its counts."""
_Place = tuple[Open, int]


class Dispatcher:
    """Sends batches to one target.

    `connect(fresh)` makes the target with its secrets, fetched again if `fresh`. `in_order` sends
    one event at a time and stops at the first that fails. Without a `breaker` there is one of this
    dispatcher's own.
    """

    def __init__(
        self,
        connect: Callable[[bool], Target],
        way: Way,
        *,
        batch_size: int,
        in_order: bool,
        breaker: Breaker | None = None,
    ) -> None:
        self._sender = Sender(connect)
        self._way = way
        self._batch_size = 1 if in_order else batch_size
        self._in_order = in_order
        self._breaker = breaker or Breaker(Memory())
        self._leaving = Leaving(way, self._breaker, in_order=in_order)
        self._aging = Aging(way, self._leaving, in_order=in_order)

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
        batch = Batch(now, remaining, remaining())
        sealed = [read(message, now) for message in messages]
        batch.outcome.oldest = max((now - one.term.begun for one in sealed), default=0) / 1_000
        with self._way.renewing({one.message.receipt: one.term.visible_again for one in sealed}):
            going = self._aging.see_to(sealed, batch)
            self._go(going, batch, told)
        self._postpone(batch)
        return batch.outcome

    def close(self) -> None:
        """Drop the target with its connection and its secrets."""
        self._sender.close()

    def _postpone(self, batch: Batch) -> None:
        """Let messages be seen again later; those that there is no time for are seen soon.

        Thousands take long, and were the function killed over them, all that it did would be done
        again.
        """
        pauses = list(batch.pauses.items())
        for start in range(0, len(pauses), _POSTPONED):
            if start and batch.remaining() < _TO_ANSWER:
                return
            self._way.postpone(dict(pauses[start : start + _POSTPONED]))

    def _go(self, going: Iterator[Waiting], batch: Batch, told: Callable[[Fates], None]) -> None:
        """Send what may be sent, a portion at a time, and see to what was not delivered."""
        opener = partial(self._aging.opened, batch=batch)
        first = next(going, None)
        if first is None:
            told(batch.outcome.take_fates())
            return
        going = chain((first,), going)
        gate = self._breaker.gate(lambda: self._sender.longest)
        if gate is Gate.OPEN:
            self._leaving.hold(going, opener, batch)
            told(batch.outcome.take_fates())
            return
        gone: DeliveryError | None = None
        begun = False
        for opened in portions(going, opener):
            gone = self._deliver(opened, batch, begun=begun, probe=gate is Gate.PROBE)
            begun = True
            self._leaving.settle(opened, batch)
            told(batch.outcome.take_fates())
            opened.clear()  # before the next portion is opened
            if gone is not None:
                break
        if gone is not None:
            self._leaving.leave(going, gone, opener, batch)
        told(batch.outcome.take_fates())

    def _deliver(
        self, opened: Sequence[Open], batch: Batch, *, begun: bool, probe: bool
    ) -> DeliveryError | None:
        """Send everything in bulk and note what failed beside its message.

        `begun` is that something of the batch was sent before. The answer is why no more is to be
        sent, if so.
        """
        places = [(one, place) for one in opened for place in range(len(one.deliveries))]
        several = not begun and len(places) > 1
        alone = several and self._batch_size > 1 and (probe or self._sender.first_alone)
        if probe and several and not self._in_order:
            # Were it the same one each time, an event that the target hangs over would hold all.
            chosen = random.randrange(len(places))  # noqa: S311 - any other one, not a secret
            places[0], places[chosen] = places[chosen], places[0]
        gone: DeliveryError | None = None
        for number, part in enumerate(self._parts(places, alone=alone)):
            first = alone and number == 0
            if gone is None and self._is_late(batch, begun=begun or number > int(alone)):
                gone = NoTurn(NO_TURN)
            if gone is not None:
                for one, place in part:
                    one.failures[place] = gone
                continue
            gone = self._noted(part, self._send(part, batch), first=first)
        return gone

    def _parts(self, places: Sequence[_Place], *, alone: bool) -> Iterator[Sequence[_Place]]:
        """What is sent at once: as much as the target takes, `alone` the first by itself."""
        if alone:
            yield places[:1]
        for start in range(int(alone), len(places), self._batch_size):
            yield places[start : start + self._batch_size]

    def _is_late(self, batch: Batch, *, begun: bool) -> bool:
        """Whether there is no time for another send.

        What has all of the function's time, but for a quick event that went before it, is sent
        however little that is: it would never be.
        """
        left = batch.remaining()
        passed = begun or left + FOR_THE_FIRST < batch.whole
        return passed and self._sender.short_of(left)

    def _noted(
        self, part: Sequence[_Place], failures: Mapping[int, DeliveryError], *, first: bool
    ) -> DeliveryError | None:
        """Note what failed of a part; why no more is to be sent, if so."""
        gone: DeliveryError | None = None
        for index, error in failures.items():
            one, place = part[index]
            one.failures[place] = error
            if not isinstance(error, NoTurn):
                one.tried.add(place)
            stops = self._in_order and not isinstance(error, FINAL) and not one.term.over
            # A login that is refused for one event may be taken for another.
            lost = isinstance(error, NotConnected) and not (
                first and isinstance(error, NotAuthorized)
            )
            if stops or lost or isinstance(error, NoTurn):
                gone = error
        if isinstance(gone, NotConnected):
            self._sender.close()
        return gone

    def _send(self, part: Sequence[_Place], batch: Batch) -> Mapping[int, DeliveryError]:
        """Send those that the target may still have."""
        deliveries = [one.deliveries[place] for one, place in part]
        refused = self._too_old(deliveries, batch.now)
        left = [place for place in range(len(part)) if place not in refused]
        if not left:
            return refused
        failures = self._sender.send([deliveries[place].event for place in left], batch.remaining)
        silence = next((error for error in failures.values() if is_silence(error)), None)
        if silence is None:
            self._breaker.answered()
        else:
            self._breaker.silent(silence)
        if self._in_order:
            # It would hold up all others until people decide, or for the whole of its term.
            failures = {
                place: GivenUp(str(error), type(error).__name__)
                if isinstance(error, Foreign)
                else error
                for place, error in failures.items()
            }
        transient = (e for e in failures.values() if not isinstance(e, (*FINAL, NoTurn)))
        self._aging.last = next(transient, self._aging.last)
        return refused | {left[place]: error for place, error in failures.items()}

    def _too_old(self, part: Sequence[Delivery], now: int) -> dict[int, DeliveryError]:
        """Those that would spoil a mirror: it may have forgotten a removal that came after them."""
        old = [n for n, one in enumerate(part) if now - one.created > LONGEST_LIFE_MS]
        if not old or not self._sender.refuses_old():
            return {}
        days = {n: (now - part[n].created) // DAY_MS for n in old}
        return {
            n: Rejected(
                f"the event came {days[n]} days ago, and a mirror takes none older than "
                f"{LONGEST_LIFE_DAYS}: bucketcast reconcile finds and mends what is missing"
            )
            for n in old
        }
