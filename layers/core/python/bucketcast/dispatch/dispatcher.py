"""The dispatcher: sends one batch of messages to one target and settles each event."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from bucketcast.delivery.alarms import LATE_SECONDS
from bucketcast.delivery.envelope import Delivery
from bucketcast.delivery.retention import DAY_MS, LONGEST_LIFE_DAYS
from bucketcast.delivery.tracing import Outcomes
from bucketcast.dispatch.attempts import read
from bucketcast.dispatch.breaker import Breaker, BreakerState, is_unreachable
from bucketcast.dispatch.chunks import chunks
from bucketcast.dispatch.expiry import Expiry
from bucketcast.dispatch.messages import Batch, Message, OpenMessage, QueueActions, SealedMessage
from bucketcast.dispatch.opening import open_message
from bucketcast.dispatch.outcome import FINAL, Outcome, OutOfTime
from bucketcast.dispatch.sender import FOR_THE_FIRST, OUT_OF_TIME, Sender
from bucketcast.dispatch.settlement import Settlement
from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Rejected
from bucketcast.targets.base import Target

LONGEST_LIFE_MS = LONGEST_LIFE_DAYS * DAY_MS
_POSTPONED = 100
"""How many messages are postponed before the time is looked at."""
_TO_ANSWER = 3.0
"""Seconds for that, and for the function's answer and its counts."""
_Position = tuple[OpenMessage, int]


