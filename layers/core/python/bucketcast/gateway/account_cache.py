"""A cache of accounts, so that not every request reads from AWS."""

import asyncio
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from bucketcast.gateway.shared_reading import SharedReading
from bucketcast.users import Account

MAX_AGE_SECONDS: Final = 2.5
"""The seconds for which a removed user, or a right that was taken away, may still be accepted: a
call that lasts is confirmed every `CONFIRM_SECONDS`, and ends within five."""
READING_SECONDS: Final = 0.2
"""The seconds between two readings of all keys, which take time from all calls."""


class AccountCache:
    """The accounts by access key, each cached for a few seconds.

    `find` reads an account, `read_keys` all access keys. Logins have threads of their own. Calls
    with unknown keys share readings of all keys, so made-up ones cost no look-up each, and are
    refused one at a time, so that the event loop turns to other calls in between.
    """

    def __init__(
        self, find: Callable[[str], Account | None], read_keys: Callable[[], Collection[str]]
    ) -> None:
        self._find = find
        self._keys = SharedReading(read_keys, pause=READING_SECONDS)
        self._strangers = asyncio.Lock()
        self._threads = ThreadPoolExecutor(4, "logins")
        self._accounts: dict[str, tuple[float, Account]] = {}
        self._known: Collection[str] = frozenset()

    async def __call__(self, access_key: str) -> Account | None:
        at, cached = self._accounts.get(access_key, (0.0, None))
        # The wall clock, since the monotonic one stands still while Lambda freezes a function.
        began = time.time()
        if cached and 0 <= began - at < MAX_AGE_SECONDS:
            return cached
        if access_key not in self._known:
            self._known = await self._keys(began)
        if access_key not in self._known:
            async with self._strangers:
                await asyncio.sleep(0)
            return None
        loop = asyncio.get_running_loop()
        account = await loop.run_in_executor(self._threads, self._find, access_key)
        if account is None:
            self._accounts.pop(access_key, None)
        else:
            self._accounts[access_key] = (began, account)
        return account

    async def read_keys(self) -> None:
        """Read all keys, together with whoever else waits for them.

        Raises:
            AwsError: the table does not answer.
        """
        self._known = await self._keys(time.time())
