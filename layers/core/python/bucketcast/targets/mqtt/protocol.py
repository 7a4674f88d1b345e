"""MQTT 3.1, 3.1.1 and 5: the packets that a publisher sends and receives.

Source: the OASIS standards "MQTT Version 3.1.1" and "MQTT Version 5.0", and IBM's "MQTT V3.1
Protocol Specification", whose publishers differ from those of 3.1.1 only in the protocol's name. A
packet is a first byte, the length of the rest in up to four bytes of 7 bits each, and the rest.
"""

import struct
from collections.abc import Callable, Mapping
from typing import NamedTuple

from bucketcast.event import Event
from bucketcast.settings.types import Secret
from bucketcast.targets.base import varint
from bucketcast.targets.base.answers import Refusal

MQTT_3_1, MQTT_3_1_1, MQTT_5 = 3, 4, 5
"""The versions, as numbers in CONNECT."""
CONNACK, PUBACK, PUBREC, PUBCOMP, PINGRESP, DISCONNECT = 0x20, 0x40, 0x50, 0x70, 0xD0, 0xE0
_PUBLISH, _PUBREL = 0x30, 0x62
UNASKED = frozenset({_PUBREL, *range(_PUBLISH, _PUBLISH + 16)})
"""The packets of messages that nobody asked for."""
_RECEIVED = UNASKED | {CONNACK, PUBACK, PUBREC, PUBCOMP, PINGRESP, DISCONNECT}
PINGREQ = b"\xc0\x00"
DISCONNECT_NORMALLY = b"\xe0\x00"
LARGEST = 268_435_455 + 5
"""Bytes of the largest packet, with its length and first byte."""
MAX_TEXT = 65_535
LARGEST_ANSWER = 1024 * 1024
"""Bytes of the largest packet that a publisher receives."""
_LONGEST_LENGTH = 4
_MORE = 0x80
"""The bit of a length's byte that announces another byte."""

CONTENT_TYPE, REASON, SERVER = 0x03, 0x1F, 0x1C
KEEP_ALIVE, RECEIVE_MAXIMUM, MAXIMUM_QOS, MAXIMUM_PACKET = 0x13, 0x21, 0x24, 0x27
_USER = 0x26
_NUMBERS = {1: (0x01, 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A), 2: (0x13, 0x21, 0x22, 0x23)}
_NUMBERS[4] = (0x02, 0x11, 0x18, 0x27)
_SIZES = {name: size for size, names in _NUMBERS.items() for name in names}
"""Bytes of the numeric properties; all others are text or bytes after their length."""

_two = struct.Struct("!H")


