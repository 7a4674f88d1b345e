"""MQTT 3.1, 3.1.1 and 5: the packets that a publisher sends, and those that it is sent.

Source: the OASIS standards "MQTT Version 3.1.1" and "MQTT Version 5.0", and IBM's "MQTT V3.1
Protocol Specification", whose publishers differ from those of 3.1.1 in the protocol's name alone. A
packet is a first byte, the length of the rest in up to four bytes of 7 bits each, and that rest.
"""

import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple

from bucketcast.event import Event
from bucketcast.settings.types import Secret
from bucketcast.targets.base import varint

MQTT_3_1, MQTT_3_1_1, MQTT_5 = 3, 4, 5
"""The versions, by the number that CONNECT says."""
CONNACK, PUBACK, PUBREC, PUBCOMP, PINGRESP, DISCONNECT = 0x20, 0x40, 0x50, 0x70, 0xD0, 0xE0
_ANSWERS = frozenset({CONNACK, PUBACK, PUBREC, PUBCOMP, PINGRESP, DISCONNECT})
PINGREQ = b"\xc0\x00"
GOODBYE = b"\xe0\x00"
LARGEST = 268_435_455 + 5
"""Bytes of a packet, its length and first byte included: more cannot be written down."""
MAX_TEXT = 65_535
LARGEST_ANSWER = 1024 * 1024
"""Nothing that a publisher is sent is larger."""
_LONGEST_LENGTH = 4
_MORE = 0x80
"""The bit of a length's byte that says that another follows."""

CONTENT_TYPE, REASON, SERVER = 0x03, 0x1F, 0x1C
KEEP_ALIVE, RECEIVE_MAXIMUM, MAXIMUM_QOS, MAXIMUM_PACKET = 0x13, 0x21, 0x24, 0x27
_USER = 0x26
_NUMBERS = {1: (0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A), 2: (0x13, 0x21, 0x22, 0x23)}
_NUMBERS[4] = (0x02, 0x11, 0x18, 0x27)
_SIZES = {name: size for size, names in _NUMBERS.items() for name in names}
"""Bytes of the properties that are numbers; all others are text or bytes behind their length."""

_two = struct.Struct("!H")


class Malformed(Exception):
    """What came is no packet of MQTT."""


class HandshakeError(Exception):
    """The server answered with something else than a websocket; `status` is 0 for no HTTP."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class Login(NamedTuple):
    """What a client says of itself; `level` is the version."""

    level: int
    client_id: str
    username: str
    password: Secret
    keep_alive: int


def connect(login: Login) -> bytes:
    """CONNECT with a clean session: a publisher has nothing to be kept."""
    flags, payload = 0x02, _text(login.client_id)
    if login.username:
        flags |= 0x80
        payload += _text(login.username)
    if login.password:
        flags |= 0x40
        payload += _text(login.password.reveal())
    name = "MQIsdp" if login.level == MQTT_3_1 else "MQTT"
    head = _text(name) + struct.pack("!BBH", login.level, flags, login.keep_alive)
    properties = b"\x00" if login.level == MQTT_5 else b""
    return _packet(0x10, head + properties + payload)


def publisher(
    level: int,
    topic: str,
    qos: int,
    content_type: str,
    user_properties: Callable[[Event], Mapping[str, str]],
) -> Callable[[int, Event, bytes], bytes]:
    """Return what makes a PUBLISH of a packet id, an event and its body.

    MQTT 3 cannot carry properties beside the body. What is made raises ValueError where a
    text cannot be written.
    """
    first, topic_field = 0x30 | qos << 1, _text(topic)
    kind = bytes([CONTENT_TYPE]) + _text(content_type)
    user = bytes([_USER])

    def packet(number: int, event: Event, body: bytes) -> bytes:
        parts = [topic_field, _two.pack(number) if qos else b""]
        if level == MQTT_5:
            own = [kind]
            for name, text in user_properties(event).items():
                own += (user, _text(name), _text(text))
            properties = b"".join(own)
            parts += (varint.encode(len(properties)), properties)
        parts.append(body)
        return _packet(first, b"".join(parts))

    return packet


def pubrel(number: bytes) -> bytes:
    return b"\x62\x02" + number


def split(received: bytearray) -> list[tuple[int, bytes]]:
    """Take the whole packets off the front: the type of each, and what follows its length.

    Raises:
        Malformed: it goes on with something else.
    """
    packets = []
    start, end = 0, len(received)
    while end - start >= 2:  # noqa: PLR2004 - the least that a packet takes
        if received[start] not in _ANSWERS:
            raise Malformed(f"{bytes(received[start : start + 16])!r}")
        size, body = received[start + 1], start + 2
        if size & _MORE:
            if end - start <= _LONGEST_LENGTH and received[end - 1] & _MORE:
                break  # its length is not all there yet
            try:
                size, body = varint.decode(received, start + 1, _LONGEST_LENGTH)
            except ValueError:
                raise Malformed("a length of more than four bytes") from None
            if size > LARGEST_ANSWER:
                raise Malformed("a packet that long is no answer")
        if body + size > end:
            break
        packets.append((received[start], bytes(received[body : body + size])))
        start = body + size
    del received[:start]
    return packets


class Answer(NamedTuple):
    """A reason code, 0 for success, and what MQTT 5 says beside it, by the property's number."""

    code: int
    properties: dict[int, int | str]

    def number(self, name: int, default: int) -> int:
        found = self.properties.get(name, default)
        return found if isinstance(found, int) else default


