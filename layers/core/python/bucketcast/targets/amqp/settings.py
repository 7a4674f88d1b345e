"""The options of `notify_amqp`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bucketcast.settings.options import Limits, option
from bucketcast.settings.types import LoginUrl, OnOff
from bucketcast.targets.amqp.address import parse
from bucketcast.targets.base import options

MAX_NAME = 255
"""Bytes."""
_NEVER = {
    "internal": "RabbitMQ refuses every message that is published to an internal exchange",
    "immediate": "RabbitMQ has none since 3.0; a queue with x-message-ttl = 0 does the same",
}


@dataclass(frozen=True, kw_only=True)
class AmqpSettings(options.Common, options.TlsUnverified):
    """MinIO's options of `notify_amqp`, plus those for TLS."""

    url: LoginUrl = option(
        "the broker, a virtual host and the login",
        example="amqp://myuser:mypassword@localhost:5672",
    )
    exchange: str = option(
        "where events are published; empty to send to the queue named by routing_key",
        default="",
        example="bucketevents",
    )
    exchange_type: str = option(
        "the type to declare the exchange with: direct, fanout, topic, headers or a plugin's; "
        "empty: it must exist",
        default="",
        example="fanout",
        suggested=True,
    )
    routing_key: str = option("the routing key of every message", default="", example="bucketlogs")
    mandatory: OnOff = option(
        "on: an unroutable event waits until a queue is bound; off: it is dropped",
        default="on",
    )
    durable: OnOff = option("whether the exchange survives the broker's restart", default="off")
    no_wait: OnOff = option(
        "declare the exchange without waiting for the broker's answer", default="off"
    )
    internal: OnOff = option(
        "only off: RabbitMQ refuses every message to an internal exchange", default="off"
    )
    auto_deleted: OnOff = option(
        "whether the exchange is deleted when its last queue is unbound", default="off"
    )
    delivery_mode: int = option(
        "transient (1) or persistent (2), stored on disk by durable queues; 0 is 2",
        default="0",
        limits=Limits("0", "2"),
    )
    publisher_confirms: OnOff = option(
        "always on: an event counts as delivered when the broker has confirmed it",
        default="on",
        variable="PUBLISHING_CONFIRMS",
    )
    ack: Literal["broker", "none"] = option(
        "when an event counts as delivered: broker: when the broker has confirmed it; none: when "
        "it was sent",
        default="broker",
    )
    immediate: OnOff = option(
        "only off: RabbitMQ has no immediate delivery since version 3.0", default="off"
    )

    def validation_errors(self) -> Iterator[options.ValidationError]:
        yield from _url_errors(self)
        for key in ("exchange", "routing_key"):
            size = len(getattr(self, key).encode())
            if size > MAX_NAME:
                yield key, f"found {size} bytes", f"at most {MAX_NAME} are allowed"
        if not self.exchange and not self.routing_key:
            yield "exchange", "missing", "it is needed, or routing_key as the name of a queue"
        if self.exchange_type and not self.exchange:
            yield "exchange_type", "given without exchange", "name the exchange to declare"
        for key in ("durable", "no_wait", "auto_deleted"):
            if getattr(self, key) and not self.exchange_type:
                allowed = "nothing is declared then: set both or neither"
                yield key, "on without exchange_type", allowed
        for key, reason in _NEVER.items():
            if getattr(self, key) is True:
                yield key, "found on", f"only off is allowed: {reason}"

    def notes(self) -> Iterator[str]:
        if self.publisher_confirms is False:
            yield "publisher_confirms = off does nothing here: confirms are always awaited"


def _url_errors(settings: AmqpSettings) -> Iterator[options.ValidationError]:
    url = settings.url.reveal()
    if options.is_reference(url):
        return
    try:
        address = parse(url)
    except ValueError as error:
        yield "url", "found ***", f"allowed is {error}"
        return
    yield from options.tls_errors(
        settings,
        encrypted=address.encrypted,
        problem="given beside an amqp:// url",
        allowed="allowed is an amqps:// url beside it",
    )
    if address.external and not settings.client_cert:
        yield "client_cert", "missing", "it is the login with ?auth_mechanism=external"
