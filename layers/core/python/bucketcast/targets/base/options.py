"""The options that kinds share, and the checks that go with them.

Nobody prints or compares a part of settings, so it has no methods for that: each start would wait
for them to be made.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from bucketcast import shapes
from bucketcast.errors import NotAuthorized
from bucketcast.rules.conditions import FACTS, Fact, facts_of
from bucketcast.settings.options import option, options_of, unused
from bucketcast.settings.types import REFERENCE, Csv, OnOff, Pem, SecretPem, choice

T = TypeVar("T")
ValidationError = tuple[str, str, str]
"""The key, what was found, what is allowed."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Shaped:
    """The options of the payload format; MinIO only has its own."""

    shape: shapes.Name = option(
        "the payload: MinIO's, a record of Amazon S3 or Ceph RGW, or a CloudEvent, whole or binary",
        default="minio",
    )
    opaque_data: str = option(
        "opaqueData of Ceph's records; with shape = ceph", default="", example="team-a"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Common(Shaped):
    """The options that every kind has in MinIO, and how events are written."""

    enable: OnOff = option("off pauses the target: its events wait", default="on")
    comment: str = option("a note for readers of the configuration", default="")
    queue_dir: str = unused("the target's SQS queue stores waiting events", default="")
    queue_limit: int = unused("the target's SQS queue takes any number of events", default="0")
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


def example_of(settings: Any, key: str) -> str:
    return options_of(settings.__class__)[key].example


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


def parsed(settings: Any, key: str, parse: Callable[[str], T], allowed: str = "allowed is") -> T:
    """Return what a secret means, which `secret_errors` checked unless it was a reference.

    Raises:
        NotAuthorized: it means nothing.
    """
    try:
        return parse(getattr(settings, key).reveal())
    except ValueError as error:
        raise NotAuthorized(f"{key}: {allowed} {error}") from None


def facts_in(settings: Mapping[str, str]) -> Fact:
    """Return the facts that a target's valid settings ask for."""
    names: Csv = options_of(Common)["facts"].parse(settings.get("facts", ""))
    return facts_of(names)


@dataclass(frozen=True, kw_only=True)
class Tls:
    """The options of a verified connection; PEM text, or the path of a file at deploy."""

    cert_authority: Pem = option("the CA that signed the server's certificate", default="")
    client_cert: Pem = option("this client's certificate, for mutual TLS", default="")
    client_key: SecretPem = option("the private key of client_cert", default="")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TlsUnverified(Tls):
    """TLS whose verification can be switched off."""

    tls_skip_verify: OnOff = option(
        "accept any certificate of the server; for tests only", default="off"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
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
    yield from pair_errors(settings, *pair)


def pair_errors(settings: Any, *pair: str) -> Iterator[ValidationError]:
    """Yield an error if only one of two options is given."""
    given = [key for key in pair if getattr(settings, key)]
    if len(given) == 1:
        (missing,) = {*pair} - {*given}
        yield missing, "missing", f"it is needed beside {given[0]}"
