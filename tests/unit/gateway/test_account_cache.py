"""Logins: who is known, for how long, and what unknown keys cost."""

import asyncio
import time

import pytest

from bucketcast.errors import BucketcastError
from bucketcast.gateway.account_cache import (
    MAX_AGE_SECONDS,
    READING_SECONDS,
    AccountCache,
)
from bucketcast.users import Account, User
from tests.unit.web.requests import ACCESS, ANNA, BOB, SECRET

pytestmark = pytest.mark.anyio


class Table:
    """The users as AWS has them, and how often it was read."""

    def __init__(self) -> None:
        self.accounts = {ACCESS: Account(ANNA, SECRET)}
        self.found = self.listed = 0
        self.seconds = 0.0

    def find(self, access_key: str) -> Account | None:
        self.found += 1
        time.sleep(self.seconds)
        return self.accounts.get(access_key)

    def users(self) -> dict[str, User]:
        self.listed += 1
        return {key: account.user for key, account in self.accounts.items()}


@pytest.fixture
def table() -> Table:
    return Table()


@pytest.fixture
def cache(table: Table) -> AccountCache:
    return AccountCache(table.find, table.users)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_000_000.0]
    monkeypatch.setattr("bucketcast.gateway.account_cache.time.time", lambda: now[0])
    return now


async def test_removed_user_is_refused_after_five_seconds_of_the_wall_clock(
    table: Table, cache: AccountCache, clock: list[float]
) -> None:
    """A frozen function's monotonic clock stands still."""
    assert await cache(ACCESS)
    del table.accounts[ACCESS]
    assert await cache(ACCESS), "cached"
    clock[0] += MAX_AGE_SECONDS
    assert await cache(ACCESS) is None


async def test_calls_that_last_share_a_reading_without_secrets_and_delay_no_login(
    table: Table, cache: AccountCache, clock: list[float]
) -> None:
    """Whoever's they are: thousands of listeners are confirmed together every few seconds."""
    table.accounts |= {f"{number}": Account(ANNA, SECRET) for number in range(2_000)}
    await cache(ACCESS)
    assert await cache.find_user(ACCESS) == ANNA
    assert (table.found, table.listed) == (1, 1), "cached"
    clock[0] += MAX_AGE_SECONDS + 0.1
    users = await asyncio.gather(*(cache.find_user(key) for key in table.accounts))
    assert users == [ANNA] * 2_001
    assert (table.found, table.listed) == (1, 2)
    del table.accounts[ACCESS]
    clock[0] += MAX_AGE_SECONDS + 0.1
    assert await cache.find_user(ACCESS) is None


async def test_logins_with_one_key_share_a_look_up(table: Table, cache: AccountCache) -> None:
    table.accounts["BOB"] = Account(BOB, SECRET)
    table.seconds = 0.05
    logins = [asyncio.ensure_future(cache(ACCESS)) for _ in range(150)]
    assert await cache("BOB") == Account(BOB, SECRET)
    assert await asyncio.gather(*logins) == [Account(ANNA, SECRET)] * 150
    assert table.found == 2


async def test_an_account_is_as_old_as_the_reading_that_found_it(
    table: Table, clock: list[float]
) -> None:
    """A slow reading may have begun before the user was removed."""

    def find(access_key: str) -> Account | None:
        account = table.find(access_key)
        clock[0] += MAX_AGE_SECONDS
        table.accounts.clear()
        return account

    cache = AccountCache(find, table.users)
    assert await cache(ACCESS)
    assert await cache(ACCESS) is None


async def test_made_up_keys_share_two_readings_of_all_keys(
    table: Table, cache: AccountCache
) -> None:
    answers = await asyncio.gather(*(cache(f"made-up-{number}") for number in range(2_000)))
    assert not any(answers)
    assert (table.found, table.listed) == (0, 2)


async def test_user_added_while_keys_are_read_is_known(table: Table) -> None:
    """What one call reads may have begun before the user was added."""

    def users() -> dict[str, User]:
        before = table.users()
        table.accounts["NEW"] = Account(ANNA, SECRET)
        return before

    cache = AccountCache(table.find, users)
    first, second = asyncio.ensure_future(cache("x")), asyncio.ensure_future(cache("NEW"))
    assert await second
    assert await first is None


async def test_strangers_let_all_keys_be_read_a_few_times_a_second_at_most(
    table: Table, cache: AccountCache, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr("bucketcast.gateway.shared_reading.asyncio.sleep", sleep)
    for number in range(3):
        assert await cache(f"made-up-{number}") is None
        clock[0] += READING_SECONDS / 4
    assert table.listed == 3
    pauses = [seconds for seconds in pauses if seconds]
    assert pauses == pytest.approx([READING_SECONDS * 3 / 4] * 2)


async def test_other_calls_have_their_turn_after_each_stranger(cache: AccountCache) -> None:
    refused = 0

    async def stranger(number: int) -> None:
        nonlocal refused
        assert await cache(f"made-up-{number}") is None
        refused += 1

    strangers = [asyncio.ensure_future(stranger(number)) for number in range(500)]
    most = before = 0
    while not all(each.done() for each in strangers):
        await asyncio.sleep(0)
        most, before = max(most, refused - before), refused
    assert most == 1
    assert refused == 500


async def test_calls_that_wait_for_all_keys_share_a_failure(table: Table) -> None:

    def users() -> dict[str, User]:
        table.listed += 1
        raise BucketcastError("AWS does not answer")

    cache = AccountCache(table.find, users)
    calls = (cache(f"unknown-{number}") for number in range(100))
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(answer, BucketcastError) for answer in answers)
    assert table.listed <= 3
