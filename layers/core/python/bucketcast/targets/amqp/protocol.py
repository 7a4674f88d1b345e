"""Frames of AMQP 0-9-1, encoded and decoded by pika."""

import struct
from functools import lru_cache
from typing import Any

import msgspec

from bucketcast.targets.amqp.settings import AmqpSettings
from bucketcast.targets.base.sockets import DeadlineSocket

CHANNEL = 1
_FRAME_OVERHEAD = 8
"""Bytes of a frame around its payload."""
_HEADER_FRAME, _BODY_FRAME, _END = 2, 3, b"\xce"
_BASIC_CLASS = 60
_frame_head = struct.Struct(">BHI").pack
_content_head = struct.Struct(">BHIHHQ").pack
"""The head of a header frame, and its fields before the properties: class, weight, body size."""
_CONTENT_FIELDS = 12


class Message(msgspec.Struct, gc=False):
    """A message of a batch, with its position there; `properties` are encoded, with the id."""

    position: int
    id: str
    properties: bytes
    body: bytes


class FrameEncoder:
    """Encodes frames for one exchange and routing key, of at most `frame_max` bytes each."""

    def __init__(self, settings: AmqpSettings, frame_max: int) -> None:
        from pika import spec  # noqa: PLC0415 - only its own function carries it

        publish = spec.Basic.Publish(
            exchange=settings.exchange,
            routing_key=settings.routing_key,
            mandatory=settings.mandatory,
        )
        self._settings = settings
        self._publish = encode_method(publish, CHANNEL)
        self._max_payload = frame_max - _FRAME_OVERHEAD

    def encode_batch_start(self) -> bytes:
        """Return the frame before a batch, which declares the exchange in case it was deleted."""
        settings = self._settings
        if not settings.exchange_type:
            return b""
        return self.encode_declare(passive=False, nowait=settings.no_wait)

    def encode_declare(self, *, passive: bool, nowait: bool = False) -> bytes:
        """Return the frame that declares the exchange; `passive` only checks that it exists."""
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
        return encode_method(declare, CHANNEL)

    def encode_message(self, message: Message) -> bytes:
        properties, body = message.properties, message.body
        size = _CONTENT_FIELDS + len(properties)
        head = _content_head(_HEADER_FRAME, CHANNEL, size, _BASIC_CLASS, 0, len(body))
        parts = [self._publish, head, properties, _END]
        for start in range(0, len(body), self._max_payload):
            payload = body[start : start + self._max_payload]
            parts += (_frame_head(_BODY_FRAME, CHANNEL, len(payload)), payload, _END)
        return b"".join(parts)


@lru_cache(256)
def encode_properties(
    content_type: str, delivery_mode: int, headers: tuple[tuple[str, str], ...]
) -> bytes:
    """Return the properties of a message without its id, which comes last, after its length."""
    from pika import BasicProperties  # noqa: PLC0415 - only its own function carries it

    properties = BasicProperties(
        content_type=content_type,
        headers=dict(headers),
        delivery_mode=delivery_mode,
        message_id="",
    )
    return b"".join(properties.encode())[:-1]


def encode_method(method: Any, channel: int = 0) -> bytes:
    """Return the frame of one of pika's methods; channel 0 is the connection itself."""
    from pika.frame import Method  # noqa: PLC0415

    return bytes(Method(channel, method).marshal())


class FrameReader:
    """Reads frames from a socket."""

    def __init__(self, connected: DeadlineSocket) -> None:
        self._socket = connected
        self._buffer = b""

    def read(self, deadline: float | None = None) -> Any:
        """Return the next frame; without a deadline, None if none has arrived yet.

        Raises:
            OSError: the connection broke or the deadline passed, and it cannot be used again.
        """
        while True:
            size, frame = _decode(self._buffer)
            if frame is not None:
                self._buffer = self._buffer[size:]
                return frame
            if deadline is None:
                data = self._socket.receive_now()
            else:
                data = self._socket.receive(deadline)
            if not data:
                return None
            self._buffer += data


def _decode(data: bytes) -> tuple[int, Any]:
    """Return the size of the first frame, and the frame; None if it is incomplete.

    Raises:
        ConnectionError: the data is not AMQP 0-9-1.
    """
    from pika.frame import ProtocolHeader, decode_frame  # noqa: PLC0415 - only its own function carries it

    try:
        size, frame = decode_frame(data)
    except Exception:  # noqa: BLE001 - whatever pika makes of bytes that are no frame
        raise ConnectionError("the server answers with something else than AMQP 0-9-1") from None
    if isinstance(frame, ProtocolHeader):
        raise ConnectionError("the server speaks another version of AMQP than 0-9-1")
    return size, frame
