"""The listen calls: an endless stream, or on Lambda the events of some seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final, ParamSpec, TypeVar

from bucketcast.aws.clients import aws_errors
from bucketcast.listen import request
from bucketcast.listen.aws.listeners import Listeners
from bucketcast.listen.listener import (
    LEASE_SECONDS,
    RENEWED_SECONDS,
    EventsLostError,
    Listener,
    ListenFilter,
    TooManyListenersError,
)
from bucketcast.listen.queue import Queue, QueueGoneError
from bucketcast.listen.stream import Stream, keep_alive
from bucketcast.telemetry import logger
from bucketcast.web.authentication import AuthenticatedRequest, FindAccount
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.responses import Handler, Send

P = ParamSpec("P")
T = TypeVar("T")
POLL_SECONDS: Final = 15.0
_LEASE_OF_POLL: Final = POLL_SECONDS + 15.0
_SWEPT_SECONDS: Final = 30.0
_PREPARED_SECONDS: Final = 5.0
_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
    (b"server", b"Bucketcast"),
)


class Listen:
    """The listen calls of one deployment; `prepare` attaches a bucket.

    With `endless` streams end when the client disconnects, else after `POLL_SECONDS`.
    """

    def __init__(
        self,
        listeners: Listeners,
        queue: Callable[[Listener], Queue],
        prepare: Callable[[str], None],
        find_account: FindAccount,
        *,
        endless: bool,
    ) -> None:
        self._listeners = listeners
        self._queue = queue
        self._prepare = prepare
        self._find_account = find_account
        self._endless = endless
        self._taking: asyncio.Lock | None = None
        self._renewing: asyncio.Task[None] | None = None
        self._renewed_at = -LEASE_SECONDS
        self._lapse = 0.0
        self._swept_at = time.monotonic()
        self._prepared: dict[str, tuple[float, asyncio.Future[None]]] = {}
        self._streams: dict[Stream, tuple[str, str]] = {}
        """The access key of each stream's user, and the id of its listener."""
        self._closed = False

    def answers(self, call: RawRequest) -> Handler | None:
        """Return the handler of a call; None if it is no listen call."""
        return self._answer if request.is_listening(call) else None

    def close(self) -> None:
        """End all streams; clients may resume elsewhere within a minute."""
        self._closed = True
        for stream in self._streams:
            stream.end()

    def clean(self) -> int:
        """Remove the listeners whose clients did not come back; return how many are left."""
        return _explained(self._listeners.sweep)

    async def _answer(self, admitted: AuthenticatedRequest, send: Send) -> None:
        wanted = request.read(admitted.call, admitted.user.name)
        if wanted.bucket:
            await self._attach(wanted.bucket)
        ping = request.ping(admitted.call)
        self._taking = self._taking or asyncio.Lock()
        async with self._taking:
            listener = await self._take(wanted)
        if self._endless:
            await self._stream(admitted, send, listener, ping)
        else:
            await self._poll(send, listener, ping)

    async def _take(self, wanted: ListenFilter) -> Listener:
        try:
            if self._endless:
                await self._hold()
            else:
                await asyncio.to_thread(_explained, self._listeners.renew, _LEASE_OF_POLL)
                await self._sweep_now_and_then()
            return await asyncio.to_thread(_explained, self._listeners.take, wanted)
        except TooManyListenersError as error:
            raise S3Error("TooManyListeners", str(error)) from None
        except EventsLostError as error:
            raise S3Error("EventsLost", str(error)) from None

    async def _attach(self, bucket: str) -> None:
        """Attach a bucket, once for calls at the same time."""
        fresh = time.monotonic() - _PREPARED_SECONDS
        self._prepared = {name: one for name, one in self._prepared.items() if one[0] > fresh}
        if bucket not in self._prepared:
            done = asyncio.ensure_future(asyncio.to_thread(self._prepare, bucket))
            self._prepared[bucket] = (time.monotonic(), done)
        try:
            await asyncio.shield(self._prepared[bucket][1])
        except Exception:
            self._prepared.pop(bucket, None)
            raise

    async def _hold(self) -> None:
        """Renew the lease, now and periodically."""
        if time.monotonic() - self._renewed_at > RENEWED_SECONDS:
            await self._renew_now()
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())

    async def _renew_now(self) -> None:
        at, streams = time.monotonic(), dict(self._streams)
        lapse = await asyncio.to_thread(_explained, self._listeners.renew)
        self._renewed_at, self._lapse = at, max(lapse, self._lapse)
        if self._lapse and streams:
            leased = await asyncio.to_thread(_explained, self._listeners.leased, self._lapse)
            for stream, (_, listener) in streams.items():
                if listener not in leased:
                    stream.lose()
        self._lapse = 0.0

    async def _renew(self) -> None:
        """Renew leases while there are streams or listeners left."""
        left = 1
        while left or self._streams:
            await asyncio.sleep(RENEWED_SECONDS)
            try:
                if self._streams:
                    await self._renew_now()
                    await self._end_unauthorized()
                left = await self._sweep_now_and_then()
            except Exception as error:  # noqa: BLE001 - it goes on when AWS answers again
                logger.warning("listeners cannot be kept now", reason=str(error))

    async def _end_unauthorized(self) -> None:
        """End the streams of users who were removed."""
        for access_key in {its for its, _ in self._streams.values()}:
            if await self._find_account(access_key) is None:
                for stream, (its, _) in self._streams.items():
                    if its == access_key:
                        stream.end()

    async def _sweep_now_and_then(self) -> int:
        if time.monotonic() - self._swept_at < _SWEPT_SECONDS:
            return 1
        self._swept_at = time.monotonic()
        return await asyncio.to_thread(self.clean)

    async def _stream(
        self, admitted: AuthenticatedRequest, send: Send, listener: Listener, ping: int
    ) -> None:
        stream = Stream(self._queue(listener), _writing(send), keep_alive(ping))
        self._streams[stream] = (admitted.user.access_key, listener.id)
        if self._closed:
            stream.end()
        watching = asyncio.ensure_future(admitted.body.wait_for_disconnect())
        watching.add_done_callback(lambda _: stream.end())
        try:
            async with self._settling(listener):
                await send(_start())
                await stream.run()
        except EventsLostError as error:
            logger.warning("a listener lost events", listener=listener.id, reason=str(error))
            admitted.abort()
            return
        finally:
            self._streams.pop(stream, None)
            watching.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _poll(self, send: Send, listener: Listener, ping: int) -> None:
        """Answer the events of some seconds, after which the client calls again."""
        written = bytearray()

        async def write(text: bytes) -> None:
            written.extend(text)

        stream = Stream(self._queue(listener), write)
        try:
            async with self._settling(listener):
                await stream.once(POLL_SECONDS)
        except EventsLostError as error:
            raise S3Error("EventsLost", str(error)) from None
        await send(_start())
        body = bytes(written) or keep_alive(ping).text
        await send({"type": "http.response.body", "body": body, "more_body": False})

    @asynccontextmanager
    async def _settling(self, listener: Listener) -> AsyncIterator[None]:
        """Store how a listener's stream ended."""
        try:
            yield
        except EventsLostError as error:
            await self._change(self._listeners.lose, listener, str(error))
            raise
        except QueueGoneError:
            await self._change(self._listeners.remove, listener)
        else:
            await self._change(self._listeners.release, listener)

    async def _change(self, change: Callable[..., None], *given: object) -> None:
        """Change a listener; on failure its lease expires by itself."""
        with suppress(Exception):
            await asyncio.to_thread(_explained, change, *given)


def _start() -> dict[str, object]:
    return {"type": "http.response.start", "status": 200, "headers": list(_HEADERS)}


def _writing(send: Send) -> Callable[[bytes], Awaitable[None]]:
    async def write(text: bytes) -> None:
        await send({"type": "http.response.body", "body": text, "more_body": True})

    return write


def _explained(call: Callable[P, T], *given: P.args, **more: P.kwargs) -> T:
    with aws_errors():
        return call(*given, **more)
