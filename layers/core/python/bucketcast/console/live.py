"""Live parts of pages: fragments of HTML, sent as server-sent events.

A browser gets the newest fragment when it is ready for one, so a slow one skips some, and nothing
piles up.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Final

from markupsafe import escape
from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from bucketcast.errors import BucketcastError

_KEEP_ALIVE_SECONDS: Final = 15.0


def stream(read: Callable[[], str], seconds: float) -> StreamingResponse:
    """Return the response to an `EventSource`; `read` is called in a thread every `seconds`."""
    return StreamingResponse(events(read, seconds), media_type="text/event-stream")


async def events(read: Callable[[], str], seconds: float) -> AsyncIterator[str]:
    """Yield the fragment now and whenever it has changed, a comment if it has not for a while."""
    shown, sent = "", time.monotonic()
    while True:
        try:
            fragment = await run_in_threadpool(read)
        except BucketcastError as error:  # the rest of the page shows what was read last
            fragment = f'<p class="live" id="live" role="status">{escape(str(error))}</p>'
        if fragment != shown or time.monotonic() - sent >= _KEEP_ALIVE_SECONDS:
            lines = [f"data: {line}\n" for line in fragment.splitlines()]
            yield "".join(lines if fragment != shown else ":\n") + "\n"
            shown, sent = fragment, time.monotonic()
        await asyncio.sleep(seconds)
