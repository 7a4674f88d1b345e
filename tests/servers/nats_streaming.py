"""A client of NATS Streaming for tests, over nats-py, as none is published any more.

Messages are protobuf, `stan.go`'s `pb/protocol.proto`.
"""

import asyncio
import itertools
import json
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg

from tests.servers.nats_client import SECONDS

FROM_THE_FIRST = 4
Fields = dict[int, str | bytes | int]
ACK_WAIT = 30
"""Seconds after which the server repeats an unacknowledged message."""


@dataclass(frozen=True, slots=True)
class Session:
    """A client that is registered at the streaming server."""

    client: Client
    id: str
    publish_prefix: str
    subscribe_subject: str
    close_subject: str

    @classmethod
    async def open(cls, client: Client, cluster: str) -> "Session":
        name, heartbeats = uuid.uuid4().hex, client.new_inbox()

        async def answer_heartbeat(message: Msg) -> None:
            await message.respond(b"")

        await client.subscribe(heartbeats, cb=answer_heartbeat)
        request = encode({1: name, 2: heartbeats})
        reply = await _request(client, f"_STAN.discover.{cluster}", request, error_field=5)
        return cls(client, name, *(reply[number].decode() for number in (1, 2, 4)))

    async def read(self, channel: str, count: int) -> list[bytes]:
        """Return the first `count` bodies of a channel."""
        inbox, bodies, complete = self.client.new_inbox(), list[bytes](), asyncio.Event()

        async def add_body(message: Msg) -> None:
            bodies.append(decode(message.data)[4])
            if len(bodies) == count:
                complete.set()

        await self.client.subscribe(inbox, cb=add_body)
        # The limit of unacknowledged messages is `count`, as none is acknowledged.
        fields: Fields = {
            1: self.id,
            2: channel,
            4: inbox,
            5: count,
            6: ACK_WAIT,
            10: FROM_THE_FIRST,
        }
        await _request(self.client, self.subscribe_subject, encode(fields), error_field=3)
        async with asyncio.timeout(60):
            await complete.wait()
        return bodies

    async def close(self) -> None:
        await _request(self.client, self.close_subject, encode({1: self.id}), error_field=1)


def status(port: int, path: str) -> dict[str, Any]:
    """Return the document of the server's monitoring at `/streaming/<path>`."""
    address = f"http://127.0.0.1:{port}/streaming/{path}"
    with urllib.request.urlopen(address, timeout=SECONDS) as response:
        document: dict[str, Any] = json.load(response)
        return document


async def _request(
    client: Client, subject: str, message: bytes, *, error_field: int
) -> dict[int, Any]:
    """Return the reply's fields; raise its error, if it has one."""
    reply = decode((await client.request(subject, message, timeout=SECONDS)).data)
    if error_field in reply:
        raise ConnectionRefusedError(reply[error_field].decode())
    return reply


def encode(fields: Fields) -> bytes:
    """Return a protobuf message of texts, bytes and numbers."""
    return b"".join(itertools.starmap(_encode_field, fields.items()))


def _encode_field(number: int, value: str | bytes | int) -> bytes:
    if isinstance(value, int):
        return _encode_varint(number << 3) + _encode_varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _encode_varint(number << 3 | 2) + _encode_varint(len(data)) + data


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def decode(message: bytes) -> dict[int, Any]:
    """Return the fields of a protobuf message: bytes, or numbers."""
    fields: dict[int, Any] = {}
    rest = iter(message)
    for tag in _decode_varints(rest):
        value = next(_decode_varints(rest))
        number, wire_type = tag >> 3, tag & 7
        fields[number] = bytes(itertools.islice(rest, value)) if wire_type == 2 else value
    return fields


def _decode_varints(rest: Iterator[int]) -> Iterator[int]:
    value = shift = 0
    for byte in rest:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0
