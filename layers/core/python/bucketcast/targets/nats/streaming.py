"""A publisher for NATS Streaming, which JetStream has replaced and which has no client any more.

The server is a client of NATS like any other. Its own clients register by a name, publish on a
subject that it assigns, and get an acknowledgement for each stored message. Source of the messages
and their fields: `pb/protocol.proto` of nats-io/stan.go.
"""

import uuid

from nats import errors
from nats.aio.msg import Msg

from bucketcast.errors import DeliveryError, NotConnected
from bucketcast.targets.nats import protobuf
from bucketcast.targets.nats.answers import ANSWERS
from bucketcast.targets.nats.batch import Batch
from bucketcast.targets.nats.connection import NEVER, Connection, encode_publish
from bucketcast.targets.nats.core import Core
from bucketcast.targets.nats.in_flight import InFlight

_PROTOCOL = 1
"""The version with connection ids, by which a client can check that it is still registered."""
_OVERHEAD = 80
"""Bytes at most: a message's id, and the tags of its fields."""
_ID_TAG = b"\x0a"


class Streaming(Core):
    """Publishes to the channel that has the subject's name; see `Core`."""

    def __init__(self, connection: Connection, subject: str, cluster: str, limit: int) -> None:
        super().__init__(connection, subject, needs_headers=False)
        self._cluster = cluster
        self._in_flight = InFlight(connection, limit, self._parse_reply)
        self._name, self._id = uuid.uuid4().hex.encode(), uuid.uuid4().bytes
        self._client_fields = protobuf.encode({1: self._name, 3: subject.encode(), 6: self._id})
        self._publish_subject = self._close_subject = self._ping_subject = ""

    async def open(self) -> None:
        await self._in_flight.open()
        heartbeats = self.connection.new_inbox()
        await self.connection.subscribe(heartbeats, cb=_answer_heartbeat)
        fields: protobuf.Fields = {
            1: self._name,
            2: heartbeats.encode(),
            3: _PROTOCOL,
            4: self._id,
        }
        try:
            reply = await self._request(f"_STAN.discover.{self._cluster}", fields, error_field=5)
        except errors.NoRespondersError:
            raise NotConnected(
                f"no NATS Streaming server has the streaming_cluster_id '{self._cluster}'"
            ) from None
        prefix, self._close_subject, self._ping_subject = (
            reply.get(number, b"").decode(errors="replace") for number in (1, 4, 7)
        )
        self._publish_subject = f"{prefix}.{self.subject}"

    async def check_alive(self) -> None:
        await self._request(self._ping_subject, {1: self._id}, error_field=1)

    async def send(self, batch: Batch) -> None:
        put, in_flight = self.connection.put, self._in_flight
        subject = self._publish_subject.encode()
        client_fields, limit = self._client_fields, self.connection.max_payload
        overhead = len(client_fields) + _OVERHEAD
        for position, _, body in batch.messages(limit, headers=False, overhead=overhead):
            await in_flight.wait_for_room()
            inbox = in_flight.add(batch, position)
            fields = protobuf.encode({2: inbox, 5: body})
            put(encode_publish(b"%b %b" % (subject, inbox), client_fields + fields))
        await in_flight.wait_for_all()

    async def close(self) -> None:
        await self._request(self._close_subject, {1: self._name}, error_field=1)

    async def _request(
        self, subject: str, fields: protobuf.Fields, *, error_field: int
    ) -> dict[int, bytes]:
        """Return the fields of the server's reply.

        Raises:
            NotConnected: the reply has an error, or is not that of a NATS Streaming server.
        """
        request = self.connection.request(subject, protobuf.encode(fields), timeout=NEVER)
        reply = await self.connection.await_reply(request)
        try:
            reply_fields = protobuf.decode(reply.data)
        except ValueError as error:
            raise _wrong_server(error) from None
        if error_field in reply_fields:
            raise NotConnected(reply_fields[error_field].decode(errors="replace"))
        return reply_fields

    def _parse_reply(self, data: bytes, _: bytes) -> DeliveryError | None:
        if data[:1] == _ID_TAG and len(data) == 2 + data[1]:  # the message's id alone
            return None
        try:
            message = protobuf.decode(data).get(2, b"").decode()
        except ValueError as error:
            return _wrong_server(error)
        if not data:  # NATS's own reply if a subject has no subscriber
            return NotConnected("the NATS Streaming server is gone")
        return ANSWERS.error("NATS Streaming", message, ("streaming",)) if message else None


def _wrong_server(error: ValueError) -> NotConnected:
    return NotConnected(f"the reply is not that of a NATS Streaming server: {error}")


async def _answer_heartbeat(message: Msg) -> None:
    await message.respond(b"")
