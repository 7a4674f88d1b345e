"""Threads of slow calls: each user has a few."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bucketcast.gateway import rights
from bucketcast.users import Account, User
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.errors import S3Error
from bucketcast.web.threads import PER_USER, in_thread
from tests.unit.web.requests import ANNA as NOBODY
from tests.unit.web.requests import SECRET, Wire, authenticator, scope_of, signed

pytestmark = pytest.mark.anyio
ANNA = replace(NOBODY, grants={"images": ("read", "notify"), "other": ("read",)})


async def calls(accounts: Sequence[Account] = (Account(ANNA, SECRET),)) -> AuthenticatedRequest:
    """Return anna's call; who she is then is `accounts`, as long as it has her."""

    async def find(_: str) -> Account | None:
        return accounts[0] if accounts else None

    request = scope_of(signed("GET", "/images"))
    return await authenticator(find).authenticate(request, Wire(b""), judge=rights.require)


async def test_many_slow_calls_of_one_user_keep_no_other_waiting() -> None:
    release = threading.Event()
    bob = replace(ANNA, id="b2", name="bob")
    call = await calls()
    slow = [asyncio.ensure_future(in_thread(call, release.wait)) for _ in range(60)]
    await asyncio.sleep(0)
    assert await in_thread(replace(call, user=bob), lambda: 1) == 1
    assert not any(call.done() for call in slow)
    release.set()
    await asyncio.gather(*slow)


async def test_a_user_has_so_many_threads_at_once() -> None:
    lock, running, most = threading.Lock(), [0], [0]

    def work() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        threading.Event().wait(0.01)
        with lock:
            running[0] -= 1

    call = await calls()
    await asyncio.gather(*(in_thread(call, work) for _ in range(3 * PER_USER)))
    assert most[0] <= PER_USER


@pytest.mark.parametrize(
    ("then", "code"),
    [
        ([], "InvalidAccessKeyId"),
        ([Account(replace(ANNA, id="another"), SECRET)], "InvalidAccessKeyId"),
        ([Account(replace(ANNA, grants={"images": ("notify",)}), SECRET)], "AccessDenied"),
    ],
)
async def test_a_call_that_waited_is_refused_if_its_user_may_not_make_it_now(
    then: list[Account], code: str
) -> None:
    """Removed, added again under the same name, or without the right."""
    release, served = threading.Event(), threading.Event()
    accounts = [Account(ANNA, SECRET)]
    call = await calls(accounts)
    slow = [asyncio.ensure_future(in_thread(call, release.wait)) for _ in range(PER_USER)]
    waiting = asyncio.ensure_future(in_thread(call, served.set))
    await asyncio.sleep(0)
    accounts[:] = then
    release.set()
    await asyncio.gather(*slow)
    with pytest.raises(S3Error, match=code):
        await waiting
    assert not served.is_set()


@pytest.mark.parametrize(
    "then",
    [
        replace(ANNA, keys=(*ANNA.keys, "SECOND")),
        replace(ANNA, grants={**ANNA.grants, "more": ("write",)}),
        replace(ANNA, grants={"images": ("read",)}),
        replace(ANNA, grants={}, admin=True),
    ],
)
async def test_a_call_goes_on_while_its_user_may_make_it_and_by_the_rights_of_now(
    then: User,
) -> None:
    accounts = [Account(ANNA, SECRET)]
    call = await calls(accounts)
    accounts[:] = [Account(then, SECRET)]
    assert await in_thread(call, lambda: call.user) == then
