"""A cache of accounts, so that not every request reads from AWS."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from bucketcast.gateway.shared_reading import SharedReading
from bucketcast.users import Account, User

MAX_AGE_SECONDS: Final = 2.5
"""The seconds for which a removed user, or a right that was taken away, may still be accepted: a
call that lasts is confirmed every `CONFIRM_SECONDS`, and ends within five."""
READING_SECONDS: Final = 0.2
"""The seconds between two readings of all users, which take time from all calls."""


class AccountCache:
    """The accounts by access key, each cached for a few seconds.

    `find` reads an account, `read_users` all users by their access keys. Logins have threads of
    their own, and those with one key share a look-up. Calls with unknown keys share readings of all
    users, so made-up ones cost no look-up each, and are refused one at a time, so that the event
    loop turns to other calls in between.
    """

    def __init__(
        self, find: Callable[[str], Account | None], read_users: Callable[[], Mapping[str, User]]
    ) -> None:
        self._find = find
        self._users = SharedReading(read_users, pause=READING_SECONDS)
        self._strangers = asyncio.Lock()
        self._threads = ThreadPoolExecutor(4, "logins")
        self._accounts: dict[str, tuple[float, Account]] = {}
        self._lookups: dict[str, asyncio.Future[Account | None]] = {}
        self._known: Mapping[str, User] = {}

    async def __call__(self, access_key: str) -> Account | None:
        if cached := self._cached(access_key):
            return cached
        if access_key not in self._known:
            self._known = await self._users(time.time())
        if access_key not in self._known:
            async with self._strangers:
                await asyncio.sleep(0)
            return None
        if access_key not in self._lookups:
            self._lookups[access_key] = asyncio.ensure_future(self._look_up(access_key))
        return await asyncio.shield(self._lookups[access_key])

    async def find_user(self, access_key: str) -> User | None:
        """Return the user of an access key, by a reading that all calls that last share."""
        if cached := self._cached(access_key):
            return cached.user
        self._known = await self._users(time.time() - MAX_AGE_SECONDS)
        return self._known.get(access_key)

    def _cached(self, access_key: str) -> Account | None:
        at, account = self._accounts.get(access_key, (0.0, None))
        # The wall clock, since the monotonic one stands still while Lambda freezes a function.
        return account if 0 <= time.time() - at < MAX_AGE_SECONDS else None

    async def _look_up(self, access_key: str) -> Account | None:
        began, loop = time.time(), asyncio.get_running_loop()
        try:
            account = await loop.run_in_executor(self._threads, self._find, access_key)
        finally:
            del self._lookups[access_key]
        if account is None:
            self._accounts.pop(access_key, None)
        else:
            self._accounts[access_key] = (began, account)
        return account

    async def read_users(self) -> None:
        """Read all users, together with whoever else waits for them.

        Raises:
            AwsError: the table does not answer.
        """
        self._known = await self._users(time.time())
