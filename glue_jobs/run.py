"""One run of a job: its folder in the pipeline's bucket, and what it says about itself.

Whoever started the run follows it by two small files, on AWS and here alike::

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

_BETWEEN: Final = 1.0  # seconds; each word is a PUT


class Run:
    """A run, for as long as it lasts; `folder` is its URL, without a slash at its end."""

    def __init__(self, folder: str) -> None:
        self.folder = folder.rstrip("/")
        self._next = 0.0
        self._stage = ""
        self._result: Mapping[str, Any] = {}

    def path(self, name: str) -> str:
        """The URL of a file or folder of this run."""
        return f"{self.folder}/{name}"

    def says(self, stage: str, done: int = 0, total: int = 0, unit: str = "") -> None:
        """How far it is; a new stage is told at once, the rest about once a second."""
        now = time.monotonic()
        if stage == self._stage and now < self._next and done < total:
            return
        self._stage, self._next = stage, now + _BETWEEN
        told = {"stage": stage, "done": done, "total": total, "unit": unit}
        self._write("progress.json", told)
        sys.stdout.write(f"{stage}: {done} of {total} {unit}\n" if total else f"{stage}\n")
        sys.stdout.flush()

    def sends(self, done: int, total: int) -> None:
        """How many events SQS has taken, as the outbox tells it."""
        self.says("sending", done, total, "events")

    def ends(self, result: Mapping[str, Any]) -> None:
        """What the job found; written when the run ends well."""
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
