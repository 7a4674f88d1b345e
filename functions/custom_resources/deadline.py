"""The time that a call of the function has left, shared by all that waits in it."""

import time
from collections.abc import Callable
from typing import Final

from bucketcast.errors import BucketcastError

RESERVE: Final = 100.0
"""Seconds for a call of AWS that is in progress when the time is up, and for the answer.

A call that nobody answers is made four times, 13 seconds each and up to 7 between them; the answer
is given three times, 10 seconds each and 3 between them.
"""


class Deadline:
    """Waits until `left` seconds from now, less the `RESERVE`, are over.

    Each wait has an end of its own, and their sum may be longer than the function runs.
    """

    def __init__(
        self,
        left: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._end = clock() + left - RESERVE

    def sleep(self, seconds: float) -> None:
        """Wait, as `time.sleep` does.

        Raises:
            BucketcastError: the function would be ended before it could answer.
        """
        if self._clock() + seconds > self._end:
            raise BucketcastError(
                "what was waited for did not come in the function's time: deploy again; the log "
                "says what it was"
            ) from None
        self._sleep(seconds)