_AS_IN_5 = {1: 0x84, 2: 0x85, 3: 0x88, 4: 0x86, 5: 0x87}
"""The codes of a CONNACK in MQTT 3, as MQTT 5 has them."""


def connack(body: bytes) -> Answer:
    """Return what became of CONNECT; a broker that knows MQTT 3 only answers 5 in its own way."""
    if len(body) == 2:  # noqa: PLR2004 - flags and code
        return Answer(_AS_IN_5.get(body[1], body[1]), {})
    return _answer(body[1:])


def acknowledgement(body: bytes) -> tuple[int, Answer]:
    """Return the packet id of a PUBACK, PUBREC or PUBCOMP, and what the broker says of it."""
    if len(body) < 2:  # noqa: PLR2004 - the packet id
        raise Malformed("an acknowledgement of nothing")
    return int.from_bytes(body[:2], "big"), _answer(body[2:])


def disconnect(body: bytes) -> Answer:
    """Return why the broker hangs up."""
    return _answer(body)


def _answer(body: bytes) -> Answer:
    """Return a code and its properties; each may be left out."""
    return Answer(body[0] if body else 0, _properties(body[1:]) if len(body) > 1 else {})


def _properties(body: bytes) -> dict[int, int | str]:
    found: dict[int, int | str] = {}
    try:
        size, at = varint.decode(body, 0, _LONGEST_LENGTH)
        end = at + size
        while at < end:
            name, at = body[at], at + 1
            if width := _SIZES.get(name):
                found[name], at = int.from_bytes(body[at : at + width], "big"), at + width
            else:
                for _ in range(2 if name == _USER else 1):
                    width = _two.unpack_from(body, at)[0]
                    found[name] = body[at + 2 : at + 2 + width].decode(errors="replace")
                    at += 2 + width
    except (IndexError, ValueError, struct.error):
        at = len(body) + 1
    if at > len(body):
        raise Malformed("its properties end too early")
    return found


def _packet(first: int, rest: bytes) -> bytes:
    return bytes([first]) + varint.encode(len(rest)) + rest


def _text(text: str) -> bytes:
    data = text.encode()
    if len(data) > MAX_TEXT:
        raise ValueError(f"a text takes {len(data)} bytes; MQTT takes {MAX_TEXT}")
    return _two.pack(len(data)) + data
