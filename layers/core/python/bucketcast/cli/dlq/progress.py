"""Progress of work on many messages: a bar on a terminal, now and then a line when piped."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from bucketcast.cli.output import Output

_LINE_SECONDS: Final = 5.0


@contextmanager
def progress(out: Output, what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Give a function that reports how many of some `total` are done; silent with `--json`."""
    if out.json:
        yield lambda _: None
    elif sys.stderr.isatty():
        yield from _bar(what, total)
    else:
        yield _lines(out, what, total)


def _lines(out: Output, what: str, total: int) -> Callable[[int], None]:
    last = time.monotonic()

    def report(done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_SECONDS:
            last = time.monotonic()
            out.note(f"  {what}: {done:,} of about {max(total, done):,} messages")

    return report


def _bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import Progress  # noqa: PLC0415 - as above

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total or None)

        def report(done: int) -> None:
            bar.update(task, completed=done, total=max(total, done))

        yield report
