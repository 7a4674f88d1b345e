"""Settlement: what happens to each event of a batch after it was sent, or was not."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from bucketcast.delivery.retries import Term
from bucketcast.dispatch.attempts import dead_one, pause_of, untried
from bucketcast.dispatch.breaker import Breaker, Outage, is_unreachable
from bucketcast.dispatch.chunks import chunks
from bucketcast.dispatch.messages import (
    Batch,
    OpenMessage,
    QueueActions,
    RetryActions,
    SealedMessage,
)
from bucketcast.dispatch.outcome import FINAL, BreakerOpen, Outcome, Paused
from bucketcast.dispatch.requeue import Part, parts
from bucketcast.errors import DeliveryError

Item = TypeVar("Item")
_TOGETHER = 10
"""How many messages are sent at once: as many as one call of SQS takes."""
_SPARE = 1.0
"""Seconds of a function's time that are left for its answer."""
_FULL = 500
"""A message of so many events is not opened to be put together with others."""


class Settlement:
    """Settles the events of one target: dead-letters, requeues or leaves them."""

    def __init__(self, queue: QueueActions, breaker: Breaker, *, in_order: bool) -> None:
        self._queue = queue
        self._breaker = breaker
        self._in_order = in_order

    def settle(self, opened: Sequence[OpenMessage], batch: Batch) -> None:
        """Settle each event of a chunk that was sent."""
        settle(opened, self._queue, batch.outcome, lambda failed: self._keep(failed, batch))

    def hindrance(self) -> BreakerOpen | None:
        """Return why nothing is tried now, if the breaker is open or the target paused."""
        self._breaker.is_paused()
        return _why(self._breaker.outage) if self._breaker.outage else None

    def hold(
        self,
        going: Iterable[SealedMessage],
        opened: Callable[[SealedMessage], OpenMessage | None],
        batch: Batch,
    ) -> None:
        """Postpone messages that are not to be tried, merged into as few as possible."""
        gone = _why(self._breaker.outage)
        whole: list[SealedMessage] = []
        small: list[SealedMessage] = []
        for one in going:
            fits = one.envelope is not None and one.envelope.number < _FULL
            (small if fits and not self._in_order else whole).append(one)
        if len(small) == 1:
            whole += small
            small = []
        self.leave(whole, gone, opened, batch)
        for chunk in chunks(small, opened):
            for each in chunk:
                each.failures = dict.fromkeys(range(len(each.deliveries)), gone)
            self._keep(chunk, batch)
            chunk.clear()  # before the next one is opened

    def leave(
        self,
        rest: Iterable[SealedMessage],
        gone: DeliveryError,
        opened: Callable[[SealedMessage], OpenMessage | None],
        batch: Batch,
    ) -> None:
        """Postpone the messages that were not reached; dead-letter invalid ones all the same.

        They are not opened: there may be many times more of them than of those that were tried.
        """
        renewed: list[tuple[SealedMessage, str]] = []
        for one in rest:
            envelope = one.envelope
            if envelope is None:
                opened(one)
                continue
            self._count(gone, envelope.number, batch.outcome)
            if isinstance(gone, BreakerOpen) and not (envelope.reason or self._in_order):
                # In its last days nobody could say why it was never tried.
                renewed.append((one, untried(envelope, one.term, gone)))
            else:
                batch.stays(one.message, self._pause(one.term, gone, tried=False))

        def send_again(some: Sequence[tuple[SealedMessage, str]]) -> set[int]:
            return self._queue.send_again([body for _, body in some], self._breaker.pause())

        for one, _ in _unsent(renewed, send_again, batch):
            batch.stays(one.message, self._pause(one.term, gone, tried=False))

    def _keep(self, failed: Sequence[OpenMessage], batch: Batch) -> None:
        """Retry what failed later: in its own message, or in a new one with just those events."""
        for one in failed:
            for index, error in one.failures.items():
                self._count(error, 1, batch.outcome)
                if not isinstance(error, BreakerOpen):
                    event = one.deliveries[index].event
                    batch.outcome.outcomes.retried.setdefault(str(error), []).append(event)
        going = [] if self._in_order else parts(failed, self._pause)
        back = {one.message.id for part in going for one in part.of}
        stay = [one for one in failed if one.message.id not in back]
        stay += self._refused(going, batch)
        for one in stay:
            waits = (
                self._pause(one.term, error, tried=index in one.tried)
                for index, error in one.failures.items()
            )
            batch.stays(one.message, max(waits))

    def _refused(self, going: Sequence[Part], batch: Batch) -> list[OpenMessage]:
        """Requeue parts; return the messages of those that SQS did not take."""

        def requeue(some: Sequence[Part]) -> set[int]:
            return self._queue.requeue([part.back for part in some])

        left = _unsent(going, requeue, batch)
        return list({one.message.id: one for part in left for one in part.of}.values())

    def _pause(self, term: Term, error: DeliveryError, *, tried: bool) -> int:
        """Return the seconds until a message is visible again."""
        silent = isinstance(error, BreakerOpen) or is_unreachable(error)
        wait = self._breaker.pause() if silent else pause_of(term, error, tried=tried)
        return max(wait, term.spacing if self._in_order else 0)

    @staticmethod
    def _count(error: DeliveryError, number: int, outcome: Outcome) -> None:
        outcome.reason = error
        if isinstance(error, BreakerOpen):
            outcome.waiting += number
        else:
            outcome.retried += number


def _unsent(
    items: Sequence[Item], send: Callable[[Sequence[Item]], set[int]], batch: Batch
) -> Iterator[Item]:
    """Send items while there is time; yield those that SQS did not take.

    `send` returns the indexes of those.
    """
    for start in range(0, len(items), _TOGETHER):
        some = items[start : start + _TOGETHER]
        refused = send(some) if batch.remaining() > _SPARE else range(len(some))
        yield from (some[index] for index in refused)


def settle(
    opened: Sequence[OpenMessage],
    queue: RetryActions,
    outcome: Outcome,
    keep: Callable[[Sequence[OpenMessage]], None],
) -> None:
    """Settle each event of messages that were sent; `keep` requeues what is to be tried again."""
    for one in opened:
        outcome.delivered += len(one.deliveries) - len(one.failures)
        outcome.outcomes.delivered += [
            delivery.event
            for index, delivery in enumerate(one.deliveries)
            if index not in one.failures
        ]
    failed = [one for one in opened if one.failures]
    if failed:
        dead_letter(failed, queue, outcome)
        keep([one for one in failed if one.failures])


def dead_letter(failed: Sequence[OpenMessage], queue: RetryActions, outcome: Outcome) -> None:
    """Dead-letter what is not tried again, and drop those failures that SQS took."""
    final = [
        (one, index)
        for one in failed
        for index, error in sorted(one.failures.items())
        if isinstance(error, FINAL) or (one.term.expired and index in one.tried)
    ]
    dead = [dead_one(one, index) for one, index in final]
    refused = queue.dead_letter(dead) if dead else set()
    for number, (one, index) in enumerate(final):
        outcome.reason = one.failures[index]
        if number not in refused:
            reason = str(one.failures.pop(index))
            outcome.outcomes.dead.setdefault(reason, []).append(one.deliveries[index].event)
            outcome.dead += 1


def _why(outage: Outage | None) -> BreakerOpen:
    """Return why nothing is tried now."""
    if outage is None:
        return BreakerOpen("", "")
    return Paused(outage.paused) if outage.paused else BreakerOpen(outage.reason, outage.error)
