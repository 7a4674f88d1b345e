"""The work of a target's queue: its events are sent to the target, in batches it can take."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import force_setattr

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
    Rejected,
    TimedOut,
    Waiting,
)
from bucketcast.limits import DAY_MS, FOR_THE_FIRST, GROWS_AFTER, LONGEST_LIFE_DAYS

_LONGEST_LIFE_MS: Final = LONGEST_LIFE_DAYS * DAY_MS


class Sender:
    """Sends to one target, no more than `batch_size` events at once.

    A batch that gets no answer in time is halved, and so are those after it, until the target has
    taken some: a slow database gets what it can take.
    """

    def __init__(self, connection: Connection, breaker: Breaker, batch_size: int) -> None:
        self._breaker = breaker
        self._connection = connection
        self._most = batch_size
        self._size = batch_size
        self._taken = 0
        self._probing = False

    @property
    def is_away(self) -> bool:
        return self._breaker.outage is not None

    def close(self) -> None:
        self._connection.close()

    def open(self, one: Received) -> Sequence[Delivery]:
        return opened(one)

    def hindrance(self, policy: Policy) -> Waiting | None:
        """Return why nothing is sent now; where tries are limited, only a pause is a reason."""
        self._breaker.longest = policy.pause
        self._probing = False
        if policy.retries:
            state = BreakerState.PAUSED if self._breaker.is_paused() else BreakerState.CLOSED
        else:
            state = self._breaker.state(lambda: self._connection.longest)
        self._probing = state is BreakerState.HALF_OPEN
        if state in (BreakerState.CLOSED, BreakerState.HALF_OPEN):
            return None
        return _why(self._breaker.outage, self._breaker.pause())

    def trouble(self) -> Waiting | None:
        """Return the outage or the pause, if any."""
        self._breaker.is_paused()
        outage = self._breaker.outage
        return _why(outage, 0) if outage else None

    def __call__(self, items: Sequence[Item], batch: Batch) -> Result:
        """Send everything; in order, one at a time and nothing behind the first failure."""
        in_order = batch.policy.in_order
        begun = batch.outcome.delivered > 0
        failed = self._too_old(items, batch.now)
        old = {id(one.delivery) for one in failed}
        positions = [one for one in items if id(one.delivery) not in old]
        alone = not (begun or in_order) and len(positions) > 1
        alone = alone and self._most > 1 and (self._probing or self._connection.first_alone)
        if alone and self._probing:
            # Were it the same one each time, an event that the target hangs over would hold all.
            chosen = random.randrange(len(positions))  # noqa: S311 - any other one, not a secret
            positions[0], positions[chosen] = positions[chosen], positions[0]
        stop: DeliveryError | None = None
        for number, part in enumerate(self._parts(positions, alone=alone, in_order=in_order)):
            if self._is_late(batch, begun=begun or number > int(alone)):
                stop = OutOfTime(OUT_OF_TIME)
            if stop is not None:
                failed += [one.failed(stop, tried=False, pause=self._wait(stop)) for one in part]
                continue
            found = self._connection.send([one.delivery.event for one in part], batch.remaining)
            stop = self._stop(part, found, batch.policy, first=alone and number == 0)
            failed += [
                part[index].failed(
                    error, tried=not isinstance(error, OutOfTime), pause=self._wait(error)
                )
                for index, error in found.items()
            ]
        return Result(failed, stop, self._wait(stop) if stop else None)

    def _parts(
        self, positions: Sequence[Item], *, alone: bool, in_order: bool
    ) -> Iterator[Sequence[Item]]:
        """Yield what to send at once: as much as the target takes, or `alone` the first event."""
        start = 0
        while start < len(positions):
            size = 1 if (alone and not start) or in_order else self._size
            yield positions[start : start + size]
            start += size

    def _is_late(self, batch: Batch, *, begun: bool) -> bool:
        """Return whether there is no time for another send.

        A part that has all of the function's time, apart from one quick event, is sent even if that
        is short: it would never be sent otherwise.
        """
        left = batch.remaining()
        passed = begun or left + FOR_THE_FIRST < batch.whole
        return passed and self._connection.short_of(left)

    def _stop(
        self,
        part: Sequence[Item],
        found: Mapping[int, DeliveryError],
        policy: Policy,
        *,
        first: bool,
    ) -> DeliveryError | None:
        """Record whether the target answered; return the error after which nothing is sent."""
        silent = [error for error in found.values() if isinstance(error, NotConnected)]
        if not silent:
            self._breaker.record_success()
            self._grow(len(part))
        elif first and not self._probing and isinstance(silent[0], NotAuthorized):
            return None  # a login that is refused for one event may be taken for another
        elif len(silent) < len(part) and all(isinstance(e, NotAuthorized) for e in silent):
            return None  # it answered for the others
        else:
            if not policy.retries:  # each event is to have its tries
                self._breaker.record_failure(silent[0])
            self._connection.close()
            if isinstance(silent[0], TimedOut):
                self._shrink(len(part))
            return silent[0]
        late = next((error for error in found.values() if isinstance(error, OutOfTime)), None)
        if late is None and policy.in_order:
            waits = (e for n, e in found.items() if not _is_final(e, part[n]))
            return next(waits, None)
        return late

    def _shrink(self, number: int) -> None:
        self._taken = 0
        if number > 1:
            self._size = max(1, number // 2)

    def _grow(self, number: int) -> None:
        if number < self._size or self._size >= self._most:
            return
        self._taken += 1
        if self._taken >= GROWS_AFTER:
            self._taken, self._size = 0, min(self._most, 2 * self._size)

    def _wait(self, error: DeliveryError) -> int | None:
        """Return the seconds until the next try, where the breaker says it."""
        return (
            self._breaker.pause()
            if self._breaker.outage and isinstance(error, NotConnected)
            else None
        )

    def _too_old(self, items: Sequence[Item], now: int) -> list[Failed]:
        """Reject events that are too old for a mirror: it may have forgotten a later removal."""
        oldest = now - _LONGEST_LIFE_MS
        old = [one for one in items if one.delivery.created < oldest]
        if not old or not self._connection.refuses_old():
            return []
        return [
            one.failed(
                Rejected(
                    f"the event came {(now - one.delivery.created) // DAY_MS} days ago, and a "
                    f"mirror takes none older than {LONGEST_LIFE_DAYS}: bucketcast reconcile finds "
                    "and repairs what is missing"
                ),
            )
            for one in old
        ]


def opened(one: Received) -> Sequence[Delivery]:
    """Return the events of an envelope, each with its rule and when it arrived.

    Raises:
        NewerVersion: only a newer release reads it.
        ValueError: the body is no envelope.
    """
    found = deliveries(one.message)
    for each in found:
        force_setattr(each.event, "rule", each.rule)
        force_setattr(each.event, "named", each.named)
    return found


def _is_final(error: DeliveryError, item: Item) -> bool:
    return isinstance(error, FINAL) or item.of.term.expired


def _why(outage: Outage | None, seconds: int) -> Waiting:
    """Return why nothing is tried now."""
    if outage is None:
        return BreakerOpen("another function tries it", seconds)
    if outage.paused:
        return Paused(outage.paused, seconds)
    return BreakerOpen(outage.reason, seconds, outage.error)


class Absent:
    """The work of a queue whose target is not there now: its messages wait."""

    is_away = False

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def close(self) -> None: ...

    def open(self, one: Received) -> Sequence[Delivery]:
        return opened(one)

    def hindrance(self, policy: Policy) -> Waiting | None:  # noqa: ARG002
        return Waiting(self._reason)

    def trouble(self) -> Waiting | None:
        return Waiting(self._reason)

    def __call__(self, items: Sequence[Item], batch: Batch) -> Result:  # noqa: ARG002
        return Result([one.failed(Waiting(self._reason), tried=False) for one in items])


class Gone(Absent):
    """The work of events whose target will not come back: they are given up."""

    def hindrance(self, policy: Policy) -> None:  # noqa: ARG002
        return None

    def __call__(self, items: Sequence[Item], batch: Batch) -> Result:  # noqa: ARG002
        return Result([one.failed(GivenUp(self._reason, "Retryable")) for one in items])
