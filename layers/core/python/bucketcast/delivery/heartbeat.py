"""The visibility heartbeat: keeps messages in flight while they are processed, and no longer.

A queue's visibility timeout must be longer than the function's. If a function were killed, its
messages would be invisible for all that time. So it is shortened in a function that runs for longer
than a moment, and renewed while it does. What is done sooner costs no call.
"""

from collections.abc import Mapping
from threading import Event, Thread

from bucketcast.delivery.queue import Queue
from bucketcast.limits import (
    HEARTBEAT_CALL_SECONDS,
    HEARTBEAT_SECONDS,
    LAST_HEARTBEAT_SECONDS,
    SQS_CALL_MESSAGES,
)
from bucketcast.telemetry import logger


class Heartbeat:
    """Keeps messages in flight while it is entered: each for its `seconds`, by receipt.

    The `first` call is made after so many seconds. Thousands of messages are kept for longer: each
    is renewed only after all the others. A thread makes the calls. One that fails is repeated with
    the next beat.
    """

    def __init__(self, queue: Queue, seconds: Mapping[str, int], first: float) -> None:
        self._queue = queue
        round_seconds = round(len(seconds) / SQS_CALL_MESSAGES * HEARTBEAT_CALL_SECONDS)
        self._seconds = [(receipt, wait + round_seconds) for receipt, wait in seconds.items()]
        self._first = first
        self._ended = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        if self._seconds:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._seconds:
            # A call that came later than those that follow would undo their pauses.
            self._thread.join(LAST_HEARTBEAT_SECONDS)

    def _run(self) -> None:
        wait = self._first
        while not self._ended.wait(wait):
            self._renew()
            wait = HEARTBEAT_SECONDS

    def _renew(self) -> None:
        for start in range(0, len(self._seconds), SQS_CALL_MESSAGES):
            if self._ended.is_set():
                return
            try:
                self._queue.postpone(dict(self._seconds[start : start + SQS_CALL_MESSAGES]))
            except Exception as error:  # noqa: BLE001 - the next beat may do better
                logger.warning("messages were not kept in flight", reason=str(error))
