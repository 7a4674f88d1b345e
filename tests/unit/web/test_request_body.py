"""Bodies read whole, and answers: how many of them may be in memory."""

import asyncio

import pytest

from bucketcast.limits import MOST_BODIES_BYTES, MOST_SMALL_BODY_BYTES, MOST_USER_BODIES_BYTES
from bucketcast.web.errors import S3Error
from bucketcast.web.request_body import RequestBody
from bucketcast.web.signature.claims import UNSIGNED
from bucketcast.web.signature.payload import Plain
from tests.unit.web.requests import Wire

pytestmark = pytest.mark.anyio


async def test_large_bodies_have_a_bound_of_each_user_and_in_all_until_their_calls_end() -> None:
    ended = asyncio.Event()

    async def call(user_id: str, size: int = MOST_USER_BODIES_BYTES) -> int:
        content = await RequestBody(Wire(b"x" * size), Plain(UNSIGNED, None), user_id).read(size)
        await ended.wait()
        return len(content)

    async with asyncio.TaskGroup() as calls:
        for number in range(MOST_BODIES_BYTES // MOST_USER_BODIES_BYTES):
            calls.create_task(call(f"user {number}"))
            await asyncio.sleep(0)
            for other in (f"user {number}", *["another"] * (number == 3)):
                with pytest.raises(S3Error, match="SlowDown"):
                    await call(other, MOST_SMALL_BODY_BYTES + 1)
            calls.create_task(call(f"user {number}", MOST_SMALL_BODY_BYTES))
        ended.set()
    assert await call("user 0") == MOST_USER_BODIES_BYTES


async def test_streamed_answers_have_a_bound_of_each_user_and_in_all_until_their_calls_end() -> (
    None
):
    async def call(*user_ids: str) -> None:
        for user_id in user_ids:
            RequestBody(Wire(b""), Plain(UNSIGNED, None), user_id).count_answer()

    for users in (["a"] * 251, map(str, range(501))):
        *taken, refused = users
        await asyncio.create_task(call(*taken))
        with pytest.raises(S3Error, match="takes 250 large answers of a user, 500 of all"):
            await asyncio.create_task(call(*taken, refused))
