"""The options that kinds share, and the checks that go with them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from bucketcast import shapes
from bucketcast.limits import QUEUE_LIMIT_MESSAGES
from bucketcast.rules.conditions import FACTS, Fact, facts_of
from bucketcast.settings.options import option, options_of, unused
from bucketcast.settings.types import REFERENCE, Csv, OnOff, Pem, SecretPem, choice

ValidationError = tuple[str, str, str]
"""The key, what was found, what is allowed."""
DISCARD: Final = "discard"


@dataclass(frozen=True, kw_only=True)
class Shaped:
    """The options of the payload format; MinIO only has its own."""

    shape: shapes.Name = option(
        "the payload: MinIO's, a record of Amazon S3 or Ceph RGW, or a CloudEvent, whole or binary",
        default="minio",
    )
    opaque_data: str = option(
        "opaqueData of Ceph's records; with shape = ceph", default="", example="team-a"
    )


@dataclass(frozen=True, kw_only=True)
class Common(Shaped):
    """The options that every kind has in MinIO, and how events are written."""

    enable: OnOff = option("off pauses the target: its events wait", default="on")
    comment: str = option("a note for readers of the configuration", default="")
    queue_dir: str = unused("the target's SQS queue stores waiting events", default="")
    queue_limit: int = option(
        "with queue_overflow = discard, how many messages wait; 0 is 100,000",
        default="0",
        example="100000",
    )
    queue_overflow: Literal["keep", "discard"] = option(
        "discard: drop and count new events while about queue_limit messages wait",
        default="keep",
    )
    facts: Csv = option(
        "what every record has: metadata (with content type), tags; needs object_facts",
        default="",
        example="metadata,tags",
        parse=choice(FACTS),
    )

    def validation_errors(self) -> Iterator[ValidationError]:
        """Yield the errors in combinations of options; references are not resolved yet."""
        return iter(())

    def notes(self) -> Iterator[str]:
        """Yield notes for the user about valid settings."""
        return iter(())


def is_reference(value: object) -> bool:
    """Return True if the value is still a reference to a secret, whatever the option's type."""
    return isinstance(value, str) and value.startswith(REFERENCE)


def reference_errors(settings: Any, *keys: str) -> Iterator[ValidationError]:
    """Yield an error for each of these options that is a reference; secrets are not read here."""
    for key in keys:
        if is_reference(getattr(settings, key)):
            yield key, "found a reference to a secret", "allowed is the text itself"


def secret_errors(
    settings: Any, key: str, parse: Callable[[str], object], allowed: str = "allowed is"
) -> Iterator[ValidationError]:
    """Yield the error that `parse` raises for a secret; none for a reference or no value."""
    value = getattr(settings, key).reveal()
    if value and not is_reference(value):
        try:
            parse(value)
        except ValueError as error:
            yield key, "found ***", f"{allowed} {error}"


def ingest_errors(settings: Common) -> Iterator[ValidationError]:
    """Yield the errors in the options for ingest, which reads no secrets."""
    return reference_errors(settings, "queue_limit", "queue_overflow", "facts")


def limit_notes(settings: Common) -> Iterator[str]:
    """Yield a note if events may be discarded, or if a limit has no effect."""
    if settings.queue_overflow == DISCARD:
        limit = settings.queue_limit or QUEUE_LIMIT_MESSAGES
        yield f"queue_overflow = discard: while {limit:,} messages wait, new events are discarded"
    elif settings.queue_limit:
        yield "queue_limit does nothing without queue_overflow = discard: no event is discarded"


def facts_in(settings: Mapping[str, str]) -> Fact:
    """Return the facts that a target's valid settings ask for."""
    names: Csv = options_of(Common)["facts"].parse(settings.get("facts", ""))
    return facts_of(names)


def queue_limit_of(settings: Mapping[str, str]) -> int | None:
    """Return the limit that a target's valid settings set; None for none."""
    if settings.get("queue_overflow", "").lower() != DISCARD:
        return None
    return int(settings.get("queue_limit") or 0) or QUEUE_LIMIT_MESSAGES


@dataclass(frozen=True, kw_only=True)
class Tls:
    """The options of a verified connection; PEM text, or the path of a file at deploy."""

    cert_authority: Pem = option("the CA that signed the server's certificate", default="")
    client_cert: Pem = option("this client's certificate, for mutual TLS", default="")
    client_key: SecretPem = option("the private key of client_cert", default="")


@dataclass(frozen=True, kw_only=True)
class TlsUnverified(Tls):
    """TLS whose verification can be switched off."""

    tls_skip_verify: OnOff = option(
        "accept any certificate of the server; for tests only", default="off"
    )


@dataclass(frozen=True, kw_only=True)
class TlsSwitched(TlsUnverified):
    """TLS that `tls` switches on."""

    tls: OnOff = option("encrypt the connection", default="off")


def tls_errors(
    settings: Any,
    *,
    encrypted: bool = True,
    problem: str = "given while tls is off",
    allowed: str = "allowed is tls = on beside it",
    tls_only: tuple[str, ...] = ("cert_authority", "tls_skip_verify"),
    pair: tuple[str, str] = ("client_cert", "client_key"),
) -> Iterator[ValidationError]:
    """Yield errors for a certificate without its key, and for TLS options without TLS."""
    if not encrypted:
        for key in (*tls_only, *pair):
            if getattr(settings, key):
                yield key, problem, allowed
    if bool(getattr(settings, pair[0])) != bool(getattr(settings, pair[1])):
        missing, beside = pair if getattr(settings, pair[1]) else pair[::-1]
        yield missing, "missing", f"it is needed beside {beside}"


def login_errors(settings: Any) -> Iterator[ValidationError]:
    """Yield an error if only one of user name and password is given."""
    if bool(settings.username) != bool(settings.password):
        keys = ("password", "username")
        missing, beside = keys if settings.username else keys[::-1]
        yield missing, "missing", f"it is needed beside {beside}"
