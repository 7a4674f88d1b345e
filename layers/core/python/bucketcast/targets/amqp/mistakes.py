"""What cannot be among the settings, though each option by itself may be right."""

from collections.abc import Iterator
from typing import Protocol

from bucketcast import tls
from bucketcast.options import REFERENCE, LoginUrl
from bucketcast.targets.amqp import frames
from bucketcast.targets.amqp.address import parse

LONGEST_NAME = 255
"""Bytes."""
DELIVERY_MODES = (0, 1, 2)
_NEVER = {
    "internal": "RabbitMQ refuses every message that is published to an internal exchange",
    "immediate": "RabbitMQ has none since 3.0; a queue with x-message-ttl = 0 does the same",
}


class Given(tls.Given, frames.Given, Protocol):
    """The target's options."""

    @property
    def url(self) -> LoginUrl: ...
    @property
    def internal(self) -> bool: ...
    @property
    def immediate(self) -> bool: ...
    @property
    def delivery_mode(self) -> int: ...


def mistakes(given: Given) -> Iterator[tuple[str, str, str]]:
    """(key, what was found, what is allowed) for each; references are not looked into."""
    yield from _of_the_url(given)
    for key in ("exchange", "routing_key"):
        text: str = getattr(given, key)
        if len(text.encode()) > LONGEST_NAME:
            yield key, f"found {len(text.encode())} bytes", f"at most {LONGEST_NAME} are allowed"
    if not given.exchange and not given.routing_key:
        yield "exchange", "missing", "it is needed, or routing_key, as the name of a queue"
    if given.exchange_type and not given.exchange:
        yield "exchange_type", "given without exchange", "name the exchange that is to be made"
    for key in ("durable", "no_wait", "auto_deleted"):
        if getattr(given, key) and not given.exchange_type:
            yield key, "on without exchange_type", "nothing is declared then: set both or neither"
    for key, why in _NEVER.items():
        if getattr(given, key) is True:
            yield key, "found on", f"only off is allowed: {why}"
    if isinstance(given.delivery_mode, int) and given.delivery_mode not in DELIVERY_MODES:
        yield "delivery_mode", f"found {given.delivery_mode}", "allowed are 0, 1 and 2"


def _of_the_url(given: Given) -> Iterator[tuple[str, str, str]]:
    if given.url.reveal().startswith(REFERENCE):
        return
    try:
        address = parse(given.url)
    except ValueError as error:
        yield "url", "found ***", f"allowed is {error}"
        return
    if not address.encrypted:
        for key in ("cert_authority", "client_cert", "client_key", "tls_skip_verify"):
            if getattr(given, key):
                yield key, "given beside an amqp:// url", "allowed is an amqps:// url beside it"
    if address.external and not given.client_cert:
        yield "client_cert", "missing", "it is the login with ?auth_mechanism=external"
