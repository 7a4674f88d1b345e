"""What librdkafka says, as an outcome that says what to do."""

import re
from typing import TYPE_CHECKING

from bucketcast.errors import DeliveryError, NotAuthorized, NotConnected, Retryable
from bucketcast.targets.kafka.given import Given

if TYPE_CHECKING:
    from confluent_kafka import KafkaError


class TooLargeError(Retryable):
    """The brokers found a batch too large: its events may be taken in smaller ones."""


_NO_WORD = (
    "no broker answers, or none as Kafka does: see brokers and the function's VPC, and do "
    "sasl = {sasl} and tls = {tls} suit the port?"
)
_CURES = {
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
    "MSG_SIZE_TOO_LARGE": (
        TooLargeError,
        "raise max.message.bytes of topic {topic}, or set compression_codec",
    ),
}
"""What a broker's own answer means, by its name, and its cure; all others are `Retryable`."""
_of_what = re.compile(r"^Failed to create [a-z ]+: ")
_when = re.compile(r" \(after \d+ms in state \w+.*\)$")


def unreachable(heard: str, given: Given, where: str) -> NotConnected:
    """Why no broker can be talked to, from the last that was heard; "" if they said nothing."""
    words = {"sasl": "on" if given.sasl else "off", "tls": "on" if given.tls else "off"}
    if not heard:
        return NotConnected(f"{where}: {_NO_WORD.format(**words)}")
    text = _when.sub("", heard).replace("/bootstrap:", ":")
    cure = next((cure for word, cure in _CURES.items() if word in text), "")
    reason = f"{where}: {text}" + (f"; {cure.format(**words)}" if cure else "")
    login = "SASL" in text or " alert " in text  # by which TLS refuses a client's certificate
    return NotAuthorized(reason) if login else NotConnected(reason)


def unconfirmed(seconds: float, where: str) -> NotConnected:
    """Why events were taken back that some broker may have had."""
    return NotConnected(
        f"{where}: not confirmed within {seconds:g} s; is a broker overloaded, or are fewer "
        "replicas in sync than min.insync.replicas asks?"
    )


def lacking_rights(where: str) -> NotAuthorized:
    """Why a topic that is there takes nothing from us."""
    return NotAuthorized(f"{where}: {_RIGHTS}")


def refusal(error: "KafkaError", given: Given, where: str) -> DeliveryError:
    """What a broker answered to a message, or to a question about the topic."""
    kind, cure = _REFUSALS.get(error.name(), (Retryable, ""))
    reason = f"{where}: {error.str()}"
    return kind(f"{reason}; {cure.format(topic=given.topic)}" if cure else reason)


def unusable(error: Exception, where: str) -> NotConnected:
    """What is wrong with the options, as librdkafka sees it when it reads them."""
    text = _of_what.sub("", error.args[0].str())
    options = "cert_authority, client_tls_cert or client_tls_key"
    about = f"{options} cannot be used: " if text.startswith(("ssl.", "failed to read")) else ""
    return NotConnected(f"{where}: {about}{text}")
