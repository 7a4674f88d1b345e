"""Variable-length integers of MQTT and protobuf: seven bits per byte, the lowest first."""

from functools import lru_cache

_MORE = 0x80


@lru_cache(1024)
def encode(number: int) -> bytes:
    parts = []
    while number >= _MORE:
        parts.append(number & 0x7F | _MORE)
        number >>= 7
    return bytes([*parts, number])


def decode(data: bytes | bytearray, offset: int, max_bytes: int = 10) -> tuple[int, int]:
    """Return the number at an offset, and the offset after it.

    Raises:
        IndexError: the data ends before the number does.
        ValueError: it takes more than `max_bytes` bytes.
    """
    number = 0
    for shift in range(0, 7 * max_bytes, 7):
        byte = data[offset]
        number |= (byte & 0x7F) << shift
        offset += 1
        if not byte & _MORE:
            return number, offset
    raise ValueError(f"a number of more than {max_bytes} bytes")
