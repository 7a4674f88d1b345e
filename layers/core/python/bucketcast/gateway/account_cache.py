"""A cache of accounts, so that not every request reads from AWS."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from bucketcast.users import Account

MAX_AGE_SECONDS: Final = 5.0
"""The seconds for which a removed user may still be accepted."""
_MAX_ENTRIES: Final = 1_000


class AccountCache:
    """The accounts by access key, known and unknown ones, each cached for a few seconds."""

    def __init__(self, find: Callable[[str], Account | None]) -> None:
        self._find = find
        self._entries: OrderedDict[str, tuple[float, Account | None]] = OrderedDict()

    async def __call__(self, access_key: str) -> Account | None:
        entry = self._entries.get(access_key)
        if entry and time.monotonic() - entry[0] < MAX_AGE_SECONDS:
            return entry[1]
        account = await asyncio.to_thread(self._find, access_key)
        self._entries[access_key] = (time.monotonic(), account)
        self._entries.move_to_end(access_key)
        while len(self._entries) > _MAX_ENTRIES:
            self._entries.popitem(last=False)
        return account
