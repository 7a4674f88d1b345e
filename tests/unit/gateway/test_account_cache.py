"""Logins: who is known, for how long, and what unknown keys cost."""

import asyncio

import pytest

from bucketcast.gateway.account_cache import MAX_AGE_SECONDS, AccountCache
from bucketcast.users import Account
from tests.unit.web.requests import ACCESS, ANNA, SECRET


class Table:
    """The users as AWS has them, and how often it was read."""

    def __init__(self) -> None:
        self.accounts = {ACCESS: Account(ANNA, SECRET)}
        self.found = self.listed = 0

    def find(self, access_key: str) -> Account | None:
        self.found += 1
        return self.accounts.get(access_key)

    def keys(self) -> frozenset[str]:
        self.listed += 1
        return frozenset(self.accounts)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_000_000.0]
    monkeypatch.setattr("bucketcast.gateway.account_cache.time.time", lambda: now[0])
    return now


def test_removed_user_is_refused_after_five_seconds_of_the_wall_clock(clock: list[float]) -> None:
    """A frozen function's monotonic clock stands still."""
    table = Table()
    cache = AccountCache(table.find, table.keys)

    async def run() -> None:
        assert await cache(ACCESS)
        del table.accounts[ACCESS]
        assert await cache(ACCESS), "cached"
        clock[0] += MAX_AGE_SECONDS
        assert await cache(ACCESS) is None

    asyncio.run(run())


def test_made_up_keys_share_two_readings_of_all_keys() -> None:
    table = Table()
    cache = AccountCache(table.find, table.keys)

    async def run() -> None:
        answers = await asyncio.gather(*(cache(f"made-up-{number}") for number in range(2_000)))
        assert not any(answers)

    asyncio.run(run())
    assert (table.found, table.listed) == (0, 2)


def test_new_user_is_known_to_the_next_call() -> None:
    table = Table()
    cache = AccountCache(table.find, table.keys)

    async def run() -> None:
        assert await cache("NEW") is None
        table.accounts["NEW"] = Account(ANNA, SECRET)
        assert await cache("NEW")

    asyncio.run(run())


def test_user_added_while_keys_are_read_is_known() -> None:
    """What one call reads may have begun before the user was added."""
    table = Table()

    def keys() -> frozenset[str]:
        before = table.keys()
        table.accounts["NEW"] = Account(ANNA, SECRET)
        return before

    cache = AccountCache(table.find, keys)

    async def run() -> None:
        first, second = asyncio.ensure_future(cache("x")), asyncio.ensure_future(cache("NEW"))
        assert await second
        assert await first is None

    asyncio.run(run())
