"""The target's options as librdkafka's clients take them."""

from collections.abc import Callable
from typing import Any, TypeVar

from bucketcast import __version__
from bucketcast.errors import NotAuthorized
from bucketcast.targets.base import CONNECT_SECONDS
from bucketcast.targets.kafka import iam
from bucketcast.targets.kafka.errors import unusable
from bucketcast.targets.kafka.health import BrokerHealth
from bucketcast.targets.kafka.settings import KafkaSettings

LARGEST_EVENT = 64 * 1024 * 1024
"""Bytes of a body; by default brokers take no request of more than 100 MiB."""
T = TypeVar("T")
_MECHANISMS = {"plain": "PLAIN", "sha256": "SCRAM-SHA-256", "sha512": "SCRAM-SHA-512"}


def started(
    made: Callable[[dict[str, Any]], T], options: dict[str, Any], health: BrokerHealth
) -> T:
    """Return a client of this configuration; what it reports of the brokers goes to `health`.

    Raises:
        NotConnected: it cannot be made with these options.
    """
    from confluent_kafka import KafkaException  # noqa: PLC0415 - see targets.base

    if sign := options.get("oauth_cb"):
        sign()  # librdkafka hides why it fails, and waits for 10 s
    if options.get("sasl.password") == "":
        raise NotAuthorized(f"{health.where}: sasl_password is missing, and sasl is on")
    try:
        return made({**options, "error_cb": health.hear})
    except KafkaException as error:
        raise unusable(error, health.where) from None


def configuration(settings: KafkaSettings, timeout: float, batch_bytes: int) -> dict[str, Any]:
    """Return a producer's configuration.

    `timeout` is the longest that a batch may take, in seconds; `batch_bytes` is how much goes to
    the brokers as one.
    """
    logs_in = settings.by_iam or settings.sasl
    protocol = "SASL_" * logs_in + ("SSL" if settings.tls else "PLAINTEXT")
    options: dict[str, Any] = {
        "bootstrap.servers": ",".join(settings.brokers),
        "security.protocol": protocol,
        "client.id": f"bucketcast-{__version__}",
        "acks": 0 if settings.ack == "none" else "all",
        "enable.idempotence": settings.ack != "none",
        "partitioner": "fnv1a",
        "batch.size": batch_bytes,
        "linger.ms": 1000,  # it is sent when it is full, or as soon as somebody waits for the end
        # With what stands around a body.
        "message.max.bytes": LARGEST_EVENT + 1024 * 1024,
        "compression.codec": settings.compression_codec,
        # Whoever waits for the batch gives it up first, and takes it back.
        "message.timeout.ms": _ms(timeout) + 60_000,
        # A connection that died unseen is given up early enough to send again over another.
        "socket.timeout.ms": _ms(timeout / 3),
        "request.timeout.ms": _ms(timeout / 3),
        "socket.keepalive.enable": True,
        "socket.connection.setup.timeout.ms": _ms(CONNECT_SECONDS),
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 500,
        # So long a new topic may be unknown to some broker.
        "topic.metadata.propagation.max.ms": _ms(timeout / 10),
        "delivery.report.only.error": True,
        "log_level": 0,  # else it prints: what there is to say it also tells us
    }
    if settings.compression_level is not None:
        options["compression.level"] = settings.compression_level
    return options | _login(settings) | (_tls(settings) if settings.tls else {})


def _login(settings: KafkaSettings) -> dict[str, Any]:
    if settings.by_iam:
        return {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": iam.Tokens(settings)}
    if not settings.sasl:
        return {}
    mechanism = settings.sasl_mechanism
    return {
        "sasl.mechanism": _MECHANISMS.get(mechanism, mechanism.upper()),
        "sasl.username": settings.sasl_username,
        "sasl.password": settings.sasl_password.reveal(),
    }


def _tls(settings: KafkaSettings) -> dict[str, Any]:
    options: dict[str, Any] = {"enable.ssl.certificate.verification": not settings.tls_skip_verify}
    if settings.cert_authority:
        options["ssl.ca.pem"] = settings.cert_authority
    if settings.client_tls_cert:
        options["ssl.certificate.pem"] = settings.client_tls_cert
        options["ssl.key.pem"] = settings.client_tls_key.reveal()
    return options


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
