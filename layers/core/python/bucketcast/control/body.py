"""The body of a request: read to the end within a bound, or passed on piece by piece.

Both check it on the way. What is passed on lacks its last piece until the check has ended well.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any, Final

from bucketcast.control.errors import S3Error
from bucketcast.control.signature.payload import Payload

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_DRAINED: Final = 32 << 20
_DRAIN_SECONDS: Final = 10.0
PATIENCE_SECONDS: Final = 60.0
"""Without a byte for so long, a client is taken for gone."""


class Gone(Exception):
    """The client went away in the middle of its request."""


class Body:
    """What a client sends after its headers; to be read once."""

    def __init__(self, receive: Receive, payload: Payload) -> None:
        self._receive = receive
        self.payload = payload

    async def read(self, limit: int) -> bytes:
        """Give all of it.

        Raises:
            S3Error: it is longer than `limit`, not what was signed, or the client is too slow.
            Gone: the client went away.
        """
        if (self.payload.length or 0) > limit:
            raise S3Error("EntityTooLarge", MaxSizeAllowed=str(limit))
        whole = bytearray()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                async for piece in self._pieces(self._receive):
                    whole += piece
                    if len(whole) > limit:
                        raise S3Error("EntityTooLarge", MaxSizeAllowed=str(limit))
        except TimeoutError:
            raise S3Error("RequestTimeout") from None
        return bytes(whole)

    async def stream(self) -> AsyncIterator[bytes]:
        """Give it in pieces, the last one when all is known to be good.

        Raises:
            S3Error: it is not what was signed, or the client is too slow.
            Gone: the client went away.
        """
        held = b""
        async for piece in self._pieces(self._patiently):
            if held:
                yield held
            held = piece
        if held:
            yield held

    async def gone(self) -> None:
        """Return when the client went away; what it still sends is dropped."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _patiently(self) -> MutableMapping[str, Any]:
        """The next message, which has a time limit of its own."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self._receive()
        except TimeoutError:
            raise S3Error("RequestTimeout") from None

    async def _pieces(self, receive: Receive) -> AsyncIterator[bytes]:
        """The content, checked to its end."""
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            more = message.get("more_body", False)
            if piece := self.payload.feed(message.get("body", b"")):
                yield piece
        self.payload.finish()


class Wire:
    """What comes behind the headers, and whether all of it has come."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ended = False

    async def __call__(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        self._ended = message["type"] == "http.disconnect" or not message.get("more_body", False)
        return message

    async def drain(self, headers: Mapping[str, str]) -> None:
        """Drop the rest of a body that was refused, if it is not too much.

        A client that is still sending when the connection is closed never reads the answer.
        """
        length = headers.get("content-length", "")
        if "expect" in headers or not length.isdecimal() or int(length) > _DRAINED:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while not self._ended:
                    await self()
