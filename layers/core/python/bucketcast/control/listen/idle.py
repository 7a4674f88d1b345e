"""Detect when ingest is idle: then no earlier event can follow those received."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

_LOOKED_SECONDS: Final = 0.05
_SILENT_SECONDS: Final = 1.0


class IdleMonitor:
    """Polls the ingress queue for all streams together, while one of them holds events.

    `depth` returns how many messages the queue has, with those in flight and delayed.
    """

    def __init__(
        self, depth: Callable[[], Awaitable[int]], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._depth = depth
        self._now = now
        self._asking: set[asyncio.Event] = set()
        self._looking: asyncio.Task[None] | None = None
        self.since = float("-inf")
        """When the last poll began that found the queue empty."""

    def ask(self, event: asyncio.Event) -> None:
        """Set the event when the queue is found empty."""
        self._asking.add(event)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())

    def leave(self, event: asyncio.Event) -> None:
        """Forget an event that was to be set."""
        self._asking.discard(event)

    async def _look(self) -> None:
        while self._asking:
            began, pause = self._now(), _LOOKED_SECONDS
            try:
                if not await self._depth():
                    self.since = began
                    for event in self._asking:
                        event.set()
                    self._asking.clear()
            except Exception:  # noqa: BLE001 - events are then sent in order of time
                pause = _SILENT_SECONDS
            await asyncio.sleep(pause)
