"""Dispatch: from messages of a target's queue to the target, and what becomes of what failed.

========================  ====================================================================
outcome of an event       what happens
========================  ====================================================================
delivered                 nothing more: it goes with its message
`Rejected`                buried in the dead-letter queue with its reason, alone
`Retryable`, whole        the message stays; it is seen again after a pause that doubles
message
`Retryable`, a part       the part goes back as a message of its own with that pause
`NotConnected`            the connection is dropped, and the rest of the batch is not tried
`NotAuthorized`           the secret is fetched again and the batch is tried once more
a batch refused whole     halved until the events that are refused stand alone
older than 13 days        buried with the last reason: SQS would drop it silently on day 14
========================  ====================================================================
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from msgspec.structs import force_setattr

from bucketcast.envelope import Delivery, Envelope, unpack
from bucketcast.errors import (
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Rejected,
    Retryable,
    Throttled,
)
from bucketcast.event import Event
from bucketcast.lifetime import DAY_MS, TERM_DAYS
from bucketcast.targets.base import SPARE, Failures, Target
from bucketcast.telemetry import logger
from bucketcast.tracing import Fates

LONGEST_PAUSE = 1_200
OLDEST_MS = TERM_DAYS * DAY_MS


class Message(NamedTuple):
    """A message of the target's queue; `sent` is Unix ms, `receives` counts this one too."""

    id: str
    receipt: str
    body: str
    sent: int
    receives: int


class Dead(NamedTuple):
    """An event that will not be tried again, and why."""

    delivery: Delivery
    envelope: Envelope
    reason: DeliveryError


class Way(Protocol):
    """How events leave a batch other than by being delivered.

    What SQS did not take must stay in its message: `bury` answers the places of those in the
    list it was given, `go_back` and `bury_message` answer whether it was taken.
    """

    def bury(self, dead: Sequence[Dead]) -> set[int]: ...

    def bury_message(self, message: Message, reason: str) -> bool: ...

    def go_back(self, part: Sequence[Delivery], envelope: Envelope, pause: int) -> bool: ...

    def postpone(self, pauses: dict[str, int]) -> None: ...


@dataclass(slots=True)
class Outcome:
    """`stay` are the ids of messages that SQS is to show again; the rest are counts of events."""

    stay: list[str] = field(default_factory=list)
    delivered: int = 0
    retried: int = 0
    dead: int = 0
    reason: DeliveryError | None = None
    fates: Fates = field(default_factory=Fates, compare=False)


class _Open(NamedTuple):
    message: Message
    envelope: Envelope
    deliveries: list[Delivery]
    failures: dict[int, DeliveryError]


