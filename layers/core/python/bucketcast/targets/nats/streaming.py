"""NATS Streaming, which JetStream has replaced: its publisher, for which no client is left.

The server is a client of NATS like any other. It knows its own clients by a name, under which they
publish on a subject that it tells them, and it acknowledges what it has stored. Source of the
messages and their fields: `pb/protocol.proto` of nats-io/stan.go.
"""

import uuid

from nats import errors
from nats.aio.msg import Msg

from bucketcast.errors import DeliveryError, NotConnected, Retryable
from bucketcast.targets.nats.acknowledged import Acknowledged
from bucketcast.targets.nats.batch import Batch, Message
from bucketcast.targets.nats.connection import NEVER, Connection
from bucketcast.targets.nats.core import Core
from bucketcast.targets.nats.protobuf import Fields, packed, unpacked

_PROTOCOL = 1
"""Connections have an id of their own, by which a client may ask whether it is still known."""
_BESIDE = 80
"""Bytes, at the most: a message's own name, and what marks it and the body."""
_UNKNOWN = "invalid publish request"


class Streaming(Core):
    """Publishes to the channel that has the subject's name; see `Core`."""

    def __init__(self, connection: Connection, subject: str, cluster: str, most: int) -> None:
        super().__init__(connection, subject, needs_headers=False)
        self._cluster = cluster
        self._acknowledged = Acknowledged(connection, most, self._failure)
        self._name, self._id = uuid.uuid4().hex.encode(), uuid.uuid4().bytes
        self._own = packed({1: self._name, 3: subject.encode(), 6: self._id})
        self._publishes = self._closes = self._pings = ""

    async def open(self) -> None:
        await self._acknowledged.open()
        beats = self.connection.new_inbox()
        await self.connection.subscribe(beats, cb=_beat)
        fields: Fields = {1: self._name, 2: beats.encode(), 3: _PROTOCOL, 4: self._id}
        try:
            answer = await self._ask(f"_STAN.discover.{self._cluster}", fields, error=5)
        except errors.NoRespondersError:
            raise NotConnected(
                f"no NATS Streaming server is there of streaming_cluster_id '{self._cluster}'"
            ) from None
        prefix, self._closes, self._pings = (
            answer.get(number, b"").decode() for number in (1, 4, 7)
        )
        self._publishes = f"{prefix}.{self.subject}"

    async def alive(self) -> None:
        await self._ask(self._pings, {1: self._id}, error=1)

    async def send(self, batch: Batch) -> None:
        put, subject, own = self.connection.put, self._publishes, self._own
        acknowledged, limit = self._acknowledged, self.connection.max_payload
        for message in batch.messages(limit, headers=False, beside=len(own) + _BESIDE):
            await acknowledged.room()
            reply = acknowledged.reply(batch, message)
            data = own + packed({2: reply.encode(), 5: message.body})
            await put(subject, b"", data, reply)
        await acknowledged.all()

    async def close(self) -> None:
        await self._ask(self._closes, {1: self._name}, error=1)

    async def _ask(self, subject: str, fields: Fields, *, error: int) -> dict[int, bytes]:
        """Return the server's answer; what stands in its field `error` is raised."""
        request = self.connection.request(subject, packed(fields), timeout=NEVER)
        answer = await self.connection.answer(request)
        try:
            found = unpacked(answer.data)
        except ValueError as wrong:
            raise NotConnected(f"what answers is no NATS Streaming server: {wrong}") from None
        if error in found:
            raise NotConnected(found[error].decode())
        return found

    def _failure(self, answer: Msg, _: Message) -> DeliveryError | None:
        try:
            said = unpacked(answer.data).get(2, b"").decode()
        except ValueError as wrong:
            return NotConnected(f"what answers is no NATS Streaming server: {wrong}")
        if not answer.data:  # nobody listens there any more, which NATS says in a header
            return NotConnected("the NATS Streaming server is gone")
        if _UNKNOWN in said:
            return NotConnected(f"the server does not know this client any more: {said}")
        return Retryable(said) if said else None


async def _beat(message: Msg) -> None:
    """Say that this client is still there."""
    await message.respond(b"")
