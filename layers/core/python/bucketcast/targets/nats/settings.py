"""The options of `notify_nats`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bucketcast.settings.options import option
from bucketcast.settings.types import Address, OnOff, Seconds, Secret, SecretPem, SecretSeed
from bucketcast.targets.base import Endpoint, options

STREAMING_KEYS = (
    "streaming_cluster_id",
    "streaming_async",
    "streaming_max_pub_acks_in_flight",
)
STREAMING_IN_FLIGHT = 500
_SUBJECT = re.compile(r"[^\s.*>]+(\.[^\s.*>]+)*")
LOGINS = ("username", "token", "nkey_seed", "user_credentials")
"""Options of which at most one is given: a server that knows several accepts any of them."""
SEED = re.compile(r"\bSU[A-Z2-7]{56}\b")
_JWT = re.compile(r"-----BEGIN NATS USER JWT-----\s+(\S+)\s")
_CLUSTER = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, kw_only=True)
class NatsSettings(options.Common, options.TlsSwitched):
    """MinIO's options of `notify_nats`."""

    address: Address = option("the server; the default port is 4222", example="localhost:4222")
    subject: str = option("where events are published", example="bucketevents")
    username: str = option("the user to log in as", default="")
    password: Secret = option("the password of username", default="")
    token: Secret = option("the token to log in with", default="")
    nkey_seed: SecretSeed = option(
        "the seed of the user's NKEY, or the path of its file", default=""
    )
    user_credentials: SecretPem = option(
        "the content of the user's creds file (a JWT and its seed), or its path", default=""
    )
    tls_handshake_first: OnOff = option(
        "start TLS before the server's INFO, as its handshake_first requires", default="off"
    )
    ping_interval: Seconds = option(
        "how often the server is pinged while a confirmation is awaited; after two missed pings "
        "the connection is dropped; 0 for never",
        default="0",
        example="10s",
    )
    jetstream: OnOff = option("whether a stream acknowledges each message", default="off")
    jetstream_domain: str = option(
        "the domain of the stream, if it is not the server's own", default="", example="hub"
    )
    streaming: OnOff = option("whether the server is a NATS Streaming server", default="off")
    streaming_enable: OnOff = option("the same as streaming, as in MinIO's guide", default="off")
    streaming_cluster_id: str = option(
        "the cluster's id, needed for streaming", default="", example="test-cluster"
    )
    streaming_async: OnOff = option(
        "whether messages are sent before the previous one is acknowledged", default="off"
    )
    streaming_max_pub_acks_in_flight: int = option(
        f"how many of them at a time; 0 for {STREAMING_IN_FLIGHT}", default="0", example="10"
    )

    @property
    def encrypted(self) -> bool:
        """True if one of these options is given, as in MinIO."""
        return bool(self.tls or self.tls_handshake_first or self.cert_authority or self.client_cert)

    @property
    def streams(self) -> bool:
        return bool(self.streaming or self.streaming_enable)

    @property
    def server(self) -> Endpoint:
        return Endpoint.of(self.address, 4222)

    def validation_errors(self) -> Iterator[options.ValidationError]:
        yield from options.tls_errors(self, encrypted=self.encrypted)
        yield from _login_errors(self)
        yield from _option_errors(self)

    def notes(self) -> Iterator[str]:
        if self.streams:
            yield (
                "NATS Streaming has had no support since June 2023: set jetstream = on instead of "
                "streaming, with a stream that has the subject (docs/targets/nats.md says how)"
            )
            if self.streaming_max_pub_acks_in_flight and not self.streaming_async:
                yield "streaming_max_pub_acks_in_flight does nothing without streaming_async = on"
        elif unused := [key for key in STREAMING_KEYS if getattr(self, key)]:
            yield f"{', '.join(unused)}: without streaming = on they do nothing"


def parse_credentials(creds_file: str) -> tuple[str, str]:
    """Return the JWT and the seed in the content of a creds file.

    Raises:
        ValueError: one of them is missing.
    """
    jwt, seed = _JWT.search(creds_file), SEED.search(creds_file)
    if not jwt or not seed:
        raise ValueError("a creds file: a user's JWT and the seed of the NKEY that it is for")
    return jwt[1], seed[0]


def _login_errors(settings: NatsSettings) -> Iterator[options.ValidationError]:
    logins = [key for key in LOGINS if getattr(settings, key)]
    for key in logins[1:]:
        yield key, f"given beside {logins[0]}", "allowed is one way to log in"
    yield from options.pair_errors(settings, "username", "password")
    yield from options.secret_errors(settings, "user_credentials", parse_credentials)


def _option_errors(settings: NatsSettings) -> Iterator[options.ValidationError]:
    for key, form, allowed in (
        ("subject", _SUBJECT, "words joined by dots, without spaces and the wildcards * and >"),
        ("jetstream_domain", _CLUSTER, "A-Z, a-z, 0-9, '_' and '-'"),
        ("streaming_cluster_id", _CLUSTER, "A-Z, a-z, 0-9, '_' and '-'"),
    ):
        value = getattr(settings, key)
        if value and not options.is_reference(value) and not form.fullmatch(value):
            yield key, f"found {value!r}", f"allowed is {allowed}"
    if settings.streams and not settings.streaming_cluster_id:
        yield "streaming_cluster_id", "missing", "streaming needs the id of the server's cluster"
    if settings.streams and settings.shape == "cloudevents-binary":
        allowed = "allowed is cloudevents, which needs none"
        yield "shape", f"found '{settings.shape}', which needs headers", allowed
    if settings.streams and settings.jetstream:
        yield (
            "jetstream",
            "found on beside streaming",
            "allowed is one of them: they are different servers",
        )
