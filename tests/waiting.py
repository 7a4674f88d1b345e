"""The one way in which tests wait for what another program does."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")
WAIT_SECONDS: Final = 180.0
"""Above all for what starts, on a machine that is busy."""


def last_seen(
    look: Callable[[], T],
    wanted: Callable[[T], object] = bool,
    within: float = WAIT_SECONDS,
) -> T:
    """Look until it is as wanted or the time is over; return what was seen last."""
    began = time.monotonic()
    while not wanted(seen := look()) and (waited := time.monotonic() - began) <= within:
        # The longer it takes, the rarer: a look costs the other program time that it needs itself.
        time.sleep(max(0.05, waited / 20))
    return seen
