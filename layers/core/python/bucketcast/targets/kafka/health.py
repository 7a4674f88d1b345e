"""The brokers' health, from the errors that librdkafka reports while it retries."""

import math
import time
from typing import TYPE_CHECKING

from bucketcast.errors import DeliveryError
from bucketcast.targets.kafka.errors import unreachable
from bucketcast.targets.kafka.settings import KafkaSettings

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

GRACE = 0.5
"""Seconds after a failure in which a broker may answer: a name can have several addresses."""


class BrokerHealth:
    """The errors since a broker's last answer.

    librdkafka retries forever, and a message's own error is only "timed out". The end of an
    established connection is no failure: librdkafka reopens it, and often it was only idle.
    """

    def __init__(self, settings: KafkaSettings, where: str) -> None:
        self.where = where
        self._settings = settings
        self._last_name = self._last_error = ""
        self._login_failed = False
        self._is_new = True
        self._all_are_down = False
        self._failing_since = math.inf
        self.fatal: KafkaError | None = None
        """What ended the producer for good; later calls of it no longer say what."""

    def record(self, error: "KafkaError") -> None:
        """Record an error that librdkafka reports, of a broker or of its own."""
        if error.fatal():
            self.fatal = error
            return
        message = error.str()
        if error.name() == "_ALL_BROKERS_DOWN":
            self._all_are_down = True
            if not self._is_new:
                return
        elif "in state UP" in message:
            return
        else:
            self._last_name, self._last_error = error.name(), message
            self._login_failed = self._login_failed or error.name() == "_AUTHENTICATION"
        self._failing_since = min(self._failing_since, time.monotonic())

    def reset(self) -> None:
        """Forget all errors, as a broker has answered."""
        self._last_name = self._last_error = ""
        self._login_failed = False
        self._is_new = self._all_are_down = False
        self._failing_since = math.inf

    @property
    def has_error(self) -> bool:
        """True if any error was recorded."""
        return bool(self._last_error) or self.should_give_up

    @property
    def should_give_up(self) -> bool:
        """True if retrying is useless, or no broker has answered within `GRACE`."""
        late = time.monotonic() - self._failing_since > GRACE
        return self._login_failed or (self._all_are_down and late)

    def error(self) -> DeliveryError:
        """Return the delivery error for the last recorded error."""
        return unreachable(self._last_name, self._last_error, self._settings, self.where)
