"""Run a long command with a log, progress lines and a time limit."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from localstack.layout import LOGS, ROOT, Failure

PROGRESS_SECONDS = 10.0
TAIL_LINES = 40


class Running:
    """A command that was started; `finish` waits for it.

    Its output goes to a log under `.local/logs`, which is quoted when it fails.
    """

    def __init__(self, title: str, command: list[str], environment: dict[str, str]) -> None:
        """Start it in a process group of its own, so that all of it can be ended."""
        LOGS.mkdir(parents=True, exist_ok=True)
        self.title = title
        self.log: Path = LOGS / f"{title.split(maxsplit=1)[0]}.log"
        self._began = time.monotonic()
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def finish(self, within: float) -> None:
        """Wait until it succeeds; raise Failure with the end of its log otherwise.

        `within` is in seconds from its start. An interrupt ends the command, too.
        """
        try:
            while True:
                remaining = self._began + within - time.monotonic()
                if remaining <= 0:
                    raise Failure(f"{self.title} took longer than {within:.0f} s\n{self.tail()}")
                try:
                    code = self._process.wait(min(remaining, PROGRESS_SECONDS))
                    break
                except subprocess.TimeoutExpired:
                    print(f"  {self.title}: {time.monotonic() - self._began:.0f} s ...", flush=True)
        finally:
            self.end()
        if code:
            raise Failure(f"{self.title} failed\n{self.tail()}")
        print(f"{self.title}: done in {time.monotonic() - self._began:.0f} s", flush=True)

    def end(self) -> None:
        """End it and its children, if they still run."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)

    def tail(self) -> str:
        """Return the end of its output."""
        lines = self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        return "\n".join([f"the end of {self.log}:", *lines])
