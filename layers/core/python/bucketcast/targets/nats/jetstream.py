"""JetStream: the stream acknowledges each message that it has stored."""

from contextlib import suppress

import msgspec
from nats import errors

from bucketcast.errors import DeliveryError, Retryable
from bucketcast.targets.nats.answers import ANSWERS
from bucketcast.targets.nats.batch import Batch
from bucketcast.targets.nats.connection import Connection, encode_publish
from bucketcast.targets.nats.core import Core
from bucketcast.targets.nats.in_flight import InFlight

IN_FLIGHT = 500
"""Messages in flight at a time; a server buffers 10,000 for a stream."""
LOOK_UP_SECONDS = 1.0

_NO_RESPONDERS = b"NATS/1.0 503"


class _Error(msgspec.Struct):
    code: int = 0
    err_code: int = 0
    description: str = ""


class _Configuration(msgspec.Struct):
    name: str
    no_ack: bool = False


class _Stream(msgspec.Struct):
    config: _Configuration


class _Response(msgspec.Struct):
    error: _Error | None = None
    streams: list[_Stream] | None = None


_decode = msgspec.json.Decoder(_Response).decode


class JetStream(Core):
    """Publishes to the stream that has the subject; see `Core`."""

    def __init__(self, connection: Connection, subject: str, domain: str = "") -> None:
        super().__init__(connection, subject, needs_headers=True)
        self._list = f"$JS.{domain}.API.STREAM.LIST" if domain else "$JS.API.STREAM.LIST"
        self._in_flight = InFlight(connection, IN_FLIGHT, self._parse_reply)

    async def open(self) -> None:
        await super().open()
        await self._in_flight.open()
        with suppress(errors.NoRespondersError, errors.TimeoutError, ValueError):
            await self._look_up()  # only to find what confirms nothing: an event may arrive anyway

    async def send(self, batch: Batch) -> None:
        put, subject, in_flight = self.connection.put, self.subject.encode(), self._in_flight
        for position, head, body in batch.messages(self.connection.max_payload, headers=True):
            await in_flight.wait_for_room()
            to = b"%b %b" % (subject, in_flight.add(batch, position))
            put(encode_publish(to, body, head))
        await in_flight.wait_for_all()

    async def probe(self) -> None:
        try:
            found = await self._look_up()
        except errors.NoRespondersError:
            raise Retryable(
                "JetStream is off in this server or account, or jetstream_domain names another"
            ) from None
        except ValueError as error:
            raise Retryable(f"what answers on '{self._list}' is not JetStream: {error}") from None
        if found and found.error:
            raise _refusal(found.error)
        if found and not found.streams:
            raise self._missing_stream()

    async def _look_up(self) -> _Response | None:
        """Look the subject's streams up; return None if the user may not.

        A stream of another account is not among them, and confirms all the same.

        Raises:
            Retryable: one of them confirms nothing.
            ValueError: the reply is not JetStream's.
        """
        payload = msgspec.json.encode({"subject": self.subject})
        try:
            reply = await self.connection.await_reply(
                self.connection.request(self._list, payload, timeout=LOOK_UP_SECONDS)
            )
        except errors.Error:
            if self.connection.permission_error is None:
                raise
            self.connection.permission_error = None  # the user may publish all the same
            return None
        found = _decode(reply.data)
        silent = next((each.config.name for each in found.streams or () if each.config.no_ack), "")
        if silent:
            raise Retryable(
                f"the stream {silent} confirms nothing (no_ack): `nats stream edit {silent} --ack`"
            )
        return found

    def _parse_reply(self, data: bytes, headers: bytes) -> DeliveryError | None:
        if not data and headers and headers.startswith(_NO_RESPONDERS):
            return self._missing_stream()
        try:
            error = _decode(data).error
        except ValueError:
            return Retryable(f"a subscriber answered on '{self.subject}', which is not a stream")
        # A message that the stream already has is no error: the reply says "duplicate".
        return _refusal(error) if error else None

    def _missing_stream(self) -> Retryable:
        return Retryable(
            f"no stream has the subject '{self.subject}': create one, for example by `nats stream "
            f"add events --subjects {self.subject}`, or name its domain in jetstream_domain"
        )


def _refusal(error: _Error) -> DeliveryError:
    codes = (str(error.err_code), str(error.code))
    return ANSWERS.error("JetStream refused it", error.description, codes)
