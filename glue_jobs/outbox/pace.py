"""The pace at which a spool is sent, the time that it takes, and a pause or a new rate meanwhile.

The file `settings.pipeline.CONTROL` in a run's folder is written by whoever wants one, and read
between two calls.
"""

import time
from typing import Annotated, Final

import msgspec

from bucketcast.delivery.policy import keeps_order
from bucketcast.errors import BucketcastError
from glue_jobs import files

ORDERED_PACE: Final = 130
"""The events a second that a FIFO queue gets: ten a call, and no call before the last is done."""
CHECK_SECONDS: Final = 2.0
"""The time after which a task reads the control file again."""
FOREVER: Final = float("inf")


class Control(msgspec.Struct, omit_defaults=True):
    """The content of a control file; without a `rate` the one that a run began with stays."""

    rate: Annotated[int, msgspec.Meta(ge=0)] | None = None
    paused: bool = False


class RateLimit:
    """A limit of `rate` events a second for one sender; 0 means no limit.

    A call sends its events together, and the next call waits their share of time. A sender that
    was slow does not catch up afterwards.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._next_call = 0.0

    def reserve(self, events: int, now: float) -> float:
        """Return the seconds to wait before sending these events; `now` is a monotonic clock's."""
        if not self._rate:
            return 0.0
        start = max(self._next_call, now)
        self._next_call = start + events / self._rate
        return start - now


class Pace:
    """The pace of one of several tasks that share a rate, in events a second; 0 means no limit.

    `control` is the URL of the control file, "" for none. Nothing is sent after `until`, in Unix
    seconds.
    """

    def __init__(
        self, rate: int, tasks: int = 1, control: str = "", until: float = FOREVER
    ) -> None:
        self._rate = rate
        self._tasks = tasks
        self._control = control
        self._until = until
        self._limit = RateLimit(rate / tasks)
        self._next_check = 0.0
        self._paused = False

    def wait(self, events: int) -> bool:
        """Wait until these events may be sent; return False if they may not, as in a pause."""
        seconds = self._limit.reserve(events, time.monotonic())
        while True:
            if self._is_changed():
                seconds = 0.0
            if self._paused or time.time() > self._until:
                return False
            if seconds <= 0:
                return True
            time.sleep(min(seconds, CHECK_SECONDS))
            seconds -= CHECK_SECONDS

    def _is_changed(self) -> bool:
        """Read the control file if it is time to; return True if it has a new rate."""
        now = time.monotonic()
        if not self._control or now < self._next_check:
            return False
        self._next_check = now + CHECK_SECONDS
        control = read_control(self._control)
        self._paused = control.paused
        if control.rate in (None, self._rate):
            return False
        self._rate = control.rate
        self._limit = RateLimit(control.rate / self._tasks)
        return True


def read_control(url: str) -> Control:
    """Return the content of a control file, also of one that is not there.

    Raises:
        BucketcastError: it cannot be read.
    """
    try:
        return msgspec.json.decode(files.read(url), type=Control)
    except files.MissingFileError:
        return Control()
    except msgspec.DecodeError as error:
        raise BucketcastError(f"{url}: {error}") from error


def seconds_needed(events: int, rate: int, queue: str) -> float:
    """Return how long a queue's events take at a rate, at least; 0 if nothing limits them."""
    pace = min(rate or ORDERED_PACE, ORDERED_PACE) if keeps_order(queue) else rate
    return events / pace if pace else 0.0


def check_time(events: int, rate: int, queue: str, remaining: float, hint: str) -> None:
    """Refuse to begin what takes longer than the seconds that remain of a run.

    Raises:
        BucketcastError: it does; `hint` says what to do besides.
    """
    needed = seconds_needed(events, rate, queue)
    if needed <= remaining:
        return
    if keeps_order(queue) and not 0 < rate < ORDERED_PACE:
        at, cure = f"about {ORDERED_PACE} a second, as a FIFO queue takes them", "raise"
    else:
        at, cure = f"--rate {rate}", "raise --rate, or"
    raise BucketcastError(
        f"{events:,} events take {needed / 3600:.2f} hours at {at}, and this run ends in "
        f"{max(0.0, remaining) / 3600:.2f} hours: {cure} the timeout in [pipeline], {hint}"
    )
