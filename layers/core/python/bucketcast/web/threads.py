"""Threads for calls that wait for AWS.

Only a few calls of a user wait at once, and further ones queue behind them, so a user with many
slow calls does not delay the others. A call that has queued is confirmed before it begins: its user
may have been removed.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from bucketcast.web.authentication import AuthenticatedRequest

PER_USER: Final = 4
_THREADS: Final = 32
_POOL: Final = ThreadPoolExecutor(_THREADS, "calls")
_Slots = WeakValueDictionary[str, asyncio.Semaphore]
_slots_of: WeakKeyDictionary[asyncio.AbstractEventLoop, _Slots] = WeakKeyDictionary()
P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(
    admitted: AuthenticatedRequest, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call a function in a thread, behind the user's other calls if these are too many.

    Raises:
        S3Error: the call would be refused now.
    """
    loop = asyncio.get_running_loop()
    slots = _slots_of.setdefault(loop, WeakValueDictionary())
    # A thread is free for whoever holds a slot of both: nothing queues after it is confirmed.
    async with _slot(slots, admitted.user.id, PER_USER), _slot(slots, "", _THREADS):
        await admitted.confirm()
        return await loop.run_in_executor(_POOL, partial(function, *args, **kwargs))


def _slot(slots: _Slots, name: str, number: int) -> asyncio.Semaphore:
    slot = slots.get(name)
    if slot is None:
        slot = slots[name] = asyncio.Semaphore(number)
    return slot
