"""librdkafka's clients, told in its own words what the target's options say."""

from collections.abc import Callable
from typing import Any, TypeVar

from bucketcast import __version__
from bucketcast.errors import NotAuthorized
from bucketcast.targets.kafka.errors import unusable
from bucketcast.targets.kafka.given import Given
from bucketcast.targets.kafka.outlook import Outlook

CONNECT_SECONDS = 5.0
LARGEST_EVENT = 64 * 1024 * 1024
"""Bytes of a body; brokers take no request of more than 100 MiB unless told otherwise."""
T = TypeVar("T")
_MECHANISMS = {"plain": "PLAIN", "sha256": "SCRAM-SHA-256", "sha512": "SCRAM-SHA-512"}


def started(made: Callable[[dict[str, Any]], T], told: dict[str, Any], outlook: Outlook) -> T:
    """A client that was told this; what it says of the brokers goes to `outlook`.

    Raises:
        NotConnected: it cannot be made with these options.
    """
    from confluent_kafka import KafkaException  # noqa: PLC0415 - see targets.base

    if told.get("sasl.password") == "":
        raise NotAuthorized(f"{outlook.where}: sasl_password is missing, and sasl is on")
    try:
        return made({**told, "error_cb": outlook.hear})
    except KafkaException as error:
        raise unusable(error, outlook.where) from None


def configuration(given: Given, patience: float, batch_bytes: int) -> dict[str, Any]:
    """A producer's configuration.

    `patience` is the longest that a batch may take, in seconds; `batch_bytes` is how much goes to
    the brokers as one.
    """
    protocol = "SASL_" * given.sasl + ("SSL" if given.tls else "PLAINTEXT")
    words: dict[str, Any] = {
        "bootstrap.servers": ",".join(given.brokers),
        "security.protocol": protocol,
        "client.id": f"bucketcast-{__version__}",
        "acks": 0 if given.ack == "none" else "all",
        "enable.idempotence": given.ack != "none",
        "partitioner": "fnv1a",
        "batch.size": batch_bytes,
        "linger.ms": 1000,  # it is sent when it is full, or as soon as somebody waits for the end
        # With what stands around a body.
        "message.max.bytes": LARGEST_EVENT + 1024 * 1024,
        "compression.codec": given.compression_codec,
        # Whoever waits for the batch gives it up first, and takes it back.
        "message.timeout.ms": _ms(patience) + 60_000,
        # A connection that died unseen is given up early enough to send again over another.
        "socket.timeout.ms": _ms(patience / 3),
        "request.timeout.ms": _ms(patience / 3),
        "socket.keepalive.enable": True,
        "socket.connection.setup.timeout.ms": _ms(CONNECT_SECONDS),
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 500,
        # So long a new topic may be unknown to some broker.
        "topic.metadata.propagation.max.ms": _ms(patience / 10),
        "delivery.report.only.error": True,
        "log_level": 0,  # else it prints: what there is to say it also tells us
    }
    if given.compression_level is not None:
        words["compression.level"] = given.compression_level
    return words | (_login(given) if given.sasl else {}) | (_tls(given) if given.tls else {})


def _login(given: Given) -> dict[str, Any]:
    mechanism = given.sasl_mechanism
    return {
        "sasl.mechanism": _MECHANISMS.get(mechanism, mechanism.upper()),
        "sasl.username": given.sasl_username,
        "sasl.password": given.sasl_password.reveal(),
    }


def _tls(given: Given) -> dict[str, Any]:
    words: dict[str, Any] = {"enable.ssl.certificate.verification": not given.tls_skip_verify}
    if given.cert_authority:
        words["ssl.ca.pem"] = given.cert_authority
    if given.client_tls_cert:
        words["ssl.certificate.pem"] = given.client_tls_cert
        words["ssl.key.pem"] = given.client_tls_key.reveal()
    return words


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
