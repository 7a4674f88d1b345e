"""The listen calls: an endless stream, or on Lambda the events of a few seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Final

from bucketcast.aws.clients import aws_errors
from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.limits import LISTEN_SECONDS
from bucketcast.listen import request
from bucketcast.listen.aws.listeners import Listeners
from bucketcast.listen.listener import (
    LEASE_SECONDS,
    RENEWAL_SECONDS,
    EventsLostError,
    Listener,
    ListenFilter,
    TooManyListenersError,
)
from bucketcast.listen.queue import Queue, QueueNotFoundError
from bucketcast.listen.stream import Stream, keep_alive
from bucketcast.rules import Rule
from bucketcast.telemetry import logger
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from bucketcast.web.request import RawRequest
from bucketcast.web.responses import Handler, Send
from bucketcast.web.threads import in_thread

_POLL_LEASE_SECONDS: Final = LISTEN_SECONDS + 15.0
_SWEEP_SECONDS: Final = 30.0
_OFF: Final = (
    "listening is switched off: on AWS each listener occupies a function while it waits; "
    "listen_concurrency in [gateway] of bucketcast.toml and a deploy switch it on"
)
_ELSEWHERE: Final = "listening has an endpoint of its own, with the same users: {}"
_RETRY_SECONDS: Final = 1.0
_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
    (b"server", b"Bucketcast"),
)


class Listen:
    """The listen calls of one deployment.

    `attach` attaches a bucket, so that S3 reports its events, and may block. A call ends when its
    client disconnects if `endless`, else after at most `LISTEN_SECONDS`.
    """

    def __init__(
        self,
        listeners: Listeners,
        queue: Callable[[Listener], Queue],
        attach: Callable[[str, Sequence[Rule]], None],
        *,
        endless: bool,
    ) -> None:
        self._listeners = listeners
        self._queue = queue
        self._attach = attach
        self._endless = endless
        # What keeps all listeners waits for no call of a user.
        self._lease_thread = ThreadPoolExecutor(1, "lease of listeners")
        self._lease_lock = asyncio.Lock()
        self._renewal: asyncio.Task[None] | None = None
        self._renewed_at = -LEASE_SECONDS
        self._lapse = 0.0
        self._swept_at = time.monotonic()
        self._streams: dict[Stream, str] = {}
        """The id of the listener of each stream."""
        self._closed = False

    def answers(self, call: RawRequest) -> Handler | None:
        """Return the handler of a call; None if it is no listen call."""
        return self._answer if request.is_listen_call(call) else None

    def keep(self) -> None:
        """Renew the lease and sweep, while there are streams or listeners.

        When a gateway starts, there may be listeners of the one before.
        """
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._renew_periodically())

    def close(self) -> None:
        """End all streams; clients may resume at another gateway within a minute."""
        self._closed = True
        for stream in self._streams:
            stream.end()

    async def _answer(self, admitted: AuthenticatedRequest, send: Send) -> None:
        listen_filter = request.read_filter(admitted.call, admitted.user.id)
        if bucket := listen_filter.bucket:
            await in_thread(admitted, self._attach, bucket, [listen_filter.rule(bucket)])
        ping = request.read_ping(admitted.call)
        listener = await self._acquire(admitted, listen_filter)
        if self._endless:
            await self._stream(admitted, send, listener, ping)
        else:
            await self._poll(admitted, send, listener, ping)

    async def _acquire(
        self, admitted: AuthenticatedRequest, listen_filter: ListenFilter
    ) -> Listener:
        client = request.client(admitted.call, admitted.peer)
        try:
            if self._endless:
                await self._hold_lease()
            else:
                await asyncio.to_thread(aws_errors()(self._listeners.renew), _POLL_LEASE_SECONDS)
                await self._sweep_if_due()
            acquire = partial(self._listeners.acquire, waits=self._endless)
            return await in_thread(admitted, aws_errors()(acquire), listen_filter, client)
        except TooManyListenersError as error:
            raise S3Error("TooManyListeners", str(error)) from None
        except EventsLostError as error:
            raise S3Error("EventsLost", str(error)) from None

    async def _hold_lease(self) -> None:
        """Renew the lease, unless it was renewed a moment ago."""
        async with self._lease_lock:
            if time.monotonic() - self._renewed_at > RENEWAL_SECONDS:
                await self._renew_lease()

    async def _renew_lease(self) -> None:
        renewed_at, streams = time.monotonic(), dict(self._streams)
        loop, thread = asyncio.get_running_loop(), self._lease_thread
        lapse = await loop.run_in_executor(thread, aws_errors()(self._listeners.renew))
        self._renewed_at, self._lapse = renewed_at, max(lapse, self._lapse)
        if self._lapse and streams:
            held_after = partial(self._listeners.held_after, self._lapse)
            held = await loop.run_in_executor(thread, aws_errors()(held_after))
            for stream, listener_id in streams.items():
                if listener_id not in held:
                    stream.report_loss()
        self._lapse = 0.0

    async def _renew_periodically(self) -> None:
        """Renew the lease while there are streams or listeners."""
        remaining = 1
        while remaining or self._streams:
            await asyncio.sleep(RENEWAL_SECONDS)
            try:
                if self._streams:
                    await self._renew_lease()
                remaining = await self._sweep_if_due()
            except Exception as error:  # noqa: BLE001 - it continues when AWS answers again
                logger.warning("listeners cannot be kept now", reason=str(error))

    async def _sweep_if_due(self) -> int:
        if time.monotonic() - self._swept_at < _SWEEP_SECONDS:
            return 1
        self._swept_at = time.monotonic()
        return await asyncio.to_thread(aws_errors()(self._listeners.sweep))

    async def _stream(
        self, admitted: AuthenticatedRequest, send: Send, listener: Listener, ping: int
    ) -> None:

        async def may_see(event: Event) -> bool:
            while True:
                try:
                    return await _may_see(admitted, event)
                except S3Error:
                    # The event stays in the queue, and goes to the user's next call.
                    stream.end()
                    return False
                except BucketcastError as error:
                    logger.warning("a listener's rights cannot be read now", reason=str(error))
                    await asyncio.sleep(_RETRY_SECONDS)

        stream = Stream(
            self._queue(listener), _body_writer(send), keep_alive(ping), may_see=may_see
        )
        self._streams[stream] = listener.id
        self.keep()
        if self._closed:
            stream.end()
        disconnect = asyncio.ensure_future(admitted.body.wait_for_disconnect())
        disconnect.add_done_callback(lambda _: stream.end())
        try:
            async with self._store_end(listener):
                await send(_response_start())
                await admitted.while_confirmed(stream.run())
        except S3Error:
            return  # the connection is closed
        except EventsLostError as error:
            logger.warning("a listener lost events", listener=listener.id, reason=str(error))
            admitted.abort()
            return
        finally:
            self._streams.pop(stream, None)
            disconnect.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _poll(
        self, admitted: AuthenticatedRequest, send: Send, listener: Listener, ping: int
    ) -> None:
        """Answer with the events of a few seconds; the client calls again."""
        body = bytearray()

        async def write(content: bytes) -> None:
            body.extend(content)

        twins = partial(asyncio.to_thread, aws_errors()(self._listeners.twins), listener)
        stream = Stream(self._queue(listener), write, may_see=partial(_may_see, admitted))
        try:
            async with self._store_end(listener):
                await admitted.while_confirmed(stream.poll(LISTEN_SECONDS, twins))
        except EventsLostError as error:
            raise S3Error("EventsLost", str(error)) from None
        await send(_response_start())
        content = bytes(body) or keep_alive(ping).content
        await send({"type": "http.response.body", "body": content, "more_body": False})

    @asynccontextmanager
    async def _store_end(self, listener: Listener) -> AsyncIterator[None]:
        """Store the end of a listener's stream: lost, removed or released."""
        try:
            yield
        except EventsLostError as error:
            await self._update(self._listeners.mark_lost, listener, str(error))
            raise
        except QueueNotFoundError:
            await self._update(self._listeners.remove, listener)
        except BucketcastError:
            await self._update(self._listeners.release, listener)
            raise
        else:
            await self._update(self._listeners.release, listener)

    async def _update(self, update: Callable[..., None], *arguments: object) -> None:
        """Update a listener; if that fails, its lease expires by itself."""
        with suppress(Exception):
            await asyncio.to_thread(aws_errors()(update), *arguments)


def refuse_listening(call: RawRequest, url: str) -> None:
    """Refuse a listen call of an application that serves none; others do at `url`, "" if none do.

    Raises:
        S3Error: it is a listen call.
    """
    if request.is_listen_call(call):
        raise S3Error("InvalidRequest", _ELSEWHERE.format(url) if url else _OFF)


async def _may_see(admitted: AuthenticatedRequest, event: Event) -> bool:
    """Return True if a call's user may see an event.

    Raises:
        S3Error: the call would be refused now, or its user has other rights now.
    """
    await admitted.confirm()
    return "notify" in admitted.user.rights_on(event.bucket)


def _response_start() -> dict[str, object]:
    return {"type": "http.response.start", "status": 200, "headers": list(_HEADERS)}


def _body_writer(send: Send) -> Callable[[bytes], Awaitable[None]]:
    async def write(content: bytes) -> None:
        await send({"type": "http.response.body", "body": content, "more_body": True})

    return write
