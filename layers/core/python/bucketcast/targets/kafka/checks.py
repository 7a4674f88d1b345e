"""What is wrong with the options together."""

import re
from collections.abc import Iterator

from bucketcast.options import REFERENCE, address
from bucketcast.targets.kafka.given import Given

Mistake = tuple[str, str, str]
LEVELS = {"gzip": 9, "lz4": 12, "zstd": 12}
"""The highest of each codec, as far as librdkafka takes them."""
_LAST_CLIENT_AUTH = 4
_topic = re.compile(r"(?!\.{1,2}\Z)[A-Za-z0-9._-]{1,249}")
_version = re.compile(r"0\.1[1-9]\.[0-9]+\.[0-9]+|[1-9][0-9]*\.[0-9]+\.[0-9]+")


def mistakes(given: Given) -> Iterator[Mistake]:
    """(key, what was found, what is allowed) for each mistake."""
    yield from _places(given)
    yield from _login(given)
    yield from _tls(given)
    yield from _compression(given)
    version, client_auth = given.version, given.tls_client_auth
    if version and not _is_reference(version) and not _version.fullmatch(version):
        yield "version", f"found {version!r}", "allowed is 0.11.0.0, 2.2.0 or the like, not older"
    if not _is_reference(client_auth) and client_auth > _LAST_CLIENT_AUTH:
        yield "tls_client_auth", f"found {client_auth}", f"allowed is 0 to {_LAST_CLIENT_AUTH}"


def _places(given: Given) -> Iterator[Mistake]:
    if not _is_reference(given.brokers):
        for broker in given.brokers or ("",):
            try:
                address(broker)
            except ValueError as error:
                yield "brokers", f"found {broker!r}", f"allowed is, for each, {error}"
    topic = given.topic
    if not _is_reference(topic) and not _topic.fullmatch(topic):
        allowed = "1 to 249 letters, digits, '.', '_' and '-', but not '.' or '..'"
        yield "topic", f"found {topic!r}", f"allowed are {allowed}"


def _login(given: Given) -> Iterator[Mistake]:
    if given.sasl and not given.sasl_username:
        yield "sasl_username", "missing", "sasl = on needs it"
    for key in ("sasl_username", "sasl_password"):
        if getattr(given, key) and not given.sasl:
            yield key, "given while sasl is off", "allowed is sasl = on beside it"


def _tls(given: Given) -> Iterator[Mistake]:
    pair = ("client_tls_cert", "client_tls_key")
    for key in ("cert_authority", *pair, "tls_skip_verify"):
        if getattr(given, key) and not given.tls:
            yield key, "given while tls is off", "allowed is tls = on beside it"
    if bool(given.client_tls_cert) != bool(given.client_tls_key):
        missing, beside = pair if given.client_tls_key else pair[::-1]
        yield missing, "missing", f"it is needed beside {beside}"


def _compression(given: Given) -> Iterator[Mistake]:
    codec, level = given.compression_codec, given.compression_level
    if level is None or _is_reference(level) or _is_reference(codec):
        return
    if codec not in LEVELS:
        allowed = f"compression_codec {codec} has no levels; {', '.join(LEVELS)} have"
        yield "compression_level", f"found {level}", allowed
    elif level > LEVELS[codec]:
        yield "compression_level", f"found {level}", f"{codec} has the levels 0 to {LEVELS[codec]}"


def _is_reference(value: object) -> bool:
    """Whether it is still the name of a secret, which is text whatever the option's type."""
    return isinstance(value, str) and value.startswith(REFERENCE)
