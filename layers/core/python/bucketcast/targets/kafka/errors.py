"""Errors of librdkafka as delivery errors, and what they say about the brokers' health."""

import math
import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bucketcast.errors import DeliveryError, Retryable
from bucketcast.targets.base import Endpoint, iam
from bucketcast.targets.kafka.answers import ANSWERS
from bucketcast.targets.kafka.settings import KafkaSettings

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

GRACE = 0.5
"""Seconds after a failure in which a broker may answer: a name can have several addresses."""
_advertised = re.compile(r"(?:\w+://)?([^/\s]+)/\d+: ").match
"""The address before a broker's number: it was not configured, but a broker's answer has it."""
_timing_suffix = re.compile(r" \(after \d+ms in state \w+.*\)$")


def refusal(
    error: "KafkaError", settings: KafkaSettings, where: str, *, connecting: bool = False
) -> DeliveryError:
    """Return the delivery error for a broker's answer."""
    codes = (error.name(), str(error.code()))
    return _error(where, error.str(), codes, settings, connecting=connecting)


def ended(error: Exception, settings: KafkaSettings, where: str) -> DeliveryError:
    """Return the delivery error for what a producer raises when it cannot go on."""
    (reason, *_) = error.args
    if isinstance(reason, str):  # no error of librdkafka
        return _error(where, reason, ("_FATAL",), settings)
    return refusal(reason, settings, where, connecting=True)


def _error(
    where: str, text: str, codes: Sequence[str], settings: KafkaSettings, *, connecting: bool = True
) -> DeliveryError:
    return ANSWERS.error(
        where,
        text,
        codes,
        connecting=connecting,
        login_hint=iam.HINT if settings.by_iam and "SASL" in text else "",
        topic=settings.topic,
        sasl="on" if settings.sasl else "off",
        tls="on" if settings.tls else "off",
    )


def unled(where: str) -> Retryable:
    """Return the error for withdrawn events of a partition, where others confirm theirs."""
    return Retryable(
        f"{where}: its partition does not confirm it, while others do theirs; has it a leader, and "
        "as many replicas in sync as min.insync.replicas requires?"
    )


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
        """Return the delivery error for the last recorded error; without one no broker answers."""
        text = _timing_suffix.sub("", self._last_error)
        known = {str(Endpoint.of(broker, 9092)) for broker in self._settings.brokers}
        told = _advertised(text)
        code = "advertised" if told and told[1] not in known else self._last_name or "_TIMED_OUT"
        text = text.replace("/bootstrap:", ":") or "no broker answers, or none as Kafka does"
        return _error(self.where, text, ("unreachable", code), self._settings)
