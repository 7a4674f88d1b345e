"""The body of a request: read to the end within a bound, or passed on piece by piece.

Both check it on the way. What is passed on lacks its last piece until the check has ended well.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, Final

from bucketcast.control.errors import S3Error
from bucketcast.control.signature.payload import Payload

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
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
        async with _patience(PATIENCE_SECONDS):
            async for piece in self._pieces():
                whole += piece
                if len(whole) > limit:
                    raise S3Error("EntityTooLarge", MaxSizeAllowed=str(limit))
        return bytes(whole)

    async def stream(self) -> AsyncIterator[bytes]:
        """Give it in pieces, the last one when all is known to be good.

        Raises:
            S3Error: it is not what was signed, or the client is too slow.
            Gone: the client went away.
        """
        held = b""
        async for piece in self._pieces():
            if held:
                yield held
            held = piece
        if held:
            yield held

    async def _pieces(self) -> AsyncIterator[bytes]:
        """The content, checked to its end."""
        more = True
        while more:
            async with _patience(PATIENCE_SECONDS):
                message = await self._receive()
            if message["type"] == "http.disconnect":
                raise Gone
            more = message.get("more_body", False)
            if piece := self.payload.feed(message.get("body", b"")):
                yield piece
        self.payload.finish()


@asynccontextmanager
async def _patience(seconds: float) -> AsyncIterator[None]:
    """A time limit whose end is S3's error."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise S3Error("RequestTimeout") from None
