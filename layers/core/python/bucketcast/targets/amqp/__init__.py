"""AMQP 0-9-1, as in RabbitMQ 3 and 4: each event is a message that is published to an exchange.

A message has MinIO's JSON body, `content-type` `application/json`, and MinIO's headers
`minio-bucket` and `minio-event`. `message-id` is the same for every delivery of an event, so that
consumers can drop duplicates. With `shape = cloudevents-binary`, the attributes are headers
`cloudEvents_…`, named as for AMQP 1.0, because CloudEvents defines no binding for AMQP 0-9-1.
Consumers bind queues to the exchange; the target creates none.

An event is delivered when the broker has confirmed its message; hundreds are sent before the first
confirm. With `ack = none`, as with Ceph's `amqp-ack-level`, it is delivered when it was sent.

Unconfirmed messages of a broken connection are sent again, and may arrive twice.

The options:

* `url` is `amqp://user:password@host:port/virtual-host` (`amqps` for TLS), percent-encoded. The
  default user and password are `guest`, the default virtual host is `/`. With
  `?auth_mechanism=external` the client certificate is the login. The server's certificate and host
  name are verified, unless `tls_skip_verify` is on.
* `exchange_type` declares the exchange before each batch, with the properties given here, which
  must match an existing exchange. If it is empty, the exchange must exist.
* Without `exchange`, messages go to the queue named by `routing_key`.
* With `mandatory = off`, messages that match no queue are dropped.
* `delivery_mode` 1 makes messages transient. With 2, or 0 for unset, durable queues keep them when
  the broker restarts.

Each running instance of the function has one connection, which is reopened if the broker closed it,
and after five idle minutes, because a frozen function sends no heartbeats. Connecting takes at most
10 s, a batch 30 s.

The user needs the permission `write` on the exchange, and `configure` if `exchange_type` is set.
"""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from bucketcast.errors import DeliveryError, NotAuthorized, Retryable
from bucketcast.event import Event
from bucketcast.targets import base
from bucketcast.targets.amqp.address import Address, parse
from bucketcast.targets.amqp.answers import ANSWERS
from bucketcast.targets.amqp.batch import Confirms
from bucketcast.targets.amqp.client import CLOSE_SECONDS, BlockedError, Client
from bucketcast.targets.amqp.protocol import Message, encode_properties
from bucketcast.targets.amqp.settings import AmqpSettings
from bucketcast.targets.base import options, tls
from bucketcast.targets.base.answers import TooLargeError

PERSISTENT = 2
_too_large = re.compile(r"message size \d+ .*max size (\d+)").search


class Target(base.Connected[Client]):
    """One exchange; threads take turns at one connection."""

    arn_type: ClassVar[str] = "amqp"
    client: ClassVar[str] = "pika"
    answers = ANSWERS
    attributes_prefix: ClassVar[str | None] = "cloudEvents_"
    Settings = AmqpSettings
    settings: AmqpSettings

    @property
    def max_send_seconds(self) -> float:
        return CLOSE_SECONDS + 2 * base.CONNECT_SECONDS + self.timeout + CLOSE_SECONDS

    @property
    def where(self) -> str:
        settings = self.settings
        destination = (
            f"exchange {settings.exchange}"
            if settings.exchange
            else f"queue {settings.routing_key}"
        )
        try:
            return f"{self._address()}, {destination}"
        except NotAuthorized as error:
            return f"({error})"

    def send(self, events: Sequence[Event]) -> base.Failures:
        confirms = Confirms(self.where, len(events))
        if not events:
            return confirms.failures
        with self._connection() as client:
            try:
                messages = self._messages(events)
                waits = self.settings.ack != "none"
                client.publish(messages, confirms, self.timeout, wait=waits)
            except self._raised() as error:
                self._fail(events, confirms, error)
                if not isinstance(error, BlockedError):  # which leaves the connection usable
                    self._drop()
        return confirms.failures

    def headers(self, event: Event) -> dict[str, str]:
        """Return the properties `content-type` and `message-id`, and the headers."""
        properties = {"content-type": self.shape.content_type, "message-id": event.id}
        return properties | self._own_headers(event)

    def endpoints(self) -> list[base.Endpoint]:
        address = self._address()
        context = tls.context(self.settings) if address.encrypted else None
        return [base.Endpoint(address.host, address.port, context)]

    def probe(self) -> None:
        """Check that the exchange exists; with `exchange_type`, that its properties match."""
        settings, blocked = self.settings, None
        try:
            with self._connection() as client:
                try:
                    if settings.exchange:
                        client.declare(passive=True)
                    if settings.exchange_type:
                        client.declare(passive=False)
                except BlockedError as error:  # keep the connection, which knows that it is blocked
                    blocked = error
        except DeliveryError as error:
            if not (settings.exchange_type and "no exchange" in str(error)):  # sending makes it
                raise
        if blocked:
            raise self._answer(blocked)

    def _connect(self) -> Client:
        return Client(self._address(), self.settings)

    def _address(self) -> Address:
        return options.parsed(self.settings, "url", parse)

    def _messages(self, events: Sequence[Event]) -> Iterator[Message]:
        content_type = self.shape.content_type
        delivery_mode = self.settings.delivery_mode or PERSISTENT
        for index, event in enumerate(events):
            headers = tuple(self._own_headers(event).items())
            id_ = event.id
            properties = encode_properties(content_type, delivery_mode, headers)
            with_id = b"%b%c%b" % (properties, len(id_), id_.encode())
            yield Message(index, id_, with_id, self.shape.message(event))

    def _own_headers(self, event: Event) -> dict[str, str]:
        minio_headers = {"minio-bucket": event.bucket, "minio-event": event.name}
        return minio_headers | super().headers(event)

    def _fail(self, events: Sequence[Event], confirms: Confirms, error: BaseException) -> None:
        """Fail the unconfirmed events; only those above the broker's limit are too large.

        Raises:
            TooLargeError: none is confirmed, and the limit is not known.
        """
        reason, match = self._answer(error), _too_large(str(error))
        is_too_large = isinstance(reason, TooLargeError)
        if is_too_large and not match and len(confirms.unconfirmed) == len(events):
            raise reason
        others = Retryable(str(reason)) if is_too_large else reason
        for index in list(confirms.unconfirmed):
            above = match and len(self.body(events[index])) > int(match[1])
            confirms.settle(index, reason if above else others)
