"""What is said to the broker about exchange and messages, as frames; pika puts them into bytes."""

from typing import Any, NamedTuple, Protocol

CHANNEL = 1
_AROUND = 8
"""Bytes of a frame that are not what it carries."""


class Given(Protocol):
    """The target's options that are about exchange and messages."""

    @property
    def exchange(self) -> str: ...
    @property
    def exchange_type(self) -> str: ...
    @property
    def routing_key(self) -> str: ...
    @property
    def mandatory(self) -> bool: ...
    @property
    def durable(self) -> bool: ...
    @property
    def no_wait(self) -> bool: ...
    @property
    def auto_deleted(self) -> bool: ...


class Message(NamedTuple):
    """`place` is that in the batch, `properties` are pika's."""

    place: int
    properties: Any
    body: bytes


class Frames:
    """Makes them for one exchange and routing key; `frame_max` is what the broker takes."""

    def __init__(self, given: Given, frame_max: int) -> None:
        from pika import spec  # noqa: PLC0415 - only its own function carries it

        publish = spec.Basic.Publish(
            exchange=given.exchange, routing_key=given.routing_key, mandatory=given.mandatory
        )
        self._given = given
        self._publish = method(publish, CHANNEL)
        self._piece = frame_max - _AROUND

    def declaration(self) -> bytes:
        """What goes before a batch, as the exchange may be gone since the last one."""
        given = self._given
        if not given.exchange_type:
            return b""
        return self.exchange(passive=False, nowait=given.no_wait)

    def exchange(self, *, passive: bool, nowait: bool = False) -> bytes:
        """Make the exchange, or if `passive` only look for it."""
        from pika import spec  # noqa: PLC0415

        given = self._given
        declare = spec.Exchange.Declare(
            exchange=given.exchange,
            type=given.exchange_type,
            passive=passive,
            durable=given.durable,
            auto_delete=given.auto_deleted,
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
    """One of pika's methods; channel 0 is for what concerns the whole connection."""
    from pika.frame import Method  # noqa: PLC0415

    return bytes(Method(channel, said).marshal())
