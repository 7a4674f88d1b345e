"""Threads for calls that wait for AWS.

Only a few calls of a user wait at once, and further ones queue behind them, so a user with many
slow calls does not delay the others.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from bucketcast.users import User

PER_USER: Final = 4
_POOL: Final = ThreadPoolExecutor(32, "calls")
_Slots = WeakValueDictionary[str, asyncio.Semaphore]
_slots_of: WeakKeyDictionary[asyncio.AbstractEventLoop, _Slots] = WeakKeyDictionary()
P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(user: User, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a thread, behind the user's other calls if these are too many."""
    loop = asyncio.get_running_loop()
    slots = _slots_of.setdefault(loop, WeakValueDictionary())
    slot = slots.get(user.name)
    if slot is None:
        slot = slots[user.name] = asyncio.Semaphore(PER_USER)
    async with slot:
        return await loop.run_in_executor(_POOL, partial(function, *args, **kwargs))
