"""One run of a job: its folder in the pipeline's bucket, its progress and its result.

Whoever started the run follows it by two small files, on AWS and locally alike::

    progress.json   {"stage": "sending", "done": 1200, "total": 20000, "unit": "events"}
    result.json     {"status": "success", …what the job found…} | {"status": "error", "error": "…"}
"""

import json
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

from glue_jobs import files
from glue_jobs.reason import reason

_BETWEEN: Final = 1.0  # seconds; each report is a PUT


class Run:
    """A run in progress; `folder` is its URL, without a trailing slash."""

    def __init__(self, folder: str) -> None:
        self.folder = folder.rstrip("/")
        self._next = 0.0
        self._stage = ""
        self._result: Mapping[str, Any] = {}

    def path(self, name: str) -> str:
        """Return the URL of a file or folder of this run."""
        return f"{self.folder}/{name}"

    def report(self, stage: str, done: int = 0, total: int = 0, unit: str = "") -> None:
        """Report the progress: a new stage at once, the rest about once a second."""
        now = time.monotonic()
        if stage == self._stage and now < self._next and done < total:
            return
        self._stage, self._next = stage, now + _BETWEEN
        progress = {"stage": stage, "done": done, "total": total, "unit": unit}
        self._write("progress.json", progress)
        sys.stdout.write(f"{stage}: {done} of {total} {unit}\n" if total else f"{stage}\n")
        sys.stdout.flush()

    def sent(self, done: int, total: int) -> None:
        """Report how many events SQS has accepted."""
        self.report("sending", done, total, "events")

    def ends(self, result: Mapping[str, Any]) -> None:
        """Set the result, which is written when the run succeeds."""
        self._result = result

    def _write(self, name: str, document: Mapping[str, Any]) -> None:
        content = json.dumps(document, ensure_ascii=False, default=str).encode()
        files.write(self.path(name), content, kind="application/json")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._write("result.json", {"status": "success", **self._result})
            return
        self._write("result.json", {"status": "error", "error": reason(error)})
