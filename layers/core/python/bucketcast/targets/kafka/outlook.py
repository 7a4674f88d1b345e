"""Whether the brokers may still be reached, from what librdkafka says of them as it tries."""

import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

GRACE = 0.5
"""Seconds in which a broker may be found after a failure: a name can have several addresses."""


class Outlook:
    """What was heard since the last good sign.

    librdkafka goes on trying for ever, and says no more than "timed out" of a message. That a
    connection ended which was in use says nothing: it is opened again, and often was only old.
    """

    def __init__(self) -> None:
        self.heard = ""
        """The last failure to open a connection; "" if there was none, or nobody said why."""
        self.final: KafkaError | None = None
        """What no other broker and no further try would change."""
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
            self.heard = text
            if error.fatal() or error.name() == "_AUTHENTICATION":
                self.final = error
        self._since = min(self._since, time.monotonic())

    def brightens(self) -> None:
        """Forget it all: a broker answered."""
        self.heard, self.final = "", None
        self._is_new = self._all_are_down = False
        self._since = math.inf

    def is_hopeless(self) -> bool:
        """Whether to give up now."""
        late = time.monotonic() - self._since > GRACE
        return self.final is not None or (self._all_are_down and late)
