"""Threads of slow calls: each user has a few."""

import asyncio
import threading
from dataclasses import replace

from bucketcast.web.threads import PER_USER, in_thread
from tests.unit.web.requests import ANNA


def test_many_slow_calls_of_one_user_keep_no_other_waiting() -> None:
    release = threading.Event()
    others = replace(ANNA, name="bob")

    async def run() -> None:
        slow = [asyncio.ensure_future(in_thread(ANNA, release.wait)) for _ in range(60)]
        await asyncio.sleep(0)
        assert await in_thread(others, lambda: 1) == 1
        assert not any(call.done() for call in slow)
        release.set()
        await asyncio.gather(*slow)

    asyncio.run(run())


def test_a_user_has_so_many_threads_at_once() -> None:
    lock, running, most = threading.Lock(), [0], [0]

    def work() -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        threading.Event().wait(0.01)
        with lock:
            running[0] -= 1

    async def run() -> None:
        await asyncio.gather(*(in_thread(ANNA, work) for _ in range(3 * PER_USER)))

    asyncio.run(run())
    assert most[0] <= PER_USER
