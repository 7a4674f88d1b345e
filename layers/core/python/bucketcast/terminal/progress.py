"""Progress of long work: now and then a line."""

import time
from collections.abc import Callable
from typing import Final

from bucketcast.terminal.output import Output

Report = Callable[[str, int, int, str], None]
"""Takes the stage, how many are done of how many in all (0 if unknown), and what they are."""
_LINE_SECONDS: Final = 5.0


def progress(out: Output, stage: str) -> Report:
    """Return the function to report with, from this stage on; it is silent with `--json`.

    It prints a line for each further stage, and for what changes within one now and then.
    """
    last, shown, since = stage, "", time.monotonic()

    def report(stage: str, done: int, total: int, unit: str) -> None:
        nonlocal last, shown, since
        line = f"{stage}: {done:,} of {total:,} {unit}" if total else stage
        is_due = stage != last or time.monotonic() - since >= _LINE_SECONDS
        if is_due and line != shown:
            last, shown, since = stage, line, time.monotonic()
            out.note(f"  {line}")

    return report
