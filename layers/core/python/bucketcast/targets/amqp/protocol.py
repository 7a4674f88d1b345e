"""Frames of AMQP 0-9-1, which pika encodes and decodes."""

import struct
from typing import Any, NamedTuple

from bucketcast.targets.amqp.settings import AmqpSettings
from bucketcast.targets.base.sockets import DeadlineSocket

CHANNEL = 1
_AROUND = 8
"""Bytes of a frame that are not what it carries."""


class Message(NamedTuple):
    """`position` is that in the batch, `properties` are pika's."""

    position: int
    properties: Any
    body: bytes


class Frames:
    """Makes them for one exchange and routing key; `frame_max` is what the broker takes."""

    def __init__(self, settings: AmqpSettings, frame_max: int) -> None:
        from pika import spec  # noqa: PLC0415 - only its own function carries it

        publish = spec.Basic.Publish(
            exchange=settings.exchange,
            routing_key=settings.routing_key,
            mandatory=settings.mandatory,
        )
        self._settings = settings
        self._publish = method(publish, CHANNEL)
        self._piece = frame_max - _AROUND

    def declaration(self) -> bytes:
        """Return what goes before a batch, as the exchange may be gone since the last one."""
        settings = self._settings
        if not settings.exchange_type:
            return b""
        return self.exchange(passive=False, nowait=settings.no_wait)

    def exchange(self, *, passive: bool, nowait: bool = False) -> bytes:
        """Make the exchange, or if `passive` only look for it."""
        from pika import spec  # noqa: PLC0415

        settings = self._settings
        declare = spec.Exchange.Declare(
            exchange=settings.exchange,
            type=settings.exchange_type,
            passive=passive,
            durable=settings.durable,
            auto_delete=settings.auto_deleted,
            nowait=nowait,
        )
        return method(declare, CHANNEL)

    def message(self, message: Message) -> bytes:
        from pika.frame import Body, Header  # noqa: PLC0415

        body, piece = message.body, self._piece
        header = Header(CHANNEL, len(body), message.properties)
        pieces = (body[start : start + piece] for start in range(0, len(body), piece))
        content = (Body(CHANNEL, each).marshal() for each in pieces)
        return b"".join((self._publish, header.marshal(), *content))


def method(said: Any, channel: int = 0) -> bytes:
    """Encode one of pika's methods; channel 0 is that of the connection itself."""
    from pika.frame import Method  # noqa: PLC0415

    return bytes(Method(channel, said).marshal())


class FrameReader:
    """The frames that arrive at a socket."""

    def __init__(self, connected: DeadlineSocket) -> None:
        self._socket = connected
        self._read = b""

    def next(self, deadline: float | None = None) -> Any:
        """Return the next frame; without a deadline only one that is here already, else None.

        Raises:
            OSError: the connection broke, or time was up; it is of no more use.
        """
        while True:
            size, found = _decoded(self._read)
            if found is not None:
                self._read = self._read[size:]
                return found
            if deadline is None:
                more = self._socket.receive_now()
            else:
                more = self._socket.receive(deadline)
            if not more:
                return None
            self._read += more


def _decoded(data: bytes) -> tuple[int, Any]:
    """Return the size of the first frame, and the frame; None if it is not here as a whole.

    Raises:
        ConnectionError: that is no AMQP 0-9-1.
    """
    from pika.exceptions import AMQPError  # noqa: PLC0415 - only its own function carries it
    from pika.frame import ProtocolHeader, decode_frame  # noqa: PLC0415

    try:
        size, found = decode_frame(data)
    except (AMQPError, KeyError, ValueError, struct.error):
        raise ConnectionError("the server answers something else than AMQP 0-9-1") from None
    if isinstance(found, ProtocolHeader):
        raise ConnectionError("the server does not speak AMQP 0-9-1, but another version of it")
    return size, found
