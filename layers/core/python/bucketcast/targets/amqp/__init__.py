"""AMQP 0-9-1, as RabbitMQ 3 and 4 speak it: an event is a message, published to an exchange.

A message holds MinIO's JSON body, `content-type` `application/json`, and the headers `minio-bucket`
and `minio-event`, as MinIO sends them; `message-id` is the same for every delivery of the same
event, so that a consumer can drop repeats. With `shape = cloudevents-binary` its attributes are
headers `cloudEvents_…`, named as for AMQP 1.0: CloudEvents has no rules for AMQP 0-9-1. Consumers
bind queues to the exchange: none is made here.

An event counts as delivered when the broker has confirmed its message, and not before: hundreds are
under way at once. With `ack = none` it counts as soon as it was sent, as with Ceph's
`amqp-ack-level`: what the broker answers then is not waited for. Else its answer decides:

=======================  =======================================================================
confirmed                delivered
returned (`mandatory`)   no queue took it: `Retryable`, the event waits until one is bound
refused                  `Retryable`: a queue is at its limit and rejects what comes
larger than it takes     `Rejected`, by the broker's `max_message_size`; its neighbours go on
no such exchange, other  `Retryable`, with what to change
properties of it
no right, wrong login    `NotAuthorized`
low on memory or disk    `Retryable`: what was sent is confirmed later, and then comes twice
no answer, broken off    `NotConnected`; what was not confirmed may have arrived all the same
=======================  =======================================================================

* `exchange_type` makes the exchange where it is absent, before each batch, with the properties
  given here; they must be those of an exchange that is there. Left empty, the exchange is taken
  as it is, and the user needs no right but to write.
* Without `exchange`, messages go to the queue named by `routing_key`.
* `mandatory` is `on` unless set, as in MinIO's guide; `off` lets go what no queue is bound for.
* `delivery_mode` 1 keeps messages in the broker's memory only. 2, and 0 for unset, let durable
  queues keep them over a restart of the broker.
* `internal` and `immediate` cannot be on: RabbitMQ takes no message for an internal exchange, and
  has had no immediate delivery since version 3.0.
* `publisher_confirms` is always on: `off` is accepted, and confirms are awaited all the same.

`url` is `amqp://user:password@host:port/virtual-host` (`amqps` for TLS), special characters in it
%-encoded; user and password are `guest` and the virtual host is `/` unless it says otherwise. With
`?auth_mechanism=external` the client certificate is the login. TLS is always verified, the host
name too, unless `tls_skip_verify` is on.

There is one connection for each running instance of the function. It is opened again when the
broker closed it or after five quiet minutes: a frozen function sends no heartbeats. Connecting
takes 10 s at most, a batch 30 s.

The user needs to `write` to the exchange and, where `exchange_type` is set, to `configure` it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import ClassVar, Literal

from bucketcast.errors import DeliveryError, NotAuthorized, Rejected
from bucketcast.event import Event
from bucketcast.options import LoginUrl, OnOff, option
from bucketcast.targets import base
from bucketcast.targets.amqp.address import Address, parse
from bucketcast.targets.amqp.confirms import Confirms
from bucketcast.targets.amqp.frames import Message
from bucketcast.targets.amqp.mistakes import mistakes
from bucketcast.targets.amqp.outcome import is_missing, largest_message, outcome
from bucketcast.targets.amqp.session import GOODBYE_SECONDS, BlockedError, ClosedError, Session
from bucketcast.targets.amqp.wire import CONNECT_SECONDS

PERSISTENT = 2
_BROKEN = (OSError, ClosedError)


@dataclass(frozen=True, kw_only=True)
class AmqpSettings(base.Common, base.Tls):
    """MinIO's `notify_amqp`, and TLS of our own."""

    url: LoginUrl = option(
        "the broker, a virtual host and the login",
        example="amqp://myuser:mypassword@localhost:5672",
    )
    exchange: str = option(
        "where events are published; empty, if routing_key is to name their queue",
        default="",
        example="bucketevents",
    )
    exchange_type: str = option(
        "direct, fanout, topic, headers or a plugin's: the exchange is made where it is absent; "
        "empty: it has to be there",
        default="",
        example="fanout",
    )
    routing_key: str = option("the routing key of every message", default="", example="bucketlogs")
    mandatory: OnOff = option(
        "on: an event that no queue takes waits until one is bound; off: it is let go",
        default="on",
    )
    durable: OnOff = option("whether the exchange survives the broker's restart", default="off")
    no_wait: OnOff = option(
        "ask the broker for no answer when the exchange is declared", default="off"
    )
    internal: OnOff = option(
        "only off: RabbitMQ refuses every message to an internal exchange", default="off"
    )
    auto_deleted: OnOff = option(
        "whether the exchange goes when its last queue is unbound", default="off"
    )
    delivery_mode: int = option(
        "how messages are kept: 1 in the broker's memory only, 2 by durable queues on disk; 0 is 2",
        default="0",
    )
    publisher_confirms: OnOff = option(
        "always on: an event counts as delivered when the broker has confirmed it",
        default="on",
        variable="PUBLISHING_CONFIRMS",
    )
    ack: Literal["broker", "none"] = option(
        "when an event counts as delivered: when the broker has confirmed it, or (none) when it "
        "was sent, whatever becomes of it",
        default="broker",
    )
    immediate: OnOff = option(
        "only off: RabbitMQ has no immediate delivery since version 3.0", default="off"
    )
    tls_skip_verify: OnOff = option(
        "take whatever certificate the broker shows; for tests only", default="off"
    )


