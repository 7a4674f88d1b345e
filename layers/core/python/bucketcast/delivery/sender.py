"""The work of a target's queue: its events are sent to the target, in batches it can take."""

import random
import time
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

from bucketcast.delivery.breaker import Breaker, BreakerState, Outage
from bucketcast.delivery.connection import OUT_OF_TIME, Connection
from bucketcast.delivery.envelope import Delivery
from bucketcast.delivery.messages import Batch, Failed, Item, Received, Result, deliveries
from bucketcast.delivery.policy import Policy
from bucketcast.delivery.ruling import (
    Answers,
    Now,
    Ruling,
    Standing,
    State,
    of_part,
    possible_faults_of_settings,
    turns,
)
from bucketcast.errors import (
    BreakerOpen,
    GivenUp,
    NotConnected,
    OutOfTime,
    Paused,
    RefusesAll,
    TimedOut,
    Waiting,
)
from bucketcast.limits import FIRST_BATCH_SECONDS

_Turns = deque[tuple[int, Iterator[Item]]]


class Sender:
    """Sends to one target, no more than `batch_size` events at once.

    What the answers mean, for the events and for the target, is said by `delivery.ruling`.
    """

    def __init__(self, connection: Connection, breaker: Breaker, batch_size: int) -> None:
        self._breaker = breaker
        self._connection = connection
        self._standing = Standing(batch_size, batch_size)
        self._probe_of: str | None = None
        self._taken_at = 0.0
        self._was_open = False

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
        if state is BreakerState.CLOSED and self._was_open:  # another function ended the outage
            self._standing = self._standing._replace(silent=0, failed=0, wholes=0)
        self._was_open = state is not BreakerState.CLOSED
        outage, self._probe_of = self._breaker.outage, None
        if state is BreakerState.HALF_OPEN and outage:
            self._probe_of = outage.error
        if state in (BreakerState.CLOSED, BreakerState.HALF_OPEN):
            return None
        return _obstacle(outage, self._breaker.pause())

    def find_outage(self) -> Waiting | None:
        """Return the outage or the pause, if any."""
        self._breaker.is_paused()
        outage = self._breaker.outage
        return _obstacle(outage, self._breaker.pause()) if outage else None

    def __call__(self, items: Sequence[Item], batch: Batch) -> Result:
        """Send everything; in order, one at a time and nothing behind the first failure."""
        in_order = batch.policy.in_order
        begun = batch.outcome.delivered > 0
        alone = len(items) > 1 and not in_order and self._is_first_alone()
        rest = self._turns(items, in_order=in_order)
        failed: list[Failed] = []
        stop: OutOfTime | Waiting | None = None
        while rest:
            shift, turn = rest[0]
            size = 1 if alone or in_order else max(1, self._standing.size >> shift)
            part = [*islice(turn, size)]
            if not part:
                rest.popleft()
                continue
            if stop is None and self._is_late(batch, begun=begun):
                stop = OutOfTime(OUT_OF_TIME)
            if stop is not None:
                failed += [item.fail(stop) for item in part]
                continue
            begun = begun or not alone
            quiet = time.time() - self._taken_at
            sent = [item.delivery.event for item in part]
            answers = self._connection.send(sent, batch.remaining)
            took = self._breaker.took
            refusals = possible_faults_of_settings(part, answers, batch.policy, took=took)
            counted = self._breaker.count_refusals(refusals) if refusals else 0
            limited, age = batch.policy.retries > 0, self._breaker.age
            now = Now(quiet, self._probe_of, limited, counted, age)
            ruling = of_part(part, answers, self._standing, now, batch.policy)
            pause = self._learn(ruling, answers, took=len(answers.errors) < len(part))
            alone = alone and isinstance(answers.errors.get(0), TimedOut)
            stop = ruling.stops
            if stop is not None and ruling.error and pause is not None:
                stop = BreakerOpen.behind(ruling.error, pause)
            failed += self._settle(part, answers, ruling, pause, rest)
        return Result(failed, stop)

    def _is_first_alone(self) -> bool:
        """Return True if one event is to be confirmed first: the target took none lately."""
        return Now(time.time() - self._taken_at).is_quiet and self._connection.first_alone

    def _turns(self, items: Sequence[Item], *, in_order: bool) -> _Turns:
        """Return the events as they are to be sent; if one goes as a probe, that first."""
        if in_order:
            return deque([(0, iter(items))])
        if self._probe_of is None or len(items) == 1:
            return deque(turns(items))
        # Were it the same one each time, an event that the target hangs over would hold all.
        fewest = min(item.tries for item in items)
        probe = random.choice([item for item in items if item.tries == fewest])  # noqa: S311
        return deque([(0, iter([probe])), *turns([item for item in items if item is not probe])])

    def _learn(self, ruling: Ruling, answers: Answers, *, took: bool) -> int | None:
        """Record what the answers say of the target; return the seconds until it is tried again."""
        self._standing = ruling.standing
        silent = [error for error in answers.errors.values() if isinstance(error, NotConnected)]
        if silent and not (
            ruling.state is State.WELL and all(isinstance(error, TimedOut) for error in silent)
        ):
            self._connection.close()
        if ruling.state is State.WELL:
            self._taken_at = time.time()
            self._breaker.record_success(took=took)
        if ruling.state is not State.TROUBLE or ruling.error is None:
            return None
        self._breaker.record_failure(ruling.error)
        return self._breaker.pause()

    def _settle(
        self,
        part: Sequence[Item],
        answers: Answers,
        ruling: Ruling,
        pause: int | None,
        rest: _Turns,
    ) -> Iterator[Failed]:
        """Yield the events of a part that failed; those to be sent again go to the `rest`."""
        if ruling.halves:
            half = len(part) // 2
            rest += ((0, iter(part[:half])), (0, iter(part[half:])))
            return
        if ruling.again:
            rest.appendleft((0, iter([part[index] for index in sorted(ruling.again)])))
        for index, error in answers.errors.items():
            if index in ruling.again:
                continue
            if error.may_be_settings and isinstance(ruling.error, RefusesAll):
                error = RefusesAll.because(error)  # noqa: PLW2901
            paused = error.is_try or isinstance(error, BreakerOpen)
            yield part[index].fail(error, pause=pause if paused else None)

    def _is_late(self, batch: Batch, *, begun: bool) -> bool:
        """Return True if there is no time for another send.

        A part that has all of the function's time, apart from one quick event, is sent even if that
        is short: it would never be sent otherwise.
        """
        seconds = batch.remaining()
        some_time_used = begun or seconds + FIRST_BATCH_SECONDS < batch.total
        return some_time_used and seconds < self._connection.max_seconds


def _obstacle(outage: Outage | None, seconds: int) -> Waiting:
    """Return the reason why nothing is tried now."""
    if outage is None:
        return BreakerOpen("another function tries it", seconds)
    if outage.paused:
        return Paused(outage.paused, seconds)
    return BreakerOpen(outage.reason, seconds, outage.error)


class Absent:
    """The work of a queue whose target does not exist now: its messages wait."""

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
