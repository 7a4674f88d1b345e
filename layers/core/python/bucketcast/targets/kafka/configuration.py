"""The target's options as those of librdkafka's clients, with tokens for `auth = iam`.

Source of the tokens: "IAM access control" of the developer guide of MSK and MSK Serverless, for
clients with SASL OAUTHBEARER.
"""

import re
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from tempfile import NamedTemporaryFile
from typing import Any, TypeVar

from bucketcast import __version__
from bucketcast.aws import iam_login
from bucketcast.errors import NotAuthorized, NotConnected
from bucketcast.targets.base import CONNECT_SECONDS, Endpoint, connecting, tls
from bucketcast.targets.kafka.errors import BrokerHealth
from bucketcast.targets.kafka.settings import KafkaSettings

LARGEST_MESSAGE = 65 * 1024 * 1024
"""Bytes: more than any event takes, and less than brokers take in one request by default."""
T = TypeVar("T")
_MECHANISMS = {"plain": "PLAIN", "sha256": "SCRAM-SHA-256", "sha512": "SCRAM-SHA-512"}
_creation_prefix = re.compile(r"^Failed to create [a-z ]+: ")
_TOKEN_QUERY = {"Action": "kafka-cluster:Connect"}


class TokenProvider:
    """Creates tokens when librdkafka's thread calls it: first, and at 80 % of a token's lifetime.

    The thread stops while a function is frozen, so the last token may be `expired`.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._expires = 0.0

    @property
    def expired(self) -> bool:
        return time.time() > self._expires

    def __call__(self, _: str = "") -> tuple[str, float]:
        """Return a token for all clusters of the region, and its expiry in Unix seconds.

        Raises:
            NotAuthorized: there are no credentials to sign with.
        """
        region = self._settings.iam_parts["region"]
        suffix = ".cn" if region.startswith("cn-") else ""
        host = f"kafka.{region}.amazonaws.com{suffix}"
        token = iam_login.token("kafka-cluster", region, host, _TOKEN_QUERY)
        self._expires = token.expires
        # MSK's statistics use the user agent, which the signature does not cover.
        url = f"https://{token.text.reveal()}&User-Agent=bucketcast%2F{__version__}"
        return urlsafe_b64encode(url.encode()).decode().rstrip("="), token.expires


def create_client(
    client_class: Callable[[dict[str, Any]], T], options: dict[str, Any], health: BrokerHealth
) -> T:
    """Return a client with these options, which reports its errors to `health`.

    Raises:
        NotConnected: librdkafka refuses an option, or the stack a broker's address.
        NotAuthorized: the password or the credentials for `auth = iam` are missing.
    """
    from confluent_kafka import KafkaException  # noqa: PLC0415 - see targets.base

    if create_token := options.get("oauth_cb"):
        create_token()  # for its error, which librdkafka hides, and waits for 10 s
    deadline = time.monotonic() + CONNECT_SECONDS
    for broker in options["bootstrap.servers"].split(","):
        server = Endpoint.of(broker, 9092)
        try:
            connecting.require_allowed(server.host, server.port, deadline)
        except OSError as error:
            raise NotConnected(f"{health.where}: {error}") from None
    if options.get("sasl.password") == "":
        raise NotAuthorized(f"{health.where}: sasl_password is missing, and sasl is on")
    with NamedTemporaryFile("w") as file:
        if authority := options.pop("ssl.ca.pem", ""):
            file.write(tls.trusted(authority))
            file.flush()
            options["ssl.ca.location"] = file.name
        try:
            return client_class({**options, "error_cb": health.record})
        except KafkaException as error:
            message = _creation_prefix.sub("", error.args[0].str())
            if message.startswith(("ssl.", "failed to read")):
                certificates = "cert_authority, client_tls_cert or client_tls_key"
                message = f"{certificates} cannot be used: {message}"
            raise NotConnected(f"{health.where}: {message}") from None


def configuration(settings: KafkaSettings, timeout: float, batch_bytes: int) -> dict[str, Any]:
    """Return a producer's configuration.

    `timeout` is the time limit of a batch in seconds; `batch_bytes` is the size of a batch for the
    brokers.
    """
    with_login = settings.by_iam or settings.sasl
    protocol = "SASL_" * with_login + ("SSL" if settings.tls else "PLAINTEXT")
    options: dict[str, Any] = {
        "bootstrap.servers": ",".join(settings.brokers),
        "security.protocol": protocol,
        "client.id": f"bucketcast-{__version__}",
        "acks": 0 if settings.ack == "none" else "all",
        "enable.idempotence": settings.ack != "none",
        "partitioner": "fnv1a",
        "batch.size": batch_bytes,
        "linger.ms": 1000,  # a batch is sent when it is full, or when `flush` is called
        "message.max.bytes": LARGEST_MESSAGE,
        "compression.codec": settings.compression_codec,
        # The caller's time limit comes first, and withdraws the batch.
        "message.timeout.ms": _ms(timeout) + 60_000,
        # A dead connection is dropped early enough to send again over another.
        "socket.timeout.ms": _ms(timeout / 3),
        "request.timeout.ms": _ms(timeout / 3),
        "socket.keepalive.enable": True,
        "socket.connection.setup.timeout.ms": _ms(CONNECT_SECONDS),
        "reconnect.backoff.ms": 20,
        "reconnect.backoff.max.ms": 500,
        # A broker may not know a new topic for this long.
        "topic.metadata.propagation.max.ms": _ms(timeout / 10),
        "delivery.report.only.error": True,
        "log_level": 0,  # nothing is printed; errors arrive by `error_cb`
    }
    if settings.compression_level is not None:
        options["compression.level"] = settings.compression_level
    return options | _login(settings) | (_tls(settings) if settings.tls else {})


def _login(settings: KafkaSettings) -> dict[str, Any]:
    if settings.by_iam:
        return {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": TokenProvider(settings)}
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
