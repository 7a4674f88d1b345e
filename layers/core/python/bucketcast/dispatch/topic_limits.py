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
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

from msgspec.structs import force_setattr, replace

from bucketcast.delivery.envelope import (
    Delivery,
    Envelope,
    NewerVersion,
    Sealed,
    TooLarge,
    pack,
    seal,
)
from bucketcast.delivery.retries import RENEW_AFTER, TERM_MS, Term, pause
from bucketcast.delivery.tracing import Outcomes
from bucketcast.dispatch.messages import Dead, Message, RetryActions
from bucketcast.dispatch.outcome import GivenUp, Outcome, OutOfTime
from bucketcast.dispatch.sender import OUT_OF_TIME, Sender
from bucketcast.errors import DeliveryError, NotConnected, Rejected
from bucketcast.targets.base import Target
from bucketcast.topics.model import Topic, TopicDefaults

LONGEST_DELAY: Final = 900
"""Seconds that SQS keeps a new message back; the rest of a longer pause is in the envelope."""
_LONGEST_HIDDEN: Final = 39_600
"""Seconds. SQS refuses its 12 hours: they count from the receive, which was a while ago."""
_NO_ANSWER: Final = "no try came to an end: the function ended before it could say why"
_FINAL: Final = (Rejected, GivenUp)


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


