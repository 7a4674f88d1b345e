"""Errors of librdkafka as delivery errors, by the list of `answers`."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable, TimedOut
from bucketcast.targets.base import Endpoint, iam
from bucketcast.targets.kafka.answers import ANSWERS, RIGHTS
from bucketcast.targets.kafka.settings import KafkaSettings

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

_advertised = re.compile(r"(?:\w+://)?([^/\s]+)/\d+: ").match
"""The address before a broker's number: it was not configured, but a broker's answer has it."""
_creation_prefix = re.compile(r"^Failed to create [a-z ]+: ")
_timing_suffix = re.compile(r" \(after \d+ms in state \w+.*\)$")


def unreachable(name: str, last_error: str, settings: KafkaSettings, where: str) -> DeliveryError:
    """Return the delivery error if no broker can be used; without an answer both are ""."""
    text = _timing_suffix.sub("", last_error)
    known = {str(Endpoint.of(broker, 9092)) for broker in settings.brokers}
    told = _advertised(text)
    code = "advertised" if told and told[1] not in known else name or "_TIMED_OUT"
    text = text.replace("/bootstrap:", ":") or "no broker answers, or none answers as Kafka does"
    return _error(where, text, ("unreachable", code), settings)


def unconfirmed(seconds: float, where: str) -> TimedOut:
    """Return the error for withdrawn events, which a broker may have."""
    return TimedOut(
        f"{where}: not confirmed within {seconds:g} s; is a broker overloaded, or are fewer "
        "replicas in sync than min.insync.replicas requires?"
    )


def missing_rights(where: str) -> NotAuthorized:
    """Return the error for a topic that the user may not write to."""
    return NotAuthorized.hinted(where, RIGHTS, ": ")


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


def invalid_options(error: Exception, where: str) -> NotConnected:
    """Return the delivery error for options that librdkafka refuses."""
    message = _creation_prefix.sub("", error.args[0].str())
    if message.startswith(("ssl.", "failed to read")):
        options = "cert_authority, client_tls_cert or client_tls_key"
        message = f"{options} cannot be used: {message}"
    return NotConnected(f"{where}: {message}")
