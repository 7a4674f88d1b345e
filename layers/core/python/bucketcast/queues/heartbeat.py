"""The visibility heartbeat: keeps messages in flight while they are processed, and no longer.

A queue's visibility timeout must be several times the function's timeout. If a function were
killed, its messages would be invisible for all that time. So it is shortened on receipt, and
renewed while the function runs.
"""

from collections.abc import Mapping
from threading import Event, Thread
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.queues import BATCH, Queue
from bucketcast.telemetry import logger

BEAT_SECONDS: Final = 5.0
_LAST_CALL_SECONDS: Final = 5.0
_CALL_SECONDS: Final = 0.1
"""What one call may take, of a function with little of a processor and much to do."""


class Heartbeat:
    """Keeps messages in flight while it is entered; `seconds` by receipt is for how long.

    With thousands of messages it is longer still: each has its turn only after all the others. A
    thread makes the calls. One that fails is repeated with the next beat.
    """

    def __init__(self, queue: Queue, seconds: Mapping[str, int]) -> None:
        self._queue = queue
        turns = round(len(seconds) / BATCH * _CALL_SECONDS)
        self._seconds = [(receipt, wait + turns) for receipt, wait in seconds.items()]
        self._over = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        if self._seconds:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._seconds:
            # A call that came later than those that follow would undo their pauses.
            self._thread.join(_LAST_CALL_SECONDS)

    def _run(self) -> None:
        while True:
            self._renew()
            if self._over.wait(BEAT_SECONDS):
                return

    def _renew(self) -> None:
        for start in range(0, len(self._seconds), BATCH):
            if self._over.is_set():
                return
            try:
                self._queue.postpone(dict(self._seconds[start : start + BATCH]))
            except (BotoCoreError, ClientError) as error:
                logger.warning("messages were not kept in flight", reason=str(error))
