"""Live parts of pages: fragments of HTML, sent as server-sent events.

A feed is read once for all browsers that show it, and only while one does. Each browser gets the
newest fragment when it is ready for one, so a slow browser skips some, and nothing piles up.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Final
from weakref import WeakValueDictionary

from markupsafe import escape
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from bucketcast.errors import BucketcastError

_KEEP_ALIVE_SECONDS: Final = 15.0
Read = Callable[[], str]


class Feed:
    """One fragment, read in a thread every `seconds` while it is shown."""

    def __init__(self, read: Read, seconds: float) -> None:
        self._read = read
        self._seconds = seconds
        self._changed = asyncio.Condition()
        self._fragment = ""
        self._task: asyncio.Task[None] | None = None
        self.readers = 0

    async def fragments(self) -> AsyncIterator[str]:
        """Yield the fragment now and whenever it has changed; "" if it has not for a while."""
        self.readers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        shown = ""
        try:
            while True:
                async with self._changed:
                    try:
                        await asyncio.wait_for(
                            self._changed.wait_for(lambda: self._fragment != shown),  # noqa: B023
                            _KEEP_ALIVE_SECONDS,
                        )
                        news = shown = self._fragment
                    except TimeoutError:
                        if self._task.done():
                            self._task.result()  # the browser tries again
                        news = ""
                yield news
        finally:
            self.readers -= 1
            if not self.readers:
                self._task.cancel()
                self._task = None

    async def _run(self) -> None:
        while True:
            try:
                fragment = await run_in_threadpool(self._read)
            except BucketcastError as error:  # the rest of the page shows what was read last
                fragment = f'<p class="live" id="live" role="status">{escape(str(error))}</p>'
            if fragment != self._fragment:
                async with self._changed:
                    self._fragment = fragment
                    self._changed.notify_all()
            await asyncio.sleep(self._seconds)


class Feeds:
    """The feeds that are shown, by their addresses."""

    def __init__(self) -> None:
        self._feeds: WeakValueDictionary[str, Feed] = WeakValueDictionary()

    def stream(self, address: str, read: Read, seconds: float) -> StreamingResponse:
        """Return the response to an `EventSource`; only the first one's `read` is called."""
        events = self._events(address, read, seconds)
        return StreamingResponse(events, media_type="text/event-stream")

    async def _events(self, address: str, read: Read, seconds: float) -> AsyncIterator[str]:
        feed = self._feeds.setdefault(address, Feed(read, seconds))
        async for fragment in feed.fragments():
            lines = "".join(f"data: {line}\n" for line in fragment.splitlines())
            yield f"{lines or ':'}\n\n"
