"""The work of a target's queue: its events are sent to the target, in batches it can take."""

import random
from collections.abc import Iterator, Mapping, Sequence

from bucketcast.delivery.breaker import Breaker, BreakerState, Outage
from bucketcast.delivery.connection import OUT_OF_TIME, Connection
from bucketcast.delivery.envelope import Delivery
from bucketcast.delivery.messages import Batch, Failed, Item, Received, Result, deliveries
from bucketcast.delivery.policy import Policy
from bucketcast.errors import (
    FINAL,
    BreakerOpen,
    DeliveryError,
    GivenUp,
    NotAuthorized,
    NotConnected,
    OutOfTime,
    Paused,
    TimedOut,
    Waiting,
)
from bucketcast.limits import FIRST_BATCH_SECONDS, GROWS_AFTER_BATCHES


class Sender:
    """Sends to one target, no more than `batch_size` events at once.

    A batch that gets no answer in time is halved, and so are those after it, until the target has
    taken some: a slow database gets what it can take.
    """

    def __init__(self, connection: Connection, breaker: Breaker, batch_size: int) -> None:
        self._breaker = breaker
        self._connection = connection
        self._max_size = batch_size
        self._size = batch_size
        self._taken_batches = 0
        self._probing = False

    @property
    def is_unreachable(self) -> bool:
        return self._breaker.outage is not None

    def close(self) -> None:
        self._connection.close()

    def open(self, received: Received) -> Sequence[Delivery]:
        return deliveries(received.message)

    def begin_batch(self, policy: Policy) -> Waiting | None:
        """Return the obstacle, if any; where tries are limited, only a pause is one."""
        self._breaker.longest_pause = policy.pause
        if policy.retries:
            state = BreakerState.PAUSED if self._breaker.is_paused() else BreakerState.CLOSED
        else:
            state = self._breaker.begin_batch(lambda: self._connection.max_seconds)
        self._probing = state is BreakerState.HALF_OPEN
        if state in (BreakerState.CLOSED, BreakerState.HALF_OPEN):
            return None
        return _obstacle(self._breaker.outage, self._breaker.pause())

    def find_outage(self) -> Waiting | None:
        """Return the outage or the pause, if any."""
        self._breaker.is_paused()
        outage = self._breaker.outage
        return _obstacle(outage, 0) if outage else None

    def __call__(self, items: Sequence[Item], batch: Batch) -> Result:
        """Send everything; in order, one at a time and nothing behind the first failure."""
        in_order = batch.policy.in_order
        begun = batch.outcome.delivered > 0
        failed: list[Failed] = []
        alone = not (begun or in_order) and len(items) > 1
        alone = alone and self._max_size > 1 and (self._probing or self._connection.first_alone)
        if alone and self._probing:
            # Were it the same one each time, an event that the target hangs over would hold all.
            probe = random.randrange(len(items))  # noqa: S311 - any other one, not a secret
            items = [items[probe], *items[:probe], *items[probe + 1 :]]
        stop: OutOfTime | Waiting | None = None
        for number, part in enumerate(self._parts(items, alone=alone, in_order=in_order)):
            if self._is_late(batch, begun=begun or number > int(alone)):
                stop = OutOfTime(OUT_OF_TIME)
            if stop is not None:
                failed += [item.fail(stop) for item in part]
                continue
            errors = self._connection.send([item.delivery.event for item in part], batch.remaining)
            stop = self._stop(part, errors, batch.policy, first=alone and number == 0)
            failed += [
                part[index].fail(error, pause=self._pause(error)) for index, error in errors.items()
            ]
        return Result(failed, stop)

    def _parts(
        self, items: Sequence[Item], *, alone: bool, in_order: bool
    ) -> Iterator[Sequence[Item]]:
        """Yield the events to send at once: as many as the target takes, or `alone` the first."""
        start = 0
        while start < len(items):
            size = 1 if (alone and not start) or in_order else self._size
            yield items[start : start + size]
            start += size

    def _is_late(self, batch: Batch, *, begun: bool) -> bool:
        """Return True if there is no time for another send.

        A part that has all of the function's time, apart from one quick event, is sent even if that
        is short: it would never be sent otherwise.
        """
        seconds = batch.remaining()
        some_time_used = begun or seconds + FIRST_BATCH_SECONDS < batch.total
        return some_time_used and seconds < self._connection.max_seconds

    def _stop(
        self,
        part: Sequence[Item],
        errors: Mapping[int, DeliveryError],
        policy: Policy,
        *,
        first: bool,
    ) -> OutOfTime | Waiting | None:
        """Record if the target answered; return the error of all behind, if nothing is sent now."""
        silent = [error for error in errors.values() if isinstance(error, NotConnected)]
        tried = len(part) - sum(not error.is_try for error in errors.values())
        if not silent:
            self._breaker.record_success()
            self._grow(len(part))
        elif first and not self._probing and isinstance(silent[0], NotAuthorized):
            return None  # a login that is refused for one event may be taken for another
        elif tried > len(silent) and all(isinstance(e, NotAuthorized) for e in silent):
            return None  # it answered for the others
        else:
            if not policy.retries:  # each event is to have its tries
                self._breaker.record_failure(silent[0])
            self._connection.close()
            if isinstance(silent[0], TimedOut):
                self._shrink(len(part))
            return BreakerOpen.behind(silent[0], self._pause(silent[0]))
        late = next((error for error in errors.values() if isinstance(error, OutOfTime)), None)
        if late is None and policy.in_order:
            retried = (e for n, e in errors.items() if not _is_final(e, part[n]))
            return next(map(BreakerOpen.behind, retried), None)
        return late

    def _shrink(self, number: int) -> None:
        self._taken_batches = 0
        if number > 1:
            self._size = max(1, number // 2)

    def _grow(self, number: int) -> None:
        if number < self._size or self._size >= self._max_size:
            return
        self._taken_batches += 1
        if self._taken_batches >= GROWS_AFTER_BATCHES:
            self._taken_batches, self._size = 0, min(self._max_size, 2 * self._size)

    def _pause(self, error: DeliveryError) -> int | None:
        """Return the seconds until the next try, if the breaker decides."""
        return (
            self._breaker.pause()
            if self._breaker.outage and isinstance(error, NotConnected | BreakerOpen)
            else None
        )


def _is_final(error: DeliveryError, item: Item) -> bool:
    return isinstance(error, FINAL) or item.received.term.expired


def _obstacle(outage: Outage | None, seconds: int) -> Waiting:
    """Return the reason why nothing is tried now."""
    if outage is None:
        return BreakerOpen("another function tries it", seconds)
    if outage.paused:
        return Paused(outage.paused, seconds)
    return BreakerOpen(outage.reason, seconds, outage.error)


class Absent:
    """The work of a queue whose target does not exist now: its messages wait."""

    is_unreachable = False

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def close(self) -> None: ...

    def open(self, received: Received) -> Sequence[Delivery]:
        return deliveries(received.message)

    def begin_batch(self, policy: Policy) -> Waiting | None:  # noqa: ARG002
        return Waiting(self._reason)

    def find_outage(self) -> Waiting | None:
        return Waiting(self._reason)

    def __call__(self, items: Sequence[Item], batch: Batch) -> Result:  # noqa: ARG002
        return Result([item.fail(Waiting(self._reason)) for item in items])


class Gone(Absent):
    """The work of events whose target will not come back: they are given up."""

    def begin_batch(self, policy: Policy) -> None:  # noqa: ARG002
        return None

    def __call__(self, items: Sequence[Item], batch: Batch) -> Result:  # noqa: ARG002
        return Result([item.fail(GivenUp(self._reason, "Retryable")) for item in items])
