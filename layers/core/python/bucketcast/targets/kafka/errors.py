"""What librdkafka says, as an outcome that says what to do."""

import re
from typing import TYPE_CHECKING

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable, TimedOut
from bucketcast.targets.base import iam
from bucketcast.targets.kafka.settings import KafkaSettings

if TYPE_CHECKING:
    from confluent_kafka import KafkaError


class TooLargeError(Retryable):
    """The brokers found a batch too large: its events may be taken in smaller ones."""


_NO_WORD = (
    "no broker answers, or none as Kafka does: see brokers and the function's VPC, and do "
    "sasl = {sasl} and tls = {tls} suit the port?"
)
_HINTS = {
    "certificate verify failed": "set cert_authority to the authority that signed the brokers' "
    "certificates, and brokers to names that stand in them",
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
"""What to do, by a word of what was heard; the first that stands in it counts."""
_RIGHTS = "the user needs WRITE and DESCRIBE on the topic"
_REFUSALS: dict[str, tuple[type[DeliveryError], str]] = {
    "UNKNOWN_TOPIC_OR_PART": (
        Retryable,
        "make topic {topic}, unless brokers make it at its first event (auto.create.topics.enable)",
    ),
    "TOPIC_EXCEPTION": (Retryable, "the brokers do not take the name {topic}: see topic"),
    "TOPIC_AUTHORIZATION_FAILED": (NotAuthorized, _RIGHTS),
    "CLUSTER_AUTHORIZATION_FAILED": (
        NotAuthorized,
        f"{_RIGHTS}, before Kafka 2.8 also IDEMPOTENT_WRITE on the cluster",
    ),
    "REQUEST_TIMED_OUT": (TimedOut, "is a replica slow or away?"),
    "MSG_SIZE_TOO_LARGE": (
        TooLargeError,
        "raise max.message.bytes of topic {topic}, or set compression_codec",
    ),
}
"""What a broker's own answer means, by its name, and its hint; all others are `Retryable`."""
_of_what = re.compile(r"^Failed to create [a-z ]+: ")
_when = re.compile(r" \(after \d+ms in state \w+.*\)$")


def unreachable(heard: str, settings: KafkaSettings, where: str) -> NotConnected:
    """Why no broker can be talked to, from the last that was heard; "" if they said nothing."""
    options = {"sasl": "on" if settings.sasl else "off", "tls": "on" if settings.tls else "off"}
    if not heard:
        return TimedOut(f"{where}: {_NO_WORD.format(**options)}")
    text = _when.sub("", heard).replace("/bootstrap:", ":")
    hint = next((hint for word, hint in _HINTS.items() if word in text), "")
    login = "SASL" in text or " alert " in text  # by which TLS refuses a client's certificate
    late = "timed out" in text.lower()
    kind = NotAuthorized if login else TimedOut if late else NotConnected
    if "SASL" in text and settings.by_iam:
        hint = iam.HINT
    return kind.hinted(f"{where}: {text}", hint.format(**options))


def unconfirmed(seconds: float, where: str) -> TimedOut:
    """Return why events were taken back that some broker may have had."""
    return TimedOut(
        f"{where}: not confirmed within {seconds:g} s; is a broker overloaded, or are fewer "
        "replicas in sync than min.insync.replicas asks?"
    )


def lacking_rights(where: str) -> NotAuthorized:
    """Return why a topic that is there takes nothing from us."""
    return NotAuthorized.hinted(where, _RIGHTS, ": ")


def refusal(error: "KafkaError", settings: KafkaSettings, where: str) -> DeliveryError:
    """Return what a broker answered to a message, or to a question about the topic."""
    kind, hint = _REFUSALS.get(error.name(), (Retryable, ""))
    return kind.hinted(f"{where}: {error.str()}", hint.format(topic=settings.topic))


def unusable(error: Exception, where: str) -> NotConnected:
    """Return what is wrong with the options, as librdkafka sees it when it reads them."""
    text = _of_what.sub("", error.args[0].str())
    options = "cert_authority, client_tls_cert or client_tls_key"
    about = f"{options} cannot be used: " if text.startswith(("ssl.", "failed to read")) else ""
    return NotConnected(f"{where}: {about}{text}")
