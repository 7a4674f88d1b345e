"""uvicorn's protocol with limits on a client's headers and on the time they take."""

import asyncio
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bucketcast.web.authentication import ABORT, AUDITED

MAX_HEADERS: Final = 65_536
"""Bytes of a request line and its headers: S3 allows 8 KB of headers, presigned URLs more."""
HEADERS_SECONDS: Final = 4.0
"""The seconds from connecting to the end of the headers."""
_BUSY: Final = 2


class Protocol(HttpToolsProtocol):
    """A connection that is closed when its headers are too slow or too large.

    Beyond the limit of connections a stranger's is closed, whether it is idle or still sends, else
    an idle one of a user; of these the one that was opened or answered longest ago.
    """

    _opened: ClassVar[dict["Protocol", None]] = {}
    """All connections, in the order in which they were opened or answered last."""
    _timer: asyncio.TimerHandle | None = None
    _received = 0
    _within_headers = True

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_timer()
        if self.limit_concurrency and len(self.connections) >= self.limit_concurrency:
            ranked = (one for rank in range(_BUSY) for one in self._opened if one.rank() == rank)
            closed = next(ranked, None)
            if closed is not None:
                closed.forget()
                closed.transport.abort()
        self._opened[self] = None

    def rank(self) -> int:
        """Return 0 without a user in the last request, 1 once that is answered, else `_BUSY`."""
        if self.cycle is None:
            return 0
        audited: Any = self.cycle.scope.get(AUDITED, {})
        return bool(audited.get("user")) * (1 if self.cycle.response_complete else _BUSY)

    def forget(self) -> None:
        """Do not count this connection any more: it is closed soon."""
        self._opened.pop(self, None)
        self.connections.discard(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self.forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._within_headers:
            self._received += len(data)
        super().data_received(data)
        if not (self._within_headers and self._received) or self.transport.is_closing():
            return
        # Most requests arrive in one piece, which needs no timer.
        if self._timer is None:
            self._start_timer()
        if self._received > MAX_HEADERS:
            self.send_400_response("The headers are too long.")

    def on_message_begin(self) -> None:
        self._within_headers = True
        super().on_message_begin()
        self.scope[ABORT] = self.transport.abort  # type: ignore[typeddict-unknown-key]

    def on_headers_complete(self) -> None:
        self._within_headers = False
        self._received = 0
        self._stop_timer()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        self._within_headers = True
        self._opened[self] = self._opened.pop(self, None)
        super().on_response_complete()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEADERS_SECONDS, self._time_out)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_out(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()
