"""Dispatch to a topic whose events are given up early: `time_to_live`, `max_retries`, and pauses.

================================  ============================================================
an event                          what happens
================================  ============================================================
older than `time_to_live`         buried without another try; its age counts from when it came
failed `max_retries` + 1 times    buried; what the function had no time for is no try
`Rejected`                        buried at once
failed otherwise                  goes back as a new message, which is seen after
                                  `retry_sleep_duration`, or when its time is over
================================  ============================================================

Whatever is first ends it. RGW drops such an event; here it lies among the dead letters with its
reason, and counts as dead. A topic without any of the three is served as every other target.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, Self

from msgspec.structs import force_setattr, replace

from bucketcast.dispatch.messages import Dead, Message
from bucketcast.dispatch.outcome import GivenUp, NoTurn, Outcome
from bucketcast.dispatch.sending import NO_TURN, Sender
from bucketcast.envelope import Delivery, Envelope, Sealed, TooLarge, pack, seal
from bucketcast.errors import DeliveryError, NotConnected, Rejected
from bucketcast.retries import TERM_MS, WORN, Term, pause
from bucketcast.targets.base import Target
from bucketcast.topics.model import Topic, TopicDefaults
from bucketcast.tracing import Fates

LONGEST_DELAY: Final = 900
"""Seconds that SQS keeps a new message back; the rest of a longer pause is in the envelope."""
_LONGEST_HIDDEN: Final = 39_600
"""Seconds. SQS refuses its 12 hours: they count from the receive, which was a while ago."""
_NO_ANSWER: Final = "no try came to an end: the function ended before it could say why"
_FINAL: Final = (Rejected, GivenUp)


class Way(Protocol):
    """How events leave a batch other than by being delivered, as for `bucketcast.dispatch.Way`."""

    def bury(self, dead: Sequence[Dead]) -> set[int]: ...

    def bury_message(self, message: Message, reason: str, error: str = "") -> bool: ...

    def send_again(self, bodies: Sequence[str], pause: int = 0) -> set[int]: ...

    def postpone(self, pauses: dict[str, int]) -> None: ...


class Limits(NamedTuple):
    """A topic's; 0 is no limit, and `sleep` None a pause that grows. Seconds, but for `retries`."""

    time_to_live: int = 0
    retries: int = 0
    sleep: int | None = None

    @classmethod
    def of(cls, topic: Topic, defaults: TopicDefaults) -> Self:
        """What holds for a topic: its own, also where that is 0, else the deployment's."""

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
        """Seconds until an event that came at `created` is too old; both are Unix ms."""
        if not self.time_to_live:
            return float("inf")
        return self.time_to_live - (now - created) / 1_000


@dataclass(slots=True)
class _Open:
    """A message with its events and what limits them; `tries` were made of them before."""

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


