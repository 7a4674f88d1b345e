"""The body of a request: read whole up to a limit, or streamed.

Both check it. A stream's last piece is held back until the check has succeeded.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any, Final

from bucketcast import limits
from bucketcast.web.errors import S3Error
from bucketcast.web.request import byte_count
from bucketcast.web.signature.payload import Payload

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_DRAINED: Final = 32 << 20
_DRAIN_SECONDS: Final = 10.0
IDLE_SECONDS: Final = 60.0
"""The seconds for which a client may send nothing."""
_held: Final[Counter[str]] = Counter()
_answers: Final[Counter[str]] = Counter()


class ClientDisconnected(Exception):
    """The client disconnected during its request."""


class RequestBody:
    """The body of a request; to be read once.

    `user_id` is whose it is, "" for those whose signature is not checked yet.
    """

    def __init__(self, receive: Receive, payload: Payload, user_id: str = "") -> None:
        self._receive = receive
        self._user_id = user_id
        self.payload = payload

    async def read(self, limit: int) -> bytes:
        """Return the whole body.

        Raises:
            S3Error: it is longer than `limit`, not what was signed, the client is too slow, or
                there are too many bodies now.
            ClientDisconnected: the client disconnected.
        """
        if (self.payload.length or 0) > limit:
            raise S3Error("EntityTooLarge", MaxSizeAllowed=str(limit))
        content = bytearray()
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                async for piece in self._pieces(self._receive):
                    content += piece
                    if len(content) > limit:
                        raise S3Error("EntityTooLarge", MaxSizeAllowed=str(limit))
                    if len(content) > limits.MOST_SMALL_BODY_BYTES:
                        most = limits.MOST_USER_BODIES_BYTES, limits.MOST_BODIES_BYTES
                        self._count(_held, len(piece), *most, "bytes of bodies")
        except TimeoutError:
            raise S3Error("RequestTimeout") from None
        return bytes(content)

    def count_answer(self) -> None:
        """Count an answer that is streamed until the call's task ends.

        Raises:
            S3Error: there are too many now.
        """
        self._count(_answers, 1, limits.MOST_USER_STREAMS, limits.MOST_STREAMS, "large answers")

    def _count(self, held: Counter[str], number: int, of_user: int, of_all: int, what: str) -> None:
        """Count what a call holds until its task ends."""
        user = self._user_id
        if held[user] + number > of_user or held.total() + number > of_all:
            most = f"{of_user:,} {what} of a user, {of_all:,} of all"
            raise S3Error("SlowDown", f"the gateway takes {most} at once: try again later")
        held[user] += number
        if task := asyncio.current_task():
            task.add_done_callback(lambda _: held.subtract({user: number}))

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the body in pieces, the last one after the whole is verified.

        Raises:
            S3Error: it is not what was signed, or the client is too slow.
            ClientDisconnected: the client disconnected.
        """
        delayed = b""
        async for piece in self._pieces(self._receive_in_time):
            if delayed:
                yield delayed
            delayed = piece
        if delayed:
            yield delayed

    async def wait_for_disconnect(self) -> None:
        """Wait until the client disconnects; further bytes are dropped."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _receive_in_time(self) -> MutableMapping[str, Any]:
        """Return the next message, within a time limit of its own."""
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                return await self._receive()
        except TimeoutError:
            raise S3Error("RequestTimeout") from None

    async def _pieces(self, receive: Receive) -> AsyncIterator[bytes]:
        """Yield the content, and check it at the end."""
        has_more = True
        while has_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            has_more = message.get("more_body", False)
            if piece := self.payload.feed(message.get("body", b"")):
                yield piece
        self.payload.finish()


class RequestStream:
    """The messages after the headers; it knows if the last has been received."""

    def __init__(self, scope: Mapping[str, Any], receive: Receive) -> None:
        self._headers = dict(scope["headers"])
        self._receive = receive
        self._ended = False

    async def __call__(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        self._ended = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message

    async def drain(self) -> None:
        """Drop the rest of a refused body, if it is not too large.

        A client that is still sending when the connection is closed never reads the response.
        """
        length = byte_count(self._headers.get(b"content-length", b"").decode("latin-1"))
        if b"expect" in self._headers or length is None or length > _DRAINED:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while not self._ended:
                    await self()
