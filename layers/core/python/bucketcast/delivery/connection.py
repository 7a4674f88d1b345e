"""A target with its connection, and the result of each event that is sent to it."""

import traceback
from collections.abc import Callable, Sequence

from bucketcast.delivery.redaction import hide_data, hide_secrets, redact, shorten
from bucketcast.errors import (
    BreakerOpen,
    DeliveryError,
    NotAuthorized,
    NotConnected,
    OutOfTime,
    Rejected,
    Retryable,
)
from bucketcast.event import Event
from bucketcast.limits import LONGEST_SEND_SECONDS, SETTLE_SECONDS
from bucketcast.settings.secret_values import secret_values
from bucketcast.targets.base import Failures, Target
from bucketcast.telemetry import logger

OUT_OF_TIME = "the function's time was up before its turn came"


class Connection:
    """Sends batches; `connect(fresh)` creates the target, with secrets fetched again if `fresh`.

    The target is created on first use, and kept.
    """

    def __init__(self, connect: Callable[[bool], Target]) -> None:
        self._connect = connect
        self._target: Target | None = None
        self._secrets: frozenset[str] = frozenset()

    def close(self) -> None:
        """Close the target's connection."""
        if self._target is not None:
            self._target.close()
            self._target = None

    @property
    def max_seconds(self) -> float:
        """The maximal seconds that one batch takes, with the time to settle it."""
        target = self._try_open()
        return (target.max_send_seconds if target else LONGEST_SEND_SECONDS) + SETTLE_SECONDS

    @property
    def first_alone(self) -> bool:
        """Whether one event is sent before the others; see `Target.first_alone`."""
        target = self._try_open()
        return target is not None and target.first_alone

    def send(self, events: Sequence[Event], remaining: Callable[[], float]) -> Failures:
        """Send a batch, once more with fresh secrets if all of it was unauthorized.

        Events that there was no time for (`remaining` are the seconds left) fail with `OutOfTime`.
        """
        failures = self._bisect(events, remaining, fresh=False)
        unauthorized = any(isinstance(error, NotAuthorized) for error in failures.values())
        if unauthorized and len(failures) == len(events):
            self.close()
            failures = self._bisect(events, remaining, fresh=True)
        redact(events, failures, self._secrets)
        return failures

    def _try_open(self) -> Target | None:
        """Return the target, created if need be; None if it cannot be, which sending reports."""
        try:
            return self._open(fresh=False)
        except DeliveryError:
            return None

    def _open(self, *, fresh: bool) -> Target:
        """Return the target, created if need be.

        Raises:
            DeliveryError: it cannot be created.
        """
        if self._target is None:
            self._target = self._connect(fresh)
            self._secrets = secret_values(self._target.settings)
        return self._target

    def _bisect(
        self, events: Sequence[Event], remaining: Callable[[], float], *, fresh: bool
    ) -> Failures:
        """Send; if a target cannot tell which event it refused, halve the batch until it can."""
        everything = range(len(events))
        try:
            return self._open(fresh=fresh).send(events)
        except Rejected as error:
            reason: DeliveryError = error
        except DeliveryError as error:
            # Kept with its traceback it would keep the events, too.
            return dict.fromkeys(everything, error.with_traceback(None))
        except Exception as error:  # noqa: BLE001 - a client's own bug must not stop the neighbours
            logger.error(
                "a target raised what it should have translated",
                error=type(error).__name__,
                reason=shorten(hide_data(hide_secrets(str(error), self._secrets), events)),
                trace="".join(traceback.format_tb(error.__traceback__)),
            )
            self.close()
            reason = Retryable(f"unexpected {type(error).__name__}: {error}")
        if len(events) == 1:
            return {0: reason}
        half = len(events) // 2
        failures = dict(self._send_half(events[:half], remaining, fresh=fresh))
        lost = next((e for e in failures.values() if isinstance(e, NotConnected)), None)
        if lost is not None:
            return failures | dict.fromkeys(everything[half:], BreakerOpen.behind(lost))
        second = self._send_half(events[half:], remaining, fresh=fresh)
        return failures | {half + index: error for index, error in second.items()}

    def _send_half(
        self, events: Sequence[Event], remaining: Callable[[], float], *, fresh: bool
    ) -> Failures:
        if remaining() < self.max_seconds:
            return dict.fromkeys(range(len(events)), OutOfTime(OUT_OF_TIME))
        return self._bisect(events, remaining, fresh=fresh)
