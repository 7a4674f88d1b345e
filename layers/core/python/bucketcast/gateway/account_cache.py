"""A cache of accounts, so that not every request reads from AWS."""

import asyncio
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from bucketcast.users import Account

T = TypeVar("T")
MAX_AGE_SECONDS: Final = 5.0
"""The seconds for which a removed user may still be accepted."""


class AccountCache:
    """The accounts by access key, each cached for a few seconds.

    `find` reads an account, `read_keys` all access keys. Logins have threads of their own. Calls
    with unknown keys share one reading of all keys, so made-up ones cost no look-up each.
    """

    def __init__(
        self, find: Callable[[str], Account | None], read_keys: Callable[[], Collection[str]]
    ) -> None:
        self._find = find
        self._read = read_keys
        self._threads = ThreadPoolExecutor(4, "logins")
        self._accounts: dict[str, tuple[float, Account]] = {}
        self._known: Collection[str] = frozenset()
        self._reading: asyncio.Future[Collection[str]] | None = None

    async def __call__(self, access_key: str) -> Account | None:
        at, cached = self._accounts.get(access_key, (0.0, None))
        # The wall clock, since the monotonic one stands still while Lambda keeps a function frozen.
        if cached and 0 <= time.time() - at < MAX_AGE_SECONDS:
            return cached
        if access_key not in self._known:
            # A read in progress may have begun before the user was added.
            if self._reading:
                await asyncio.wait([self._reading])
            if access_key not in self._known:
                await self.read_keys()
        account = await self._run(self._find, access_key) if access_key in self._known else None
        if account is None:
            self._accounts.pop(access_key, None)
        else:
            self._accounts[access_key] = (time.time(), account)
        return account

    async def read_keys(self) -> None:
        """Read all keys, together with whoever else waits for them.

        Raises:
            AwsError: the table does not answer.
        """
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(self._run(self._read))
        self._known = await asyncio.shield(self._reading)

    async def _run(self, function: Callable[..., T], *args: str) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, function, *args)
