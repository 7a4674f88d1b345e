"""Whether the brokers may still be reached, from what librdkafka says of them as it tries."""

import math
import time
from typing import TYPE_CHECKING

from bucketcast.errors import DeliveryError
from bucketcast.targets.kafka.errors import refusal, unreachable
from bucketcast.targets.kafka.settings import KafkaSettings

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

GRACE = 0.5
"""Seconds in which a broker may be found after a failure: a name can have several addresses."""


class BrokerHealth:
    """What was heard since the last good sign.

    librdkafka goes on trying for ever, and says no more than "timed out" of a message. That a
    connection ended which was in use says nothing: it is opened again, and often was only old.
    """

    def __init__(self, settings: KafkaSettings, where: str) -> None:
        self.where = where
        self._settings = settings
        self._heard = ""
        self._final: KafkaError | None = None
        self._is_new = True
        self._all_are_down = False
        self._since = math.inf

    def hear(self, error: "KafkaError") -> None:
        """Take what librdkafka says of a broker, or of itself."""
        text = error.str()
        if error.name() == "_ALL_BROKERS_DOWN":
            self._all_are_down = True
            if not self._is_new:
                return
        elif "in state UP" in text:
            return
        else:
            self._heard = text
            if error.fatal() or error.name() == "_AUTHENTICATION":
                self._final = error
        self._since = min(self._since, time.monotonic())

    def reset(self) -> None:
        """Forget it all: a broker answered."""
        self._heard, self._final = "", None
        self._is_new = self._all_are_down = False
        self._since = math.inf

    @property
    def has_error(self) -> bool:
        """Whether something went wrong at all."""
        return bool(self._heard) or self.should_give_up

    @property
    def should_give_up(self) -> bool:
        """Whether to give up now."""
        late = time.monotonic() - self._since > GRACE
        return self._final is not None or (self._all_are_down and late)

    def reason(self) -> DeliveryError:
        """Return why no broker can be used, as far as anybody said."""
        if self._final is not None and self._final.fatal():
            return refusal(self._final, self._settings, self.where)
        return unreachable(self._heard, self._settings, self.where)
