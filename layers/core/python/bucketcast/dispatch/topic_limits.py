"""Dispatch to a topic that limits retries: `time_to_live`, `max_retries`, `retry_sleep_duration`.

================================  ============================================================
an event                          what happens
================================  ============================================================
older than `time_to_live`         dead-lettered without another try; counted from its arrival
failed `max_retries` + 1 times    dead-lettered; what there was no time for does not count
`Rejected`                        dead-lettered at once
failed otherwise                  requeued as a new message, visible after
                                  `retry_sleep_duration`, or when its time to live ends
================================  ============================================================

Whichever comes first. RGW drops such an event; here it becomes a dead letter with its reason. A
topic without any of the three is served like every other target.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Self

from msgspec.structs import replace

from bucketcast.delivery.envelope import Delivery, Envelope, Sealed, TooLarge, pack
from bucketcast.delivery.retries import NO_ANSWER, RENEW_AFTER, TERM_MS, pause
from bucketcast.delivery.tracing import Outcomes
from bucketcast.dispatch.attempts import read
from bucketcast.dispatch.messages import Batch, Message, OpenMessage, RetryActions
from bucketcast.dispatch.opening import open_message
from bucketcast.dispatch.outcome import GivenUp, Outcome, OutOfTime
from bucketcast.dispatch.sender import OUT_OF_TIME, Sender
from bucketcast.dispatch.settlement import settle
from bucketcast.errors import DeliveryError, NotConnected, Rejected
from bucketcast.targets.base import Target
from bucketcast.topics.model import Topic, TopicDefaults

LONGEST_DELAY: Final = 900
"""Seconds that SQS keeps a new message back; the rest of a longer pause is in the envelope."""
_LONGEST_HIDDEN: Final = 39_600
"""Seconds. SQS refuses its 12 hours: they count from the receive, which was a while ago."""


class Limits(NamedTuple):
    """A topic's limits in seconds, 0 for none; `sleep` None is a growing pause."""

    time_to_live: int = 0
    retries: int = 0
    sleep: int | None = None

    @classmethod
    def of(cls, topic: Topic, defaults: TopicDefaults) -> Self:
        """Return the limits of a topic: its own, even if 0, else the deployment's."""

        def either(own: int | None, other: int) -> int:
            return other if own is None else own

        sleep = topic.retry_sleep_duration
        return cls(
            either(topic.time_to_live, defaults.time_to_live),
            either(topic.max_retries, defaults.max_retries),
            sleep if sleep is not None else defaults.retry_sleep_duration or None,
        )

    @property
    def any(self) -> bool:
        return bool(self.time_to_live or self.retries or self.sleep is not None)

    def left(self, created: int, now: int) -> float:
        """Return the seconds until an event of `created` is too old; both are Unix ms."""
        if not self.time_to_live:
            return float("inf")
        return self.time_to_live - (now - created) / 1_000


