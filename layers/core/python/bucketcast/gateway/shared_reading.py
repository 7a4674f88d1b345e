"""A value that is read from AWS, once for all calls that wait for it."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedReading(Generic[T]):
    """The value that `read` returns; it is read in a thread of its own.

    Readings begin at least `pause` seconds apart, for callers that anybody may send.
    """

    def __init__(self, read: Callable[[], T], *, pause: float) -> None:
        self._read = read
        self._pause = pause
        self._thread = ThreadPoolExecutor(1, "shared reading")
        self._reading: asyncio.Future[T] | None = None
        self._began = 0.0

    async def __call__(self, since: float) -> T:
        """Return the value as it was at `since` (seconds since 1970) or later.

        Raises:
            BucketcastError: AWS does not answer.
        """
        # What began before may not have what the caller looks for.
        if self._reading and not self._reading.done() and self._began < since:
            await asyncio.wait([self._reading])
        if self._reading is None or not self._serves(self._reading, since):
            # The wall clock, since the monotonic one stands still while Lambda freezes a function.
            now = time.time()
            pause = min(max(self._began + self._pause - now, 0.0), self._pause)
            self._began = now + pause
            self._reading = asyncio.ensure_future(self._read_after(pause))
        return await asyncio.shield(self._reading)

    async def _read_after(self, pause: float) -> T:
        await asyncio.sleep(pause)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read)

    def _serves(self, reading: "asyncio.Future[T]", since: float) -> bool:
        if reading.done() and (reading.cancelled() or reading.exception()):
            return False
        return since <= self._began <= time.time() + self._pause