@dataclass(slots=True)
class _OpenMessage:
    """A message with its events and limits; `tries` counts earlier ones."""

    message: Message
    envelope: Sealed
    term: Term
    limits: Limits
    deliveries: list[Delivery]
    failures: dict[int, DeliveryError] = field(default_factory=dict)
    untried: set[int] = field(default_factory=set)

    @property
    def tries(self) -> int:
        return self.envelope.attempts


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
        on_outcomes: Callable[[Outcomes], None] = lambda _: None,
    ) -> Outcome:
        """Deliver the events in these messages; `now` is Unix ms, `remaining` the seconds left."""
        outcome = Outcome()
        pauses: dict[str, int] = {}
        whole = remaining()
        opened = list(self._opened(messages, now, outcome, pauses))
        for one in opened:
            outcome.oldest = max(outcome.oldest, (now - one.term.started) / 1_000)
            self._expire(one, now)
        self._send(opened, remaining, whole)
        for one in opened:
            self._settle(one, now, outcome)
            on_outcomes(outcome.take_outcomes())
        if pauses:
            self._queue.postpone(pauses)
        return outcome

    def close(self) -> None:
        """Close the target's connection and drop its secrets."""
        self._sender.close()

    def _opened(
        self, messages: Iterable[Message], now: int, outcome: Outcome, pauses: dict[str, int]
    ) -> Iterator[_OpenMessage]:
        """Open the messages that are due; postpone or dead-letter the others."""
        for message in messages:
            try:
                envelope = seal(message.body)
                deliveries = envelope.open()
            except NewerVersion:
                outcome.stay.append(message.id)
                pauses[message.receipt] = pause(message.receives)
                continue
            except ValueError as error:
                self._dead_letter_message(message, str(error), outcome)
                continue
            wait = -(-(envelope.not_before - now) // 1_000)
            if wait > 0:
                outcome.stay.append(message.id)
                pauses[message.receipt] = min(wait, _LONGEST_HIDDEN)
                continue
            if message.receives >= RENEW_AFTER:
                self._dead_letter_message(message, _NO_ANSWER, outcome, envelope)
                continue
            term = Term(now, message.sent, message.receives, envelope.since, envelope.attempts)
            for one in deliveries:
                force_setattr(one.event, "rule", one.rule)
                force_setattr(one.event, "named", one.named)
                if not one.created:
                    force_setattr(one, "created", envelope.since or message.sent)
            # Redriven from the dead letters if it names no topic: the limits would end it at once.
            limits = self.limits if envelope.topic else Limits()
            yield _OpenMessage(message, envelope, term, limits, deliveries)

    def _dead_letter_message(
        self, message: Message, reason: str, outcome: Outcome, envelope: Sealed | None = None
    ) -> None:
        if self._queue.dead_letter_message(message, reason):
            outcome.dead += 1
            number, counted = (envelope.number, envelope.counted) if envelope else (1, False)
            outcome.ledger.dead_letter(message.sent, number, counted=counted)
        else:
            outcome.stay.append(message.id)

    def _expire(self, one: _OpenMessage, now: int) -> None:
        """Give up events that are too old, before they are tried."""
        last = f"; at last: {one.envelope.reason}" if one.envelope.reason else ""
        for index, delivery in enumerate(one.deliveries):
            if one.limits.left(delivery.created, now) < 0:
                text = f"time_to_live of {one.limits.time_to_live} s is over"
                text += f" after {one.tries} tries{last}"
                one.failures[index] = GivenUp(text, one.envelope.error or "Retryable")

    def _send(
        self, opened: Sequence[_OpenMessage], remaining: Callable[[], float], whole: float
    ) -> None:
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
            has = float("inf") if start else whole
            failures = None if gone else self._sender.once(events, remaining, has)
            if failures is None:
                for one, index in part:
                    one.untried.add(index)
                    one.failures[index] = OutOfTime(OUT_OF_TIME)
                continue
            for number, error in failures.items():
                one, index = part[number]
                one.failures[index] = _counted(one, error)
                if isinstance(error, OutOfTime):
                    one.untried.add(index)
            gone = any(isinstance(error, NotConnected) for error in failures.values())

    def _settle(self, one: _OpenMessage, now: int, outcome: Outcome) -> None:
        """Settle each event of a message."""
        failed = frozenset(one.failures)
        outcome.delivered += len(one.deliveries) - len(one.failures)
        outcome.outcomes.delivered += [
            delivery.event
            for index, delivery in enumerate(one.deliveries)
            if index not in one.failures
        ]
        self._dead_letter(one, outcome)
        if one.failures:
            self._keep(one, now, outcome)
        if one.message.id not in outcome.stay:
            outcome.ledger.left(
                one.deliveries,
                counted=one.envelope.counted,
                failed=failed,
                waiting=one.failures.keys(),
            )

    def _keep(self, one: _OpenMessage, now: int, outcome: Outcome) -> None:
        """Requeue what failed."""
        untried = sorted(one.untried & one.failures.keys())
        tried = sorted(one.failures.keys() - one.untried)
        outcome.retried += len(tried)
        outcome.waiting += len(untried)
        outcome.reason = next(iter(one.failures.values()))
        for index, error in one.failures.items():
            outcome.outcomes.retried.setdefault(str(error), []).append(one.deliveries[index].event)
        bodies = [*self._again(one, tried, now, counted=True)]
        bodies += self._again(one, untried, now, counted=False)
        if any(self._queue.send_again([body], seconds) for body, seconds in bodies):
            # Those that SQS took come twice then.
            outcome.stay.append(one.message.id)

    def _dead_letter(self, one: _OpenMessage, outcome: Outcome) -> None:
        """Dead-letter what is not tried again, and drop those failures that SQS took."""
        final = [
            index for index, error in sorted(one.failures.items()) if isinstance(error, _FINAL)
        ]
        dead = [_dead(one, index) for index in final]
        refused = self._queue.dead_letter(dead) if dead else set()
        for number, index in enumerate(final):
            outcome.reason = one.failures[index]
            if number not in refused:
                reason = str(one.failures.pop(index))
                outcome.outcomes.dead.setdefault(reason, []).append(one.deliveries[index].event)
                outcome.dead += 1

    def _again(
        self, one: _OpenMessage, indexes: Sequence[int], now: int, *, counted: bool
    ) -> Iterator[tuple[str, int]]:
        """Yield the bodies of new messages with these events, and their delays in seconds."""
        if not indexes:
            return
        part = [one.deliveries[index] for index in indexes]
        error = one.failures[indexes[0]]
        wait = _pause(one, part, now)
        history = Envelope(
            one.term.started,
            attempts=one.tries + counted,
            reason=str(error) if counted else one.envelope.reason,
            error=type(error).__name__ if counted else one.envelope.error,
            topic=one.envelope.topic,
            counted=True,
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


def _counted(one: _OpenMessage, error: DeliveryError) -> DeliveryError:
    """Return the error, or that it was the last allowed one."""
    most, tries = one.limits.retries, one.tries + 1
    if isinstance(error, Rejected | OutOfTime):
        return error
    if most and tries > most:
        text = f"{error} (max_retries of {most}: {tries} tries failed)"
        return GivenUp(text, type(error).__name__)
    if one.term.expired:
        return GivenUp(f"{error} ({one.term})", type(error).__name__)
    return error


def _pause(one: _OpenMessage, part: Sequence[Delivery], now: int) -> int:
    """Return the seconds until the next try, or until the first of these is too old."""
    sleep = one.limits.sleep
    wait = pause(one.tries + 1) if sleep is None else sleep
    if not one.term.expired:
        # Behind the end of its term SQS would silently drop what still sleeps.
        wait = min(wait, (TERM_MS - (now - one.term.started)) // 1_000 + 1)
    over = min(one.limits.left(each.created, now) for each in part) + 1
    return max(0, int(min(wait, over)))


def _dead(one: _OpenMessage, index: int) -> Dead:
    error = one.failures[index]
    name = error.error if isinstance(error, GivenUp) else type(error).__name__
    return Dead(one.deliveries[index], one.term.started, name, str(error))