class LimitedDispatcher:
    """Sends batches to one topic; `limits` may be changed before each."""

    def __init__(
        self,
        connect: Callable[[bool], Target],
        queue: RetryActions,
        *,
        batch_size: int,
        limits: Limits,
    ) -> None:
        self.limits = limits
        self._sender = Sender(connect)
        self._queue = queue
        self._batch_size = batch_size

    def __call__(
        self,
        messages: Iterable[Message],
        *,
        now: int,
        remaining: Callable[[], float],
        on_begun: Callable[[float], None] = lambda _: None,
        on_outcomes: Callable[[Outcomes], None] = lambda _: None,
    ) -> Outcome:
        """Deliver the events in these messages; `now` is Unix ms, `remaining` the seconds left."""
        batch = Batch(now, remaining, remaining())
        outcome = batch.outcome
        opened = list(self._opened(messages, batch))
        for one in opened:
            outcome.oldest = max(outcome.oldest, (now - one.term.started) / 1_000)
            self._expire(one, now)
        on_begun(outcome.oldest)
        self._send(opened, batch)
        for one in opened:
            settle([one], self._queue, outcome, lambda failed: self._keep(failed, batch))
            on_outcomes(outcome.take_outcomes())
        if batch.pauses:
            self._queue.postpone(batch.pauses)
        return outcome

    def close(self) -> None:
        """Close the target's connection and drop its secrets."""
        self._sender.close()

    def _opened(self, messages: Iterable[Message], batch: Batch) -> Iterator[OpenMessage]:
        """Open the messages that are due; postpone or dead-letter the others."""
        for message in messages:
            one = read(message, batch.now)
            wait = -(-(one.envelope.not_before - batch.now) // 1_000) if one.envelope else 0
            if one.newer:
                batch.stays(message, pause(message.receives))
            elif wait > 0:
                batch.stays(message, min(wait, _LONGEST_HIDDEN))
            elif one.envelope and message.receives >= RENEW_AFTER:
                self._give_up(message, one.envelope, batch)
            elif opened := open_message(one, self._queue, batch):
                yield opened

    def _give_up(self, message: Message, envelope: Sealed, batch: Batch) -> None:
        """Dead-letter a message as it is: opening it may be what the function dies of."""
        if self._queue.dead_letter_message(message, NO_ANSWER):
            batch.outcome.dead += envelope.number
        else:
            batch.stays(message)

    def _limits(self, one: OpenMessage) -> Limits:
        """Return a message's limits.

        One that names no topic was redriven from the dead letters: limits would end it at once.
        """
        return self.limits if one.envelope.topic else Limits()

    def _expire(self, one: OpenMessage, now: int) -> None:
        """Give up events that are too old, before they are tried."""
        limits = self._limits(one)
        last = f"; at last: {one.envelope.reason}" if one.envelope.reason else ""
        for index, delivery in enumerate(one.deliveries):
            if limits.left(delivery.created, now) < 0:
                text = f"time_to_live of {limits.time_to_live} s is over"
                text += f" after {one.envelope.attempts} tries{last}"
                one.failures[index] = GivenUp(text, one.envelope.error or "Retryable")

    def _send(self, opened: Sequence[OpenMessage], batch: Batch) -> None:
        """Try the rest in bulk; events that there is no time for do not count as tried."""
        left = [
            (one, index)
            for one in opened
            for index in range(len(one.deliveries))
            if index not in one.failures
        ]
        gone = False
        for start in range(0, len(left), self._batch_size):
            part = left[start : start + self._batch_size]
            events = [one.deliveries[index].event for one, index in part]
            whole = float("inf") if start else batch.whole
            failures = None if gone else self._sender.once(events, batch.remaining, whole)
            if failures is None:
                failures = dict.fromkeys(range(len(part)), OutOfTime(OUT_OF_TIME))
            for number, error in failures.items():
                one, index = part[number]
                one.failures[index] = self._counted(one, error)
            gone = gone or any(isinstance(error, NotConnected) for error in failures.values())

    def _keep(self, failed: Sequence[OpenMessage], batch: Batch) -> None:
        """Requeue what failed."""
        outcome = batch.outcome
        for one in failed:
            untried = [n for n, error in one.failures.items() if isinstance(error, OutOfTime)]
            tried = sorted(one.failures.keys() - untried)
            outcome.retried += len(tried)
            outcome.waiting += len(untried)
            outcome.reason = next(iter(one.failures.values()))
            for index, error in one.failures.items():
                event = one.deliveries[index].event
                outcome.outcomes.retried.setdefault(str(error), []).append(event)
            bodies = [*self._again(one, tried, batch.now, counted=True)]
            bodies += self._again(one, sorted(untried), batch.now, counted=False)
            if any(self._queue.send_again([body], seconds) for body, seconds in bodies):
                # Those that SQS took come twice then.
                batch.stays(one.message)

    def _again(
        self, one: OpenMessage, indexes: Sequence[int], now: int, *, counted: bool
    ) -> Iterator[tuple[str, int]]:
        """Yield the bodies of new messages with these events, and their delays in seconds."""
        if not indexes:
            return
        part = [one.deliveries[index] for index in indexes]
        error = one.failures[indexes[0]]
        wait = self._pause(one, part, now)
        history = Envelope(
            one.term.started,
            attempts=one.envelope.attempts + counted,
            reason=str(error) if counted else one.envelope.reason,
            error=type(error).__name__ if counted else one.envelope.error,
            topic=one.envelope.topic,
        )
        if wait > LONGEST_DELAY:
            history = replace(history, not_before=now + wait * 1_000)
        try:
            for packed in pack(part, one.term.started, history=history):
                yield packed.body, min(wait, LONGEST_DELAY)
        except TooLarge:
            # It came in a message, and its reason is what is too much.
            for packed in pack(part, one.term.started, history=replace(history, reason="")):
                yield packed.body, min(wait, LONGEST_DELAY)

    def _counted(self, one: OpenMessage, error: DeliveryError) -> DeliveryError:
        """Return the error, or that it was the last allowed one."""
        most, tries = self._limits(one).retries, one.envelope.attempts + 1
        if isinstance(error, Rejected | OutOfTime):
            return error
        if most and tries > most:
            text = f"{error} (max_retries of {most}: {tries} tries failed)"
            return GivenUp(text, type(error).__name__)
        if one.term.expired:
            return GivenUp(f"{error} ({one.term})", type(error).__name__)
        return error

    def _pause(self, one: OpenMessage, part: Sequence[Delivery], now: int) -> int:
        """Return the seconds until the next try, or until the first of these is too old."""
        limits = self._limits(one)
        wait = pause(one.envelope.attempts + 1) if limits.sleep is None else limits.sleep
        if not one.term.expired:
            # Behind the end of its term SQS would silently drop what still sleeps.
            wait = min(wait, (TERM_MS - (now - one.term.started)) // 1_000 + 1)
        over = min(limits.left(each.created, now) for each in part) + 1
        return max(0, int(min(wait, over)))
