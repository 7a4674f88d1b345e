"""Live parts: read once for all browsers, and only the newest for a slow one."""

import asyncio
from collections.abc import Iterator

import pytest

from bucketcast.console import live
from bucketcast.console.live import Feed
from bucketcast.errors import BucketcastError

pytestmark = pytest.mark.anyio


async def test_a_feed_is_read_once_for_all_and_a_slow_browser_skips() -> None:
    reads: list[int] = []

    def read() -> str:
        reads.append(len(reads))
        return f"<p>{len(reads)}</p>"

    feed = Feed(read, 0.001)
    quick, slow = feed.fragments(), feed.fragments()
    first = await anext(slow)
    for _ in range(5):
        last = await anext(quick)
    skipped = int((await anext(slow))[3:-4]) - int(first[3:-4])
    assert skipped >= 4
    assert last != first
    for browser in (quick, slow):
        await browser.aclose()  # type: ignore[attr-defined]
    assert feed._task is None
    assert feed.readers == 0


async def test_an_error_is_shown_as_text_until_it_is_over() -> None:
    def answers() -> Iterator[str]:
        yield "<p>1</p>"
        raise BucketcastError("<b>no answer</b>")

    read = answers()
    fragments = Feed(lambda: next(read), 0.001).fragments()
    first, error = await anext(fragments), await anext(fragments)
    await fragments.aclose()  # type: ignore[attr-defined]
    assert first == "<p>1</p>"
    assert 'id="live" role="status">&lt;b&gt;no answer&lt;/b&gt;</p>' in error


async def test_a_feed_that_cannot_go_on_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_KEEP_ALIVE_SECONDS", 0.01)

    def fail() -> str:
        raise LookupError("a mistake")

    async def follow() -> None:
        async for _ in Feed(fail, 0.001).fragments():
            pass

    with pytest.raises(LookupError):
        await asyncio.wait_for(follow(), 60)
