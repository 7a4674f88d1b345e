"""As much of protobuf as NATS Streaming needs: messages of text, bytes and numbers."""

from collections.abc import Iterator, Mapping

Fields = Mapping[int, bytes | int]

_NUMBER, _BYTES = 0, 2


def packed(fields: Fields) -> bytes:
    """Return a message with these fields, by their numbers."""
    return b"".join(
        _varint(number << 3 | _NUMBER) + _varint(value)
        if isinstance(value, int)
        else b"%b%b%b" % (_varint(number << 3 | _BYTES), _varint(len(value)), value)
        for number, value in fields.items()
    )


def unpacked(message: bytes) -> dict[int, bytes]:
    """Return the fields of text and bytes, by their numbers.

    Raises:
        ValueError: it is no such message.
    """
    found: dict[int, bytes] = {}
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        value, at = _number(message, at)
        if tag & 7 == _BYTES:
            found[tag >> 3] = message[at : at + value]
            at += value
        elif tag & 7 != _NUMBER:
            raise ValueError(f"a field of type {tag & 7}")
    return found


def _varint(value: int) -> bytes:
    return bytes(_sevens(value))


def _sevens(value: int) -> Iterator[int]:
    """Seven bits a byte, the lowest first; the highest bit says that more follow."""
    while value > 0x7F:  # noqa: PLR2004 - seven bits
        yield value & 0x7F | 0x80
        value >>= 7
    yield value


def _number(message: bytes, at: int) -> tuple[int, int]:
    """Return a number, and where the next begins."""
    value = shift = 0
    while at < len(message):
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:  # noqa: PLR2004 - the highest bit
            return value, at
    raise ValueError("it ends in the middle of a number")
