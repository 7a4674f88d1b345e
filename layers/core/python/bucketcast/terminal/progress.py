"""Progress of long work: a bar on a terminal, now and then a line when piped."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from bucketcast.terminal.output import Output

Report = Callable[[str, int, int, str], None]
"""Takes the stage, how many are done of how many in all (0 if unknown), and what they are."""
_LINE_SECONDS: Final = 5.0


@contextmanager
def progress(out: Output, stage: str) -> Iterator[Report]:
    """Yield the function to report with, from this stage on; it is silent with `--json`."""
    if out.json:
        yield lambda *_: None
    elif out.has_bar:
        yield from _bar(stage)
    else:
        yield _lines(out, stage)


def _lines(out: Output, stage: str) -> Report:
    """Print a line for each further stage, and for what changes within one now and then."""
    last, shown, since = stage, "", time.monotonic()

    def report(stage: str, done: int, total: int, unit: str) -> None:
        nonlocal last, shown, since
        line = f"{stage}: {done:,} of {total:,} {unit}" if total else stage
        is_due = stage != last or time.monotonic() - since >= _LINE_SECONDS
        if is_due and line != shown:
            last, shown, since = stage, line, time.monotonic()
            out.note(f"  {line}")

    return report


def _bar(stage: str) -> Iterator[Report]:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import (  # noqa: PLC0415 - as above
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(stage, total=None, unit="")

        def report(stage: str, done: int, total: int, unit: str) -> None:
            bar.update(task, description=stage, completed=done, total=total or None, unit=unit)

        yield report