class Dispatcher:
    """Sends batches to one target.

    `connect(fresh)` makes the target with its secrets, fetched again if `fresh`. `in_order` sends
    one event at a time and stops at the first that fails.
    """

    def __init__(
        self, connect: Callable[[bool], Target], way: Way, *, batch_size: int, in_order: bool
    ) -> None:
        self._connect = connect
        self._way = way
        self._batch_size = 1 if in_order else batch_size
        self._in_order = in_order
        self._target: Target | None = None

    def __call__(
        self, messages: Iterable[Message], *, now: int, remaining: Callable[[], float]
    ) -> Outcome:
        """Deliver what these messages hold; `now` is Unix ms, `remaining` the seconds left."""
        outcome = Outcome()
        opened = list(self._open(messages, outcome))
        self._deliver(opened, remaining)
        for one in opened:
            outcome.delivered += len(one.deliveries) - len(one.failures)
            outcome.fates.delivered += [
                delivery.event
                for place, delivery in enumerate(one.deliveries)
                if place not in one.failures
            ]
        failed = [one for one in opened if one.failures]
        if failed:
            self._bury(failed, outcome, now)
            self._keep(failed, outcome)
        return outcome

    def close(self) -> None:
        """Drop the target with its connection and its secrets."""
        if self._target is not None:
            self._target.close()
            self._target = None

    def _open(self, messages: Iterable[Message], outcome: Outcome) -> Iterator[_Open]:
        for message in messages:
            try:
                envelope, deliveries = unpack(message.body)
            except ValueError as error:
                if self._way.bury_message(message, str(error)):
                    outcome.dead += 1
                else:
                    outcome.stay.append(message.id)
            else:
                for one in deliveries:
                    force_setattr(one.event, "rule", one.rule)
                yield _Open(message, envelope, deliveries, {})

    def _deliver(self, opened: Sequence[_Open], remaining: Callable[[], float]) -> None:
        """Send everything in bulk and note what failed beside its message."""
        places = [(one, place) for one in opened for place in range(len(one.deliveries))]
        gone: DeliveryError | None = None
        for start in range(0, len(places), self._batch_size):
            part = places[start : start + self._batch_size]
            if start and gone is None and self._short_of(remaining()):
                gone = Throttled("the function's time was up before its turn came", after=0)
            if gone is not None:
                failures: Failures = dict.fromkeys(range(len(part)), gone)
            else:
                failures = self._send([one.deliveries[place].event for one, place in part])
            for index, error in failures.items():
                one, place = part[index]
                one.failures[place] = error
                stops = self._in_order and not isinstance(error, Rejected)
                if stops or isinstance(error, NotConnected):
                    gone = error
            if isinstance(gone, NotConnected):
                self.close()

    def _short_of(self, seconds: float) -> bool:
        """Whether these are too few for another batch, should nothing go well in it."""
        return self._target is not None and seconds < self._target.longest_send + SPARE

    def _send(self, events: Sequence[Event]) -> Failures:
        """One batch, tried again with fresh secrets where all of it was refused for them."""
        failures = self._narrow(events, fresh=False)
        errors = failures.values()
        refused = any(isinstance(error, NotAuthorized) for error in errors)
        if refused and len(failures) == len(events):
            self.close()
            failures = self._narrow(events, fresh=True)
        return failures

    def _narrow(self, events: Sequence[Event], *, fresh: bool) -> Failures:
        """Send; where a target cannot say which event it choked on, halve until it is alone."""
        everything = range(len(events))
        try:
            if self._target is None:
                self._target = self._connect(fresh)
            return self._target.send(events)
        except Rejected as error:
            reason: DeliveryError = error
        except DeliveryError as error:
            return dict.fromkeys(everything, error)
        except Exception as error:  # noqa: BLE001 - a client's own bug must not stop the neighbours
            logger.exception("a target raised what it should have translated")
            self.close()
            reason = Retryable(f"unexpected {type(error).__name__}: {error}")
        if len(events) == 1:
            return {0: reason}
        half = len(events) // 2
        failures = dict(self._narrow(events[:half], fresh=fresh))
        gone = next((e for e in failures.values() if isinstance(e, NotConnected)), None)
        if gone is not None:
            return failures | dict.fromkeys(everything[half:], gone)
        second = self._narrow(events[half:], fresh=fresh)
        return failures | {half + place: error for place, error in second.items()}

    def _bury(self, failed: Sequence[_Open], outcome: Outcome, now: int) -> None:
        """Bury what will not be tried again, and forget those failures that SQS took."""
        final = [
            (one, place)
            for one in failed
            for place, error in sorted(one.failures.items())
            if isinstance(error, Rejected)
            or now - min(one.message.sent, one.envelope.since) > OLDEST_MS
        ]
        dead = [
            Dead(one.deliveries[place], one.envelope, one.failures[place]) for one, place in final
        ]
        refused = self._way.bury(dead) if dead else set()
        for index, (one, place) in enumerate(final):
            outcome.reason = one.failures[place]
            if index not in refused:
                reason = str(one.failures.pop(place))
                outcome.fates.dead.setdefault(reason, []).append(one.deliveries[place].event)
                outcome.dead += 1

    def _keep(self, failed: Sequence[_Open], outcome: Outcome) -> None:
        """Let what failed be seen again: the message itself, or a new one with just that part."""
        pauses: dict[str, int] = {}
        for one in failed:
            if not one.failures:
                continue
            message, envelope = one.message, one.envelope
            outcome.retried += len(one.failures)
            outcome.reason = next(iter(one.failures.values()))
            for place, error in one.failures.items():
                event = one.deliveries[place].event
                outcome.fates.retried.setdefault(str(error), []).append(event)
            tries = envelope.attempts + message.receives
            pause = max(_pause(error, tries) for error in one.failures.values())
            whole = len(one.failures) == len(one.deliveries)
            part = [one.deliveries[place] for place in sorted(one.failures)]
            tried = Envelope(envelope.since, attempts=tries)
            if whole or self._in_order or not self._way.go_back(part, tried, pause):
                outcome.stay.append(message.id)
                pauses[message.receipt] = pause
        if pauses:
            self._way.postpone(pauses)


def _pause(error: DeliveryError, tries: int) -> int:
    """Seconds until the next try: 1, 2, 4 … 20 minutes, less up to a half, or as the target says.

    The spread keeps messages that failed together from coming back together.
    """
    if isinstance(error, Throttled):
        return max(0, min(round(error.after), LONGEST_PAUSE))
    longest = min(2.0 ** min(tries - 1, 11), LONGEST_PAUSE)
    return max(1, round(longest * random.uniform(0.5, 1)))  # noqa: S311 - spread, not secrecy
