"""Live parts: only the newest for a slow browser, and errors as text."""

from collections.abc import Iterator

import pytest

from bucketcast.console import pages
from bucketcast.errors import BucketcastError

pytestmark = pytest.mark.anyio


async def test_what_changed_is_sent_once() -> None:
    read = iter(["<p>1\n</p>", "<p>1\n</p>", "<p>2</p>"])
    shown = pages.fragments(lambda: next(read), 0.001)
    assert [await anext(shown) for _ in range(2)] == [
        "data: <p>1\ndata: </p>\n\n",
        "data: <p>2</p>\n\n",
    ]


async def test_a_quiet_part_keeps_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_KEEP_ALIVE_SECONDS", 0.0)
    read = iter("112")
    shown = pages.fragments(lambda: next(read), 0.001)
    first, same, other = [await anext(shown) for _ in range(3)]
    assert (first, same, other) == ("data: 1\n\n", ":\n\n", "data: 2\n\n")


async def test_an_error_is_shown_as_text_until_it_is_over() -> None:
    def answers() -> Iterator[str]:
        yield "<p>1</p>"
        raise BucketcastError("<b>no answer</b>")

    read = answers()
    shown = pages.fragments(lambda: next(read), 0.001)
    first, error = await anext(shown), await anext(shown)
    assert first == "data: <p>1</p>\n\n"
    assert 'id="live" role="status">&lt;b&gt;no answer&lt;/b&gt;</p>' in error


async def test_a_part_that_cannot_go_on_ends() -> None:
    def fail() -> str:
        raise LookupError("a mistake")

    with pytest.raises(LookupError):
        await anext(pages.fragments(fail, 0.001))
