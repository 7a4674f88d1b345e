"""Variable-length integers of MQTT and protobuf: seven bits a byte, the lowest first."""

_MORE = 0x80


def encode(number: int) -> bytes:
    parts = []
    while number >= _MORE:
        parts.append(number & 0x7F | _MORE)
        number >>= 7
    return bytes([*parts, number])


def decode(data: bytes | bytearray, at: int, longest: int = 10) -> tuple[int, int]:
    """Return the number at an index, and the index after it.

    Raises:
        IndexError: the data ends before the number does.
        ValueError: it takes more than `longest` bytes.
    """
    number = 0
    for shift in range(0, 7 * longest, 7):
        number |= (data[at] & 0x7F) << shift
        at += 1
        if not data[at - 1] & _MORE:
            return number, at
    raise ValueError(f"a number of more than {longest} bytes")