class Dispatcher:
    """Sends batches to one target.

    `connect(fresh)` creates the target with its secrets, fetched again if `fresh`. `in_order` sends
    one event at a time and stops at the first failure.
    """

    def __init__(
        self,
        connect: Callable[[bool], Target],
        queue: QueueActions,
        *,
        batch_size: int,
        in_order: bool,
        breaker: Breaker,
    ) -> None:
        self._sender = Sender(connect)
        self._queue = queue
        self._batch_size = 1 if in_order else batch_size
        self._in_order = in_order
        self._breaker = breaker
        self._settlement = Settlement(queue, self._breaker, in_order=in_order)
        self._expiry = Expiry(queue, self._settlement, in_order=in_order)

    def __call__(
        self,
        messages: Iterable[Message],
        *,
        now: int,
        remaining: Callable[[], float],
        on_begun: Callable[[float], None] = lambda _: None,
        on_outcomes: Callable[[Outcomes], None] = lambda _: None,
    ) -> Outcome:
        """Deliver the events in these messages; `now` is Unix ms, `remaining` the seconds left.

        They are opened in chunks, so that not all events are in memory at once; `on_outcomes` is
        called with the outcomes of each chunk. `on_begun` is called before, with the age of the
        oldest message in seconds, unless it is meant to wait.
        """
        batch = Batch(now, remaining, remaining())
        sealed = [read(message, now) for message in messages]
        batch.outcome.oldest = max((now - one.term.started for one in sealed), default=0) / 1_000
        with self._queue.heartbeat({one.message.receipt: one.term.visibility for one in sealed}):
            going = self._expiry.due(sealed, batch)
            self._go(going, batch, on_begun, on_outcomes)
        self._postpone(batch)
        return batch.outcome

    def close(self) -> None:
        """Close the target's connection and drop its secrets."""
        self._sender.close()

    def _postpone(self, batch: Batch) -> None:
        """Set when messages are visible again; those that there is no time for come back soon.

        Thousands take long. If the function were killed meanwhile, all its work would be repeated.
        """
        pauses = list(batch.pauses.items())
        for start in range(0, len(pauses), _POSTPONED):
            if start and batch.remaining() < _TO_ANSWER:
                return
            self._queue.postpone(dict(pauses[start : start + _POSTPONED]))

    def _go(
        self,
        going: Iterator[SealedMessage],
        batch: Batch,
        on_begun: Callable[[float], None],
        on_outcomes: Callable[[Outcomes], None],
    ) -> None:
        """Send what may be sent, in chunks, and settle what was not delivered."""
        opener = partial(open_message, queue=self._queue, batch=batch)
        first = next(going, None)
        if first is None:
            on_outcomes(batch.outcome.take_outcomes())
            return
        going = chain((first,), going)
        gate = self._breaker.state(lambda: self._sender.longest)
        if gate is not BreakerState.PAUSED or batch.outcome.oldest > LATE_SECONDS:
            on_begun(batch.outcome.oldest)
        if gate in (BreakerState.OPEN, BreakerState.PAUSED):
            self._settlement.hold(going, opener, batch)
            on_outcomes(batch.outcome.take_outcomes())
            return
        gone: DeliveryError | None = None
        begun = False
        for opened in chunks(going, opener):
            gone = self._deliver(opened, batch, begun=begun, probe=gate is BreakerState.HALF_OPEN)
            begun = True
            self._settlement.settle(opened, batch)
            on_outcomes(batch.outcome.take_outcomes())
            opened.clear()  # before the next chunk is opened
            if gone is not None:
                break
        if gone is not None:
            self._settlement.leave(going, gone, opener, batch)
        on_outcomes(batch.outcome.take_outcomes())

    def _deliver(
        self, opened: Sequence[OpenMessage], batch: Batch, *, begun: bool, probe: bool
    ) -> DeliveryError | None:
        """Send everything in bulk and record each failure with its message.

        `begun` says that something of the batch was sent before. Return the error that stops the
        batch, if any.
        """
        positions = [(one, index) for one in opened for index in range(len(one.deliveries))]
        several = not begun and len(positions) > 1
        alone = several and self._batch_size > 1 and (probe or self._sender.first_alone)
        if probe and several and not self._in_order:
            # Were it the same one each time, an event that the target hangs over would hold all.
            chosen = random.randrange(len(positions))  # noqa: S311 - any other one, not a secret
            positions[0], positions[chosen] = positions[chosen], positions[0]
        gone: DeliveryError | None = None
        for number, part in enumerate(self._parts(positions, alone=alone)):
            first = alone and number == 0
            if gone is None and self._is_late(batch, begun=begun or number > int(alone)):
                gone = OutOfTime(OUT_OF_TIME)
            if gone is not None:
                for one, index in part:
                    one.failures[index] = gone
                continue
            gone = self._noted(part, self._send(part, batch), first=first)
        return gone

    def _parts(
        self, positions: Sequence[_Position], *, alone: bool
    ) -> Iterator[Sequence[_Position]]:
        """Yield what to send at once: as much as the target takes, or `alone` the first event."""
        if alone:
            yield positions[:1]
        for start in range(int(alone), len(positions), self._batch_size):
            yield positions[start : start + self._batch_size]

    def _is_late(self, batch: Batch, *, begun: bool) -> bool:
        """Return whether there is no time for another send.

        A part that has all of the function's time, apart from one quick event, is sent even if that
        is short: it would never be sent otherwise.
        """
        left = batch.remaining()
        passed = begun or left + FOR_THE_FIRST < batch.whole
        return passed and self._sender.short_of(left)

    def _noted(
        self, part: Sequence[_Position], failures: Mapping[int, DeliveryError], *, first: bool
    ) -> DeliveryError | None:
        """Record the failures of a part; return the error that stops the batch, if any."""
        gone: DeliveryError | None = None
        for number, error in failures.items():
            one, index = part[number]
            one.failures[index] = error
            if not isinstance(error, OutOfTime):
                one.tried.add(index)
            stops = self._in_order and not isinstance(error, FINAL) and not one.term.expired
            # A login that is refused for one event may be taken for another.
            lost = isinstance(error, NotConnected) and not (
                first and isinstance(error, NotAuthorized)
            )
            if stops or lost or isinstance(error, OutOfTime):
                gone = error
        if isinstance(gone, NotConnected):
            self._sender.close()
        return gone

    def _send(self, part: Sequence[_Position], batch: Batch) -> Mapping[int, DeliveryError]:
        """Send the events that are not too old for the target."""
        deliveries = [one.deliveries[index] for one, index in part]
        refused = self._too_old(deliveries, batch.now)
        left = [index for index in range(len(part)) if index not in refused]
        if not left:
            return refused
        failures = self._sender.send([deliveries[index].event for index in left], batch.remaining)
        silence = next((error for error in failures.values() if is_unreachable(error)), None)
        if silence is None:
            self._breaker.record_success()
        else:
            self._breaker.record_failure(silence)
        transient = (e for e in failures.values() if not isinstance(e, (*FINAL, OutOfTime)))
        self._expiry.last = next(transient, self._expiry.last)
        return refused | {left[index]: error for index, error in failures.items()}

    def _too_old(self, part: Sequence[Delivery], now: int) -> dict[int, DeliveryError]:
        """Reject events that are too old for a mirror: it may have forgotten a later removal."""
        old = [n for n, one in enumerate(part) if now - one.created > LONGEST_LIFE_MS]
        if not old or not self._sender.refuses_old():
            return {}
        days = {n: (now - part[n].created) // DAY_MS for n in old}
        return {
            n: Rejected(
                f"the event came {days[n]} days ago, and a mirror takes none older than "
                f"{LONGEST_LIFE_DAYS}: bucketcast reconcile finds and repairs what is missing"
            )
            for n in old
        }
