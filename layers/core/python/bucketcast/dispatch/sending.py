"""A target and its connection: how one batch is sent, and what each of its events came to."""

import traceback
from collections.abc import Callable, Sequence

from bucketcast.dispatch.outcome import NoTurn
from bucketcast.dispatch.redaction import redact, shortened, without
from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.targets.base import SPARE, Failures, Target
from bucketcast.telemetry import logger

NO_TURN = "the function's time was up before its turn came"
FOR_THE_FIRST = 2.0
"""Seconds that something else may take before the first batch without being in its way."""
_LONGEST = 40.0
"""Seconds for a batch to a target that cannot be made, and so cannot say."""


class Sender:
    """Sends batches; `connect(fresh)` makes the target with its secrets, fetched again if `fresh`.

    The target is made when it is first needed, and kept.
    """

    def __init__(self, connect: Callable[[bool], Target]) -> None:
        self._connect = connect
        self._target: Target | None = None

    def close(self) -> None:
        """Drop the target with its connection and its secrets."""
        if self._target is not None:
            self._target.close()
            self._target = None

    @property
    def longest(self) -> float:
        """Seconds that one batch takes at the most, what is left to say of it included."""
        target = self._made()
        return (target.longest_send if target else _LONGEST) + SPARE

    def short_of(self, seconds: float) -> bool:
        """Whether these are too few for another batch, should nothing go well in it."""
        return seconds < self.longest

    @property
    def first_alone(self) -> bool:
        """Whether one event is to go before the others; see `Target.first_alone`."""
        target = self._made()
        return target is not None and target.first_alone

    def refuses_old(self) -> bool:
        """Whether the target keeps rows that an event from before its memory could spoil."""
        target = self._made()
        return target is not None and target.keeps_rows

    def send(self, events: Sequence[Event], remaining: Callable[[], float]) -> Failures:
        """One batch, tried again with fresh secrets where all of it was refused for them.

        What there was no time for, `remaining` being the seconds left, failed with `NoTurn`.
        """
        failures = self._narrow(events, remaining, fresh=False)
        errors = failures.values()
        refused = any(isinstance(error, NotAuthorized) for error in errors)
        if refused and len(failures) == len(events):
            self.close()
            failures = self._narrow(events, remaining, fresh=True)
        redact(events, failures)
        return failures

    def once(
        self, events: Sequence[Event], remaining: Callable[[], float], whole: float = float("inf")
    ) -> Failures | None:
        """One batch, of which nothing is tried a second time; None: too few seconds for it.

        `whole` are the seconds that the function had, for the first that it sends: what has all of
        them is sent however few they are, or it would never be.
        """
        try:
            if self._target is None:
                self._target = self._connect(False)  # noqa: FBT003 - by place, as its type says
        except DeliveryError as error:
            return dict.fromkeys(range(len(events)), error)
        left = remaining()
        if left + FOR_THE_FIRST < whole and self.short_of(left):
            return None
        failures = self._narrow(events, remaining, fresh=False)
        if any(isinstance(error, NotConnected) for error in failures.values()):
            self.close()
        redact(events, failures)
        return failures

    def _made(self) -> Target | None:
        """The target, made now if need be; None where it cannot be, as sending says of each."""
        if self._target is None:
            try:
                self._target = self._connect(False)  # noqa: FBT003 - by place, as its type says
            except DeliveryError:
                return None
        return self._target

    def _narrow(
        self, events: Sequence[Event], remaining: Callable[[], float], *, fresh: bool
    ) -> Failures:
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
            logger.error(
                "a target raised what it should have translated",
                error=type(error).__name__,
                reason=shortened(without(str(error), events)),
                trace="".join(traceback.format_tb(error.__traceback__)),
            )
            self.close()
            reason = Retryable(f"unexpected {type(error).__name__}: {error}")
        if len(events) == 1:
            return {0: reason}
        half = len(events) // 2
        failures = dict(self._half(events[:half], remaining, fresh=fresh))
        gone = next((e for e in failures.values() if isinstance(e, NotConnected)), None)
        if gone is not None:
            return failures | dict.fromkeys(everything[half:], gone)
        second = self._half(events[half:], remaining, fresh=fresh)
        return failures | {half + place: error for place, error in second.items()}

    def _half(
        self, events: Sequence[Event], remaining: Callable[[], float], *, fresh: bool
    ) -> Failures:
        if self.short_of(remaining()):
            return dict.fromkeys(range(len(events)), NoTurn(NO_TURN))
        return self._narrow(events, remaining, fresh=fresh)
