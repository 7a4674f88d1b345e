"""uvicorn's protocol with limits on a client's headers and on the time they take."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bucketcast.limits import MOST_HEADERS, MOST_HEADERS_BYTES
from bucketcast.web.authentication import ABORT, AUDITED

HEADERS_SECONDS: Final = 4.0
"""The seconds from connecting to the end of the headers."""
_TURN_SECONDS: Final = 0.001
"""The seconds of a turn in which calls of unknown users are taken: then others have theirs, and
these are answered, which takes several times as long."""
_SHARES: Final = 4
"""Into so many shares the places are divided; a user may hold one when others need places."""
_REFUSED, _SILENT, _JUDGED, _IDLE, _BUSY = range(5)


class Protocol(HttpToolsProtocol):
    """A connection that is closed when its headers are too slow or too large.

    Beyond the limit of connections, `_least_needed` says which one is closed.
    """

    _states: ClassVar[list[dict["Protocol", None]]] = [{} for _ in range(5)]
    """The connections in each state, in the order in which they came to it."""
    _unread: ClassVar[deque[Callable[[], None]]] = deque()
    """Each reads what an unknown user has sent."""
    _unread_here = 0
    _state = _SILENT
    _timer: asyncio.TimerHandle | None = None
    _received = 0
    _within_headers = True

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        # uvicorn's own limit refuses calls until those of closed connections have ended.
        self._most, self.limit_concurrency = self.limit_concurrency, None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._start_timer()
        if self._most and len(self.connections) >= self._most:
            closed = self._least_needed(self._most // _SHARES)
            if closed is not None:
                closed.forget()
                closed.transport.abort()
        self.move(_SILENT)

    def _least_needed(self, share: int) -> "Protocol | None":
        """Return the connection to close; None if each serves a user with no more than a share.

        First those that were refused go. A call whose user is not known yet is only closed when
        such calls are more than the connections that have said nothing.
        """
        refused, silent, judged, idle, busy = self._states
        while (first := next(iter(judged), None)) and first.user():
            first.move(_BUSY)
        for state in (refused, max(silent, judged, key=len)):
            if state:
                return next(iter(state))
        of_users = (*idle, *busy)
        for user, held in Counter(one.user() for one in of_users).most_common(1):
            if held > share:
                return next(one for one in of_users if one.user() == user)
        return next(iter(idle), None)

    def user(self) -> str:
        """Return the name of the last call's user, if it is known."""
        audited: Any = self.cycle.scope.get(AUDITED, {}) if self.cycle else {}
        return str(audited.get("user", ""))

    def move(self, state: int) -> None:
        """Count this connection as the last that came to a state."""
        self._states[self._state].pop(self, None)
        self._state = state
        self._states[state][self] = None

    def forget(self) -> None:
        """Do not count this connection any more: it is closed soon."""
        self._states[self._state].pop(self, None)
        self.connections.discard(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self.forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.user() and not self._unread_here:
            self._read(data)
            return
        self.flow.pause_reading()
        self._unread_here += 1
        self._unread.append(partial(self._read_later, data))
        if len(self._unread) == 1:
            self.loop.call_soon(self._read_on, self.loop)

    @classmethod
    def _read_on(cls, loop: asyncio.AbstractEventLoop) -> None:
        end = loop.time() + _TURN_SECONDS
        try:
            while cls._unread and loop.time() < end:
                cls._unread.popleft()()
        finally:
            if cls._unread:
                loop.call_soon(cls._read_on, loop)

    def _read_later(self, data: bytes) -> None:
        self._unread_here -= 1
        if not self.transport.is_closing():
            self.flow.resume_reading()
            self._read(data)

    def _read(self, data: bytes) -> None:
        if self._within_headers:
            self._received += len(data)
        super().data_received(data)
        if not (self._within_headers and self._received) or self.transport.is_closing():
            return
        # Most requests arrive in one piece, which needs no timer.
        if self._timer is None:
            self._start_timer()
        if self._received > MOST_HEADERS_BYTES:
            self.send_400_response("The headers are too long.")

    def send_400_response(self, msg: str) -> None:
        """Refuse what was read; requests before it are answered first, and then it is closed."""
        if self.cycle and not self.cycle.response_complete and not self.cycle.more_body:
            self.cycle.keep_alive = False
        else:
            super().send_400_response(msg)

    def on_message_begin(self) -> None:
        if self.pipeline:  # one is at work and one waits: uvicorn would hold as many as are sent
            raise ValueError  # which the parser reports as an invalid request
        self._within_headers = True
        super().on_message_begin()
        self.scope[ABORT] = self.transport.abort  # type: ignore[typeddict-unknown-key]

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        if len(self.headers) > MOST_HEADERS:
            raise ValueError  # which the parser reports as an invalid request

    def on_headers_complete(self) -> None:
        self._within_headers = False
        self._received = 0
        self._stop_timer()
        super().on_headers_complete()
        self.move(_JUDGED)

    def on_response_complete(self) -> None:
        self._within_headers = True
        if self in self._states[self._state]:
            self.move(_IDLE if self.user() else _REFUSED)
        super().on_response_complete()

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(HEADERS_SECONDS, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
