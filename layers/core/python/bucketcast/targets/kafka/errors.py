"""Errors of librdkafka as delivery errors, with hints."""

import re
from typing import TYPE_CHECKING

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable, TimedOut
from bucketcast.targets.base import iam
from bucketcast.targets.kafka.settings import KafkaSettings

if TYPE_CHECKING:
    from confluent_kafka import KafkaError


class TooLargeError(Retryable):
    """The brokers refused a batch as too large; they may accept its events in smaller ones."""


_NO_ANSWER = (
    "no broker answers, or none answers as Kafka does: see brokers and the function's VPC, and do "
    "sasl = {sasl} and tls = {tls} suit the port?"
)
_HINTS = {
    "certificate verify failed": "set cert_authority to the authority that signed the brokers' "
    "certificates, and brokers to names in them",
    " alert ": "does it want a client certificate, of an authority that it trusts? See "
    "client_tls_cert and client_tls_key",
    "SSL": "does tls = {tls} suit the port?",
    "SASL PLAIN mechanism": "see sasl and sasl_mechanism, which have to suit the port",
    "SASL SCRAM": "see sasl and sasl_mechanism, which have to suit the port",
    "SASL": "see sasl_username, sasl_password and sasl_mechanism",
    "resolve": "see brokers, and the function's VPC",
    "Connect to": "see brokers, and the function's VPC and security groups",
    "response size": "is this a port of Kafka, and does tls = {tls} suit it?",
}
"""Hints by a word of the error's text; the first word in it counts."""
_RIGHTS = "the user needs WRITE and DESCRIBE on the topic"
_REFUSALS: dict[str, tuple[type[DeliveryError], str]] = {
    "UNKNOWN_TOPIC_OR_PART": (
        Retryable,
        "create topic {topic}, unless the brokers do it themselves (auto.create.topics.enable)",
    ),
    "TOPIC_EXCEPTION": (Retryable, "the brokers refuse the name {topic}: see topic"),
    "TOPIC_AUTHORIZATION_FAILED": (NotAuthorized, _RIGHTS),
    "CLUSTER_AUTHORIZATION_FAILED": (
        NotAuthorized,
        f"{_RIGHTS}, before Kafka 2.8 also IDEMPOTENT_WRITE on the cluster",
    ),
    "REQUEST_TIMED_OUT": (TimedOut, "is a replica slow or down?"),
    "MSG_SIZE_TOO_LARGE": (
        TooLargeError,
        "raise max.message.bytes of topic {topic}, or set compression_codec",
    ),
}
"""The delivery error and the hint by the name of a broker's error; others are `Retryable`."""
_creation_prefix = re.compile(r"^Failed to create [a-z ]+: ")
_timing_suffix = re.compile(r" \(after \d+ms in state \w+.*\)$")


def unreachable(last_error: str, settings: KafkaSettings, where: str) -> NotConnected:
    """Return the delivery error if no broker can be used; `last_error` is "" without an answer."""
    options = {"sasl": "on" if settings.sasl else "off", "tls": "on" if settings.tls else "off"}
    if not last_error:
        return TimedOut(f"{where}: {_NO_ANSWER.format(**options)}")
    message = _timing_suffix.sub("", last_error).replace("/bootstrap:", ":")
    hint = next((hint for word, hint in _HINTS.items() if word in message), "")
    # With an alert TLS refuses the client's certificate.
    unauthorized = "SASL" in message or " alert " in message
    late = "timed out" in message.lower()
    kind = NotAuthorized if unauthorized else TimedOut if late else NotConnected
    if "SASL" in message and settings.by_iam:
        hint = iam.HINT
    return kind.hinted(f"{where}: {message}", hint.format(**options))


def unconfirmed(seconds: float, where: str) -> TimedOut:
    """Return the error for withdrawn events, which a broker may have."""
    return TimedOut(
        f"{where}: not confirmed within {seconds:g} s; is a broker overloaded, or are fewer "
        "replicas in sync than min.insync.replicas requires?"
    )


def missing_rights(where: str) -> NotAuthorized:
    """Return the error for a topic that the user may not write to."""
    return NotAuthorized.hinted(where, _RIGHTS, ": ")


def refusal(error: "KafkaError", settings: KafkaSettings, where: str) -> DeliveryError:
    """Return the delivery error for a broker's answer."""
    kind, hint = _REFUSALS.get(error.name(), (Retryable, ""))
    return kind.hinted(f"{where}: {error.str()}", hint.format(topic=settings.topic))


def ended(error: Exception, settings: KafkaSettings, where: str) -> NotConnected:
    """Return the delivery error for what a producer raises when it cannot go on."""
    (reason, *_) = error.args
    if isinstance(reason, str):  # no error of librdkafka
        return NotConnected(f"{where}: {reason}")
    found = refusal(reason, settings, where)
    return found if isinstance(found, NotConnected) else NotConnected(str(found))


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