class Malformed(Refusal):
    """The received data is not a packet of MQTT."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the server does not speak MQTT: {what}", "Malformed")


class Login(NamedTuple):
    """The fields of CONNECT; `level` is the version."""

    level: int
    client_id: str
    username: str
    password: Secret
    keep_alive: int


def encode_connect(login: Login) -> bytes:
    """Return CONNECT with a clean session, as a publisher has no state to keep."""
    flags, payload = 0x02, _encode_text(login.client_id)
    if login.username:
        flags |= 0x80
        payload += _encode_text(login.username)
    if login.password:
        flags |= 0x40
        payload += _encode_text(login.password.reveal())
    name = "MQIsdp" if login.level == MQTT_3_1 else "MQTT"
    head = _encode_text(name) + struct.pack("!BBH", login.level, flags, login.keep_alive)
    properties = b"\x00" if login.level == MQTT_5 else b""
    return _encode_packet(0x10, head + properties + payload)


def publish_encoder(
    level: int,
    topic: str,
    qos: int,
    content_type: str,
    user_properties: Callable[[Event], Mapping[str, str]],
) -> Callable[[int, Event, bytes], bytes]:
    """Return the encoder of PUBLISH, for a packet id, an event and its body.

    The properties are left out in MQTT 3. The encoder raises `ValueError` for a text that is too
    long.
    """
    first, topic_field = 0x30 | qos << 1, _encode_text(topic)
    content_type_property = bytes([CONTENT_TYPE]) + _encode_text(content_type)
    user = bytes([_USER])

    def encode_publish(packet_id: int, event: Event, body: bytes) -> bytes:
        parts = [topic_field, _two.pack(packet_id) if qos else b""]
        if level == MQTT_5:
            encoded = [content_type_property]
            for name, value in user_properties(event).items():
                encoded += (user, _encode_text(name), _encode_text(value))
            properties = b"".join(encoded)
            parts += (varint.encode(len(properties)), properties)
        parts.append(body)
        return _encode_packet(first, b"".join(parts))

    return encode_publish


def reply_to(kind: int, body: bytes) -> bytes:
    """Return the acknowledgement of an `UNASKED` packet; b"" if there is none."""
    if kind == _PUBREL:
        return b"\x70\x02" + body[:2]
    if not (qos := kind >> 1 & 3):
        return b""
    at = 2 + int.from_bytes(body[:2], "big")  # after the topic
    return bytes([PUBACK if qos == 1 else PUBREC, 2]) + body[at : at + 2]


def encode_pubrel(packet_id: bytes) -> bytes:
    return b"\x62\x02" + packet_id


def take_packet(received: bytearray) -> tuple[int, bytes] | None:
    """Remove the packet at the front; return its type and body, None if it is incomplete.

    Raises:
        Malformed: the data begins with something else.
    """
    end = len(received)
    if end < 2:  # noqa: PLR2004 - the size of the smallest packet
        return None
    kind, size, start = received[0], received[1], 2
    if kind not in _RECEIVED:
        raise Malformed(f"{bytes(received[:16])!r}")
    if size & _MORE:
        if end <= _LONGEST_LENGTH and received[-1] & _MORE:
            return None  # its length is incomplete
        try:
            size, start = varint.decode(received, 1, _LONGEST_LENGTH)
        except ValueError:
            raise Malformed("a length of more than four bytes") from None
        if size > LARGEST_ANSWER:
            raise Malformed("a packet that is too long for an answer")
    if start + size > end:
        return None
    body = bytes(received[start : start + size])
    del received[: start + size]
    return kind, body


class Response(NamedTuple):
    """A reason code, 0 for success, and the properties of MQTT 5 by their numbers."""

    code: int
    properties: dict[int, int | str]

    def number(self, name: int, default: int) -> int:
        """Return a numeric property."""
        value = self.properties.get(name, default)
        return value if isinstance(value, int) else default


_ACCEPTED = Response(0, {})
_MQTT_5_CODES = {1: 0x84, 2: 0x85, 3: 0x88, 4: 0x86, 5: 0x87}
"""MQTT 5's codes by those of a CONNACK in MQTT 3."""


def decode_connack(body: bytes) -> Response:
    """Decode CONNACK; a broker that only supports MQTT 3 answers MQTT 5 in its own format."""
    if len(body) == 2:  # noqa: PLR2004 - flags and code
        return Response(_MQTT_5_CODES.get(body[1], body[1]), {})
    return decode_response(body[1:])


def decode_acknowledgement(body: bytes) -> tuple[int, Response]:
    """Decode PUBACK, PUBREC or PUBCOMP: the packet id, and the broker's response."""
    if len(body) < 2:  # noqa: PLR2004 - the packet id
        raise Malformed("an acknowledgement without a packet id")
    return int.from_bytes(body[:2], "big"), decode_response(body[2:])


def decode_response(body: bytes) -> Response:
    """Decode a reason code and its properties, each of which may be left out."""
    if not body:
        return _ACCEPTED
    return Response(body[0], _decode_properties(body[1:]) if len(body) > 1 else {})


def _decode_properties(body: bytes) -> dict[int, int | str]:
    properties: dict[int, int | str] = {}
    try:
        size, at = varint.decode(body, 0, _LONGEST_LENGTH)
        end = at + size
        while at < end:
            name, at = body[at], at + 1
            if width := _SIZES.get(name):
                properties[name], at = int.from_bytes(body[at : at + width], "big"), at + width
            else:
                for _ in range(2 if name == _USER else 1):
                    width = _two.unpack_from(body, at)[0]
                    properties[name] = body[at + 2 : at + 2 + width].decode(errors="replace")
                    at += 2 + width
    except (IndexError, ValueError, struct.error):
        at = len(body) + 1
    if at > len(body):
        raise Malformed("its properties end too early")
    return properties


def _encode_packet(first: int, rest: bytes) -> bytes:
    return bytes([first]) + varint.encode(len(rest)) + rest


def _encode_text(text: str) -> bytes:
    data = text.encode()
    if len(data) > MAX_TEXT:
        raise ValueError(f"a text takes {len(data)} bytes; MQTT takes {MAX_TEXT}")
    return _two.pack(len(data)) + data
