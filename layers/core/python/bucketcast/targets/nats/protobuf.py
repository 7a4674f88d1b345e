"""The part of protobuf that NATS Streaming needs: messages of text, bytes and numbers."""

from collections.abc import Mapping

from bucketcast.targets.base import varint

Fields = Mapping[int, bytes | int]

_NUMBER, _BYTES = 0, 2


def encode(fields: Fields) -> bytes:
    """Return a message with these fields, by their numbers."""
    parts: list[bytes] = []
    for number, value in fields.items():
        if isinstance(value, int):
            parts += (varint.encode(number << 3 | _NUMBER), varint.encode(value))
        else:
            parts += (varint.encode(number << 3 | _BYTES), varint.encode(len(value)), value)
    return b"".join(parts)


def decode(message: bytes) -> dict[int, bytes]:
    """Return the fields of text and bytes, by their numbers.

    Raises:
        ValueError: the message is not valid.
    """
    fields: dict[int, bytes] = {}
    at = 0
    while at < len(message):
        try:
            tag, at = varint.decode(message, at)
            value, at = varint.decode(message, at)
        except IndexError:
            raise ValueError("it ends in the middle of a number") from None
        if tag & 7 == _BYTES:
            fields[tag >> 3] = message[at : at + value]
            at += value
        elif tag & 7 != _NUMBER:
            raise ValueError(f"a field of type {tag & 7}")
    return fields
