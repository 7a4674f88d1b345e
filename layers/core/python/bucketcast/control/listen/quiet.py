"""When nothing is on its way through ingest: what came by then is followed by nothing earlier."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

_LOOKED_SECONDS: Final = 0.05
_SILENT_SECONDS: Final = 1.0


class Quiet:
    """Looks at the ingress queue for all streams together, and only while one of them holds events.

    `depth` tells how many messages the queue has, those in flight and delayed too.
    """

    def __init__(
        self, depth: Callable[[], Awaitable[int]], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._depth = depth
        self._now = now
        self._asking: set[asyncio.Event] = set()
        self._looking: asyncio.Task[None] | None = None
        self.since = float("-inf")
        """When a look began that found the queue empty."""

    def ask(self, told: asyncio.Event) -> None:
        """Set the event when the queue is found empty."""
        self._asking.add(told)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())

    def leave(self, told: asyncio.Event) -> None:
        """Forget who asked."""
        self._asking.discard(told)

    async def _look(self) -> None:
        while self._asking:
            began, pause = self._now(), _LOOKED_SECONDS
            try:
                if not await self._depth():
                    self.since = began
                    for told in self._asking:
                        told.set()
                    self._asking.clear()
            except Exception:  # noqa: BLE001 - events are told in order of time then
                pause = _SILENT_SECONDS
            await asyncio.sleep(pause)