class Target(base.Target):
    """One exchange; threads take turns at one connection."""

    arn_type: ClassVar[str] = "amqp"
    client: ClassVar[str] = "pika"
    attributes_prefix: ClassVar[str | None] = "cloudEvents_"
    Settings = AmqpSettings
    settings: AmqpSettings

    def __init__(self, settings: AmqpSettings) -> None:
        super().__init__(settings)
        self._session: Session | None = None
        self._lock = Lock()

    @classmethod
    def check(cls, settings: AmqpSettings) -> list[tuple[str, str, str]]:
        return [*mistakes(settings), *super().check(settings)]

    @classmethod
    def notes(cls, settings: AmqpSettings) -> list[str]:
        notes = super().notes(settings)
        if settings.publisher_confirms is False:
            notes.append("publisher_confirms = off does nothing here: confirms are always awaited")
        return notes

    @property
    def _waits(self) -> bool:
        return self.settings.ack != "none"

    @property
    def longest_send(self) -> float:
        return GOODBYE_SECONDS + 2 * CONNECT_SECONDS + self.patience + GOODBYE_SECONDS

    @property
    def where(self) -> str:
        given = self.settings
        goal = f"exchange {given.exchange}" if given.exchange else f"queue {given.routing_key}"
        try:
            return f"{parse(given.url)}, {goal}"
        except ValueError as error:
            return f"(url: allowed is {error})"

    def send(self, events: Sequence[Event]) -> base.Failures:
        failures: dict[int, DeliveryError] = {}
        if not events:
            return failures
        with self._lock:
            session = self._opened()
            confirms = Confirms(self.where, failures)
            try:
                messages = self._messages(events, failures)
                session.publish(messages, confirms, self.patience, wait=self._waits)
            except (BlockedError, *_BROKEN) as error:
                if not isinstance(error, BlockedError):
                    self._drop()
                self._fail(events, confirms, error)
        return failures

    def headers(self, event: Event) -> dict[str, str]:
        """The properties `content-type` and `message-id`, and the headers."""
        properties = {"content-type": self.shape.content_type, "message-id": event.id}
        return properties | self._own_headers(event)

    def probe(self) -> None:
        """Look for the exchange; one that is there is declared too, to see whether it fits."""
        given = self.settings
        with self._lock:
            session = self._opened()
            try:
                if given.exchange:
                    session.declare(passive=True)
                if given.exchange_type:
                    session.declare(passive=False)
            except BlockedError as error:
                raise outcome(error, self._address()) from None
            except _BROKEN as error:
                self._drop()
                if not (given.exchange_type and is_missing(error)):
                    raise outcome(error, self._address()) from None

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _opened(self) -> Session:
        """The connection, opened if there is none or the broker closed it meanwhile."""
        if self._session is not None and not self._session.still_open():
            self._drop()
        if self._session is None:
            address = self._address()
            try:
                self._session = Session(address, self.settings)
            except _BROKEN as error:
                raise outcome(error, address, opening=True) from None
        return self._session

    def _address(self) -> Address:
        try:
            return parse(self.settings.url)
        except ValueError as error:
            raise NotAuthorized(f"url: allowed is {error}") from None

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    def _messages(
        self, events: Sequence[Event], failures: dict[int, DeliveryError]
    ) -> Iterator[Message]:
        from pika import BasicProperties  # noqa: PLC0415 - only its own function carries it

        kept = self.settings.delivery_mode or PERSISTENT
        for place, event in enumerate(events):
            try:
                body = self.body(event)
            except UnicodeEncodeError as error:
                failures[place] = Rejected(f"its text is not Unicode: {error}")
                continue
            properties = BasicProperties(
                content_type=self.shape.content_type,
                headers=self._own_headers(event),
                delivery_mode=kept,
                message_id=event.id,
            )
            yield Message(place, properties, body)

    def _own_headers(self, event: Event) -> dict[str, str]:
        minios = {"minio-bucket": event.bucket, "minio-event": event.name}
        return minios | super().headers(event)

    def _fail(self, events: Sequence[Event], confirms: Confirms, error: Exception) -> None:
        """Say of each event that was not settled why."""
        reason = outcome(error, self._address())
        most = largest_message(error)
        for place, event in enumerate(events):
            if place in confirms.confirmed or place in confirms.failures:
                continue
            if most is not None and len(self.body(event)) > most:
                confirms.failures[place] = Rejected(str(reason))
            else:
                confirms.failures[place] = reason
