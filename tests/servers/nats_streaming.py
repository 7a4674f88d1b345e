"""NATS Streaming's protocol over nats-py, as far as a test writes and reads: no client is left.

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
"""Seconds until the server sends a message again that was not acknowledged."""


@dataclass(frozen=True, slots=True)
class Session:
    """A client that the streaming server knows."""

    client: Client
    id: str
    publishes: str
    subscribes: str
    closes: str

    @classmethod
    async def open(cls, client: Client, cluster: str) -> "Session":
        name, heartbeats = uuid.uuid4().hex, client.new_inbox()

        async def beat(message: Msg) -> None:
            await message.respond(b"")

        await client.subscribe(heartbeats, cb=beat)
        request = packed({1: name, 2: heartbeats})
        answer = await _request(client, f"_STAN.discover.{cluster}", request, error=5)
        return cls(client, name, *(answer[at].decode() for at in (1, 2, 4)))

    async def publish(self, channel: str, body: bytes) -> None:
        message = packed({1: self.id, 2: uuid.uuid4().hex, 3: channel, 5: body})
        await _request(self.client, f"{self.publishes}.{channel}", message, error=2)

    async def read(self, channel: str, count: int) -> list[bytes]:
        """The first `count` bodies of a channel."""
        inbox, bodies, all_there = self.client.new_inbox(), list[bytes](), asyncio.Event()

        async def take(message: Msg) -> None:
            bodies.append(unpacked(message.data)[4])
            if len(bodies) == count:
                all_there.set()

        await self.client.subscribe(inbox, cb=take)
        # As many as there are may be without an acknowledgement, and it sends none.
        fields: Fields = {
            1: self.id,
            2: channel,
            4: inbox,
            5: count,
            6: ACK_WAIT,
            10: FROM_THE_FIRST,
        }
        await _request(self.client, self.subscribes, packed(fields), error=3)
        async with asyncio.timeout(10):
            await all_there.wait()
        return bodies

    async def close(self) -> None:
        await _request(self.client, self.closes, packed({1: self.id}), error=1)


def status(port: int, path: str) -> dict[str, Any]:
    """What the server's monitoring says at `/streaming/<path>`."""
    address = f"http://127.0.0.1:{port}/streaming/{path}"
    with urllib.request.urlopen(address, timeout=SECONDS) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


async def _request(client: Client, subject: str, message: bytes, *, error: int) -> dict[int, Any]:
    """The answer; what stands in its field `error` is raised."""
    answer = unpacked((await client.request(subject, message, timeout=SECONDS)).data)
    if error in answer:
        raise ConnectionRefusedError(answer[error].decode())
    return answer


def packed(fields: Fields) -> bytes:
    """A protobuf message of texts, bytes and numbers."""
    return b"".join(itertools.starmap(_field, fields.items()))


def _field(number: int, value: str | bytes | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def unpacked(message: bytes) -> dict[int, Any]:
    """The fields of a protobuf message: bytes, or numbers."""
    found: dict[int, Any] = {}
    rest = iter(message)
    for tag in _numbers(rest):
        value = next(_numbers(rest))
        number, wire = tag >> 3, tag & 7
        found[number] = bytes(itertools.islice(rest, value)) if wire == 2 else value
    return found


def _numbers(rest: Iterator[int]) -> Iterator[int]:
    value = shift = 0
    for byte in rest:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield value
            value = shift = 0
