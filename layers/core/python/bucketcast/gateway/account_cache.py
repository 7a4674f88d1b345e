"""A cache of accounts, so that not every request reads from AWS."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from bucketcast.users import Account

MAX_AGE_SECONDS: Final = 5.0
"""How long a removed user may still be admitted."""
_KEPT: Final = 1_000


class AccountCache:
    """The accounts by access key, known and unknown ones, each cached for a few seconds."""

    def __init__(self, find: Callable[[str], Account | None]) -> None:
        self._find = find
        self._kept: OrderedDict[str, tuple[float, Account | None]] = OrderedDict()

    async def __call__(self, access_key: str) -> Account | None:
        kept = self._kept.get(access_key)
        if kept and time.monotonic() - kept[0] < MAX_AGE_SECONDS:
            return kept[1]
        found = await asyncio.to_thread(self._find, access_key)
        self._kept[access_key] = (time.monotonic(), found)
        self._kept.move_to_end(access_key)
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return found
