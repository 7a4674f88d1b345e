"""A target with its connection, and the result of each event that is sent to it."""

import time
import traceback
from collections.abc import Callable, Sequence

from bucketcast.delivery.redaction import hide_data, hide_secrets, redact, shorten
from bucketcast.delivery.ruling import Answers
from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable, TimedOut
from bucketcast.event import Event
from bucketcast.limits import LONGEST_SEND_SECONDS, SETTLE_SECONDS
from bucketcast.settings.secret_values import secret_values
from bucketcast.settings.types import SecretPem
from bucketcast.targets.base import CONNECT_SECONDS, Target
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
        self._shows_certificate = False
        self._unlisted: set[str] = set()

    def close(self) -> None:
        """Close the target's connection; an error of that is only logged."""
        target, self._target = self._target, None
        try:
            if target is not None:
                target.close()
        except Exception as error:  # noqa: BLE001 - it must cost no event anything
            logger.warning("a connection was not closed", error=type(error).__name__)

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

    def send(self, events: Sequence[Event], remaining: Callable[[], float]) -> Answers:
        """Send a batch, once more with fresh secrets if the login was refused for all of it.

        Not if the seconds `remaining` do not suffice, nor with the same secrets where all that is
        known is that the connection was closed.
        """
        began = time.monotonic()
        answers = self._send(events)
        failed = answers.errors.values()
        if len(failed) == len(events) > 0 and all(map(self._may_be_login, failed)):
            refused = any(isinstance(error, NotAuthorized) for error in failed)
            is_early = time.monotonic() - began <= CONNECT_SECONDS
            in_time = remaining() >= self.max_seconds
            known = self._target and self._target.settings
            self.close()
            target = self._try_open(fresh=True)
            if target and in_time and (refused or (is_early and target.settings != known)):
                answers = self._send(events)
        errors = dict(answers.errors)
        redact(events, errors, self._secrets)
        for error in errors.values():
            if error.unlisted and error.unlisted not in self._unlisted:
                self._unlisted.add(error.unlisted)
                logger.warning("an answer that is on no list; it is tried again", reason=str(error))
        return Answers(errors, answers.whole)

    def _may_be_login(self, error: DeliveryError) -> bool:
        """Return True for a refused login; TLS 1.3 refuses a certificate by closing, too."""
        closed = isinstance(error, NotConnected) and not isinstance(error, TimedOut)
        return isinstance(error, NotAuthorized) or (closed and self._shows_certificate)

    def _try_open(self, *, fresh: bool = False) -> Target | None:
        """Return the target, created if need be; None if it cannot be, which sending reports."""
        try:
            return self._open(fresh=fresh)
        except Exception:  # noqa: BLE001 - whatever it is, sending meets it too
            return None

    def _open(self, *, fresh: bool) -> Target:
        """Return the target, created if need be.

        Raises:
            DeliveryError: it cannot be created.
        """
        if self._target is None:
            self._target = self._connect(fresh)
            self._secrets = secret_values(self._target.settings)
            values = vars(self._target.settings).values()
            self._shows_certificate = any(isinstance(each, SecretPem) and each for each in values)
        return self._target

    def _send(self, events: Sequence[Event]) -> Answers:
        try:
            return Answers(self._open(fresh=False).send(events))
        except DeliveryError as error:
            # Kept with its traceback it would keep the events, too.
            reason: DeliveryError = error.with_traceback(None)
        except Exception as error:  # noqa: BLE001 - a client's own bug must not stop the neighbours
            logger.error(
                "a target raised what it should have translated",
                error=type(error).__name__,
                reason=shorten(hide_data(hide_secrets(str(error), self._secrets), events)),
                trace="".join(traceback.format_tb(error.__traceback__)),
            )
            self.close()
            reason = Retryable(f"unexpected {type(error).__name__}: {error}")
        return Answers(dict.fromkeys(range(len(events)), reason), whole=True)
