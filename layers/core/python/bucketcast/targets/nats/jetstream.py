"""JetStream: what is published is acknowledged once the stream has it."""

import msgspec
from nats import errors
from nats.aio.msg import Msg

from bucketcast.errors import DeliveryError, Rejected, Retryable, Throttled
from bucketcast.targets.nats.acknowledged import Acknowledged
from bucketcast.targets.nats.batch import USUAL_PAYLOAD, Batch, Message
from bucketcast.targets.nats.connection import NEVER, Connection
from bucketcast.targets.nats.core import Core

IN_FLIGHT = 500
"""Messages on their way at a time; a server buffers 10,000 for a stream."""
PAUSE = 1.0
"""Seconds that a stream is given which has too much to do."""

_STREAMS = "$JS.API.STREAM.NAMES"
_TOO_MANY_REQUESTS = 429
_TOO_LARGE = 10_054
_NO_RESPONDERS = "503"


class _Error(msgspec.Struct):
    code: int = 0
    err_code: int = 0
    description: str = ""


class _Answer(msgspec.Struct):
    error: _Error | None = None
    streams: list[str] | None = None


_decode = msgspec.json.Decoder(_Answer).decode


class JetStream(Core):
    """Publishes to the stream that has the subject; see `Core`."""

    def __init__(self, connection: Connection, subject: str) -> None:
        super().__init__(connection, subject, needs_headers=True)
        self._acknowledged = Acknowledged(connection, IN_FLIGHT, self._failure)

    async def open(self) -> None:
        await super().open()
        await self._acknowledged.open()

    async def send(self, batch: Batch) -> None:
        put, subject = self.connection.put, self.subject
        acknowledged = self._acknowledged
        for message in batch.messages(self.connection.max_payload, headers=True):
            await acknowledged.room()
            reply = acknowledged.reply(batch, message)
            await put(subject, message.head, message.body, reply)
        await acknowledged.all()

    async def probe(self) -> None:
        payload = msgspec.json.encode({"subject": self.subject})
        try:
            answer = await self.connection.answer(
                self.connection.request(_STREAMS, payload, timeout=NEVER)
            )
        except errors.NoRespondersError:
            raise Retryable("JetStream is off in this server, or for this account") from None
        except errors.Error:
            if self.connection.forbidden is None:
                raise
            self.connection.forbidden = None  # it may publish all the same
            return
        if not _decode(answer.data).streams:
            raise self._no_stream()

    def _failure(self, answer: Msg, message: Message) -> DeliveryError | None:
        if not answer.data and answer.headers and answer.headers.get("Status") == _NO_RESPONDERS:
            return self._no_stream()
        try:
            error = _decode(answer.data).error
        except msgspec.DecodeError:
            return Retryable(f"something answered on '{self.subject}' that is no stream")
        # A message that the stream has already is no error: "duplicate" stands beside it.
        return self._refusal(error, len(message.head) + len(message.body)) if error else None

    @staticmethod
    def _refusal(error: _Error, size: int) -> DeliveryError:
        said = f"the stream did not take it: {error.description}"
        if error.code == _TOO_MANY_REQUESTS:
            return Throttled(said, after=PAUSE)
        if error.err_code == _TOO_LARGE:
            if size > USUAL_PAYLOAD:
                return Rejected(f"{said}: {size} bytes")
            return Retryable(f"{said}: {size} bytes; raise --max-msg-size of the stream")
        return Retryable(said)

    def _no_stream(self) -> Retryable:
        return Retryable(
            f"no stream has the subject '{self.subject}': make one, such as by `nats stream add "
            f"events --subjects {self.subject}`"
        )
