"""Record the events of the deployment: one listener for all browsers, and the logs beside it.

Both begin with the first view of events and end some minutes after the last one.
"""

import asyncio
import time
from functools import partial
from typing import Final

from starlette.concurrency import run_in_threadpool

from bucketcast.console.context import Context
from bucketcast.console.recent import Recent
from bucketcast.diagnose import steps
from bucketcast.diagnose.aws import logs
from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.event.names import BUCKET_CREATED, BUCKET_REMOVED, SINGLES
from bucketcast.listen.command import Session, user
from bucketcast.listen.listener import EventsLostError, ListenFilter

_NAMES: Final = (*sorted(SINGLES), BUCKET_CREATED, BUCKET_REMOVED)
_IDLE_SECONDS: Final = 600.0
_RETRY_SECONDS: Final = 5.0
_LOG_SECONDS: Final = 2.0
_LISTENER: Final = "listener"
_LOGS: Final = "logs"
_LATE_MS: Final = 20_000
"""How much later than a newer one a log line may appear."""


class Recorder:
    """Records events; `since` is Unix ms, 0 until the listener is there. `notes` are problems."""

    def __init__(self, context: Context) -> None:
        self._recent = Recent()
        self.since = 0
        self.notes: dict[str, str] = {}
        self._context = context
        self._looked_at = 0.0
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Begin to record, or go on with it; called in the event loop by whatever shows events."""
        self._looked_at = time.monotonic()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    @property
    def recent(self) -> Recent:
        """The events and their steps; it goes on as long as somebody reads them."""
        self._looked_at = time.monotonic()
        return self._recent

    async def _run(self) -> None:
        self._recent, self.since, self.notes = Recent(), 0, {}
        async with asyncio.TaskGroup() as group:
            parts = (self._listen, self._read_logs)
            tasks = [group.create_task(part()) for part in parts]
            while (left := self._looked_at + _IDLE_SECONDS - time.monotonic()) > 0:  # noqa: ASYNC110 - readers move its end
                await asyncio.sleep(left)
            for task in tasks:
                task.cancel()

    async def _listen(self) -> None:
        while True:
            try:
                deployment = await run_in_threadpool(lambda: self._context.deployed)
                session = Session(
                    deployment,
                    self._context.aws,
                    ListenFilter(user("console"), "", _NAMES),
                    show=lambda _: None,
                    note=partial(self.notes.__setitem__, _LISTENER),
                    line=self._add,
                    began=self._begin,
                )
                await session()
            except EventsLostError as error:
                self.notes["lost"] = str(error)
            except BucketcastError as error:
                self.notes[_LISTENER] = str(error)
            await asyncio.sleep(_RETRY_SECONDS)

    def _begin(self) -> None:
        self.notes.pop(_LISTENER, None)
        self.since = self.since or round(time.time() * 1_000)

    def _add(self, event: Event) -> bytes:
        """Keep an event; nothing is written of it."""
        self.notes.pop(_LISTENER, None)
        self._recent.add(event, round(time.time() * 1_000))
        return b""

    async def _read_logs(self) -> None:
        newest = round(time.time() * 1_000)
        while True:
            try:
                newest = await run_in_threadpool(self._read_steps, newest)
                self.notes.pop(_LOGS, None)
            except BucketcastError as error:  # the next round reads the same again
                self.notes[_LOGS] = f"what becomes of events is not known: {error}"
            await asyncio.sleep(_LOG_SECONDS)

    def _read_steps(self, newest: int) -> int:
        """Add the steps that the logs have; return the time of the newest."""
        deployment, aws = self._context.deployed, self._context.aws
        for line in logs.lines(logs.ANY, deployment.functions, newest - _LATE_MS, aws):
            self._recent.add_steps(steps.read_steps(line))
            newest = max(newest, line.at)
        return newest