class Limited:
    """Sends batches to one topic; `limits` may be set anew before each."""

    def __init__(
        self, connect: Callable[[bool], Target], way: Way, *, batch_size: int, limits: Limits
    ) -> None:
        self.limits = limits
        self._sender = Sender(connect)
        self._way = way
        self._batch_size = batch_size

    def __call__(
        self,
        messages: Iterable[Message],
        *,
        now: int,
        remaining: Callable[[], float],
        told: Callable[[Fates], None] = lambda _: None,
    ) -> Outcome:
        """Deliver what these messages hold; `now` is Unix ms, `remaining` the seconds left."""
        outcome = Outcome()
        pauses: dict[str, int] = {}
        whole = remaining()
        opened = list(self._opened(messages, now, outcome, pauses))
        for one in opened:
            outcome.oldest = max(outcome.oldest, (now - one.term.begun) / 1_000)
            self._expire(one, now)
        self._send(opened, remaining, whole)
        for one in opened:
            self._settle(one, now, outcome)
            told(outcome.take_fates())
        if pauses:
            self._way.postpone(pauses)
        return outcome

    def close(self) -> None:
        """Drop the target with its connection and its secrets."""
        self._sender.close()

    def _opened(
        self, messages: Iterable[Message], now: int, outcome: Outcome, pauses: dict[str, int]
    ) -> Iterator[_Open]:
        """Those whose turn it is; of the others is seen to it that they wait or are buried."""
        for message in messages:
            try:
                envelope = seal(message.body)
                deliveries = envelope.open()
            except ValueError as error:
                self._bury_message(message, str(error), outcome)
                continue
            wait = -(-(envelope.not_before - now) // 1_000)
            if wait > 0:
                outcome.stay.append(message.id)
                pauses[message.receipt] = min(wait, _LONGEST_HIDDEN)
                continue
            if message.receives >= WORN:
                self._bury_message(message, _NO_ANSWER, outcome)
                continue
            term = Term(now, message.sent, message.receives, envelope.since, envelope.attempts)
            for one in deliveries:
                force_setattr(one.event, "rule", one.rule)
                force_setattr(one.event, "named", one.named)
                if not one.created:
                    force_setattr(one, "created", envelope.since or message.sent)
            # What names no topic was taken out of its grave, and is not to lie there again at once.
            limits = self.limits if envelope.topic else Limits()
            yield _Open(message, envelope, term, limits, deliveries)

    def _bury_message(self, message: Message, reason: str, outcome: Outcome) -> None:
        if self._way.bury_message(message, reason):
            outcome.dead += 1
        else:
            outcome.stay.append(message.id)

    def _expire(self, one: _Open, now: int) -> None:
        """Give up what is too old, before it is tried."""
        last = f"; at last: {one.envelope.reason}" if one.envelope.reason else ""
        for place, delivery in enumerate(one.deliveries):
            if one.limits.left(delivery.created, now) < 0:
                text = f"time_to_live of {one.limits.time_to_live} s is over"
                text += f" after {one.tries} tries{last}"
                one.failures[place] = GivenUp(text, one.envelope.error or "Retryable")

    def _send(self, opened: Sequence[_Open], remaining: Callable[[], float], whole: float) -> None:
        """Try what is left, in bulk; what there was no time for is no try."""
        left = [
            (one, place)
            for one in opened
            for place in range(len(one.deliveries))
            if place not in one.failures
        ]
        gone = False
        for start in range(0, len(left), self._batch_size):
            part = left[start : start + self._batch_size]
            events = [one.deliveries[place].event for one, place in part]
            has = float("inf") if start else whole
            failures = None if gone else self._sender.once(events, remaining, has)
            if failures is None:
                for one, place in part:
                    one.untried.add(place)
                    one.failures[place] = NoTurn(NO_TURN)
                continue
            for index, error in failures.items():
                one, place = part[index]
                one.failures[place] = _counted(one, error)
                if isinstance(error, NoTurn):
                    one.untried.add(place)
            gone = any(isinstance(error, NotConnected) for error in failures.values())

    def _settle(self, one: _Open, now: int, outcome: Outcome) -> None:
        """See to what became of each event of a message."""
        outcome.delivered += len(one.deliveries) - len(one.failures)
        outcome.fates.delivered += [
            delivery.event
            for place, delivery in enumerate(one.deliveries)
            if place not in one.failures
        ]
        self._bury(one, outcome)
        if not one.failures:
            return
        outcome.retried += len(one.failures)
        outcome.reason = next(iter(one.failures.values()))
        for place, error in one.failures.items():
            outcome.fates.retried.setdefault(str(error), []).append(one.deliveries[place].event)
        untried = sorted(one.untried & one.failures.keys())
        tried = sorted(one.failures.keys() - one.untried)
        bodies = [*self._again(one, tried, now, counted=True)]
        bodies += self._again(one, untried, now, counted=False)
        if any(self._way.send_again([body], seconds) for body, seconds in bodies):
            # Those that SQS took come twice then.
            outcome.stay.append(one.message.id)

    def _bury(self, one: _Open, outcome: Outcome) -> None:
        """Bury what is not tried any more, and forget those failures that SQS took."""
        final = [
            place for place, error in sorted(one.failures.items()) if isinstance(error, _FINAL)
        ]
        dead = [_dead(one, place) for place in final]
        refused = self._way.bury(dead) if dead else set()
        for index, place in enumerate(final):
            outcome.reason = one.failures[place]
            if index not in refused:
                reason = str(one.failures.pop(place))
                outcome.fates.dead.setdefault(reason, []).append(one.deliveries[place].event)
                outcome.dead += 1

    def _again(
        self, one: _Open, places: Sequence[int], now: int, *, counted: bool
    ) -> Iterator[tuple[str, int]]:
        """The bodies of new messages with these events, and after how many seconds they come."""
        if not places:
            return
        part = [one.deliveries[place] for place in places]
        error = one.failures[places[0]]
        wait = _pause(one, part, now)
        history = Envelope(
            one.term.begun,
            attempts=one.tries + counted,
            reason=str(error) if counted else one.envelope.reason,
            error=type(error).__name__ if counted else one.envelope.error,
            topic=one.envelope.topic,
        )
        if wait > LONGEST_DELAY:
            history = replace(history, not_before=now + wait * 1_000)
        try:
            for packed in pack(part, one.term.begun, history=history):
                yield packed.body, min(wait, LONGEST_DELAY)
        except TooLarge:
            # It came in a message, and its reason is what is too much.
            for packed in pack(part, one.term.begun, history=replace(history, reason="")):
                yield packed.body, min(wait, LONGEST_DELAY)


def _counted(one: _Open, error: DeliveryError) -> DeliveryError:
    """The failure, or that it was the last one that is allowed."""
    most, tries = one.limits.retries, one.tries + 1
    if isinstance(error, Rejected | NoTurn):
        return error
    if most and tries > most:
        text = f"{error} (max_retries of {most}: {tries} tries failed)"
        return GivenUp(text, type(error).__name__)
    if one.term.over:
        return GivenUp(f"{error} ({one.term})", type(error).__name__)
    return error


def _pause(one: _Open, part: Sequence[Delivery], now: int) -> int:
    """Seconds until the next try, or until the first of these is too old."""
    sleep = one.limits.sleep
    wait = pause(one.tries + 1) if sleep is None else sleep
    if not one.term.over:
        # Behind the end of its term SQS would drop what still sleeps, and nobody would be told.
        wait = min(wait, (TERM_MS - (now - one.term.begun)) // 1_000 + 1)
    over = min(one.limits.left(each.created, now) for each in part) + 1
    return max(0, int(min(wait, over)))


def _dead(one: _Open, place: int) -> Dead:
    error = one.failures[place]
    name = error.error if isinstance(error, GivenUp) else type(error).__name__
    return Dead(one.deliveries[place], one.term.begun, name, str(error))
