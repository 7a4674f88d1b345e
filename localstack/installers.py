"""Several installers at work at the same time; when one fails or is interrupted, all end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from localstack.layout import ROOT, Failure

AT_ONCE = 3
TAIL_LINES = 25


class Installers:
    """A context that waits for all that was begun in it, and leaves nothing running behind."""

    def __init__(self) -> None:
        """Begin with none."""
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._work: list[Future[None]] = []
        self._processes: list[subprocess.Popen[str]] = []
        self._lock = threading.Lock()
        self._over = False

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for everything; raise what the first of them raised, after ending the others."""
        try:
            for one in self._work:
                one.result()
        finally:
            self._end()
            self._pool.shutdown()

    def begin(self, step: Callable[[], None]) -> None:
        """Run the step beside the others; the commands that it runs follow one another."""
        self._work.append(self._pool.submit(step))

    def run(self, what: str, command: list[str], *, quiet: bool = False) -> None:
        """Run one command in the checkout; its output is shown only when it fails."""
        began = time.monotonic()
        if not quiet:
            print(f"installing {what} ...", flush=True)
        process = self._start(command)
        output, _ = process.communicate()
        if process.returncode:
            tail = "\n".join(output.splitlines()[-TAIL_LINES:])
            raise Failure(f"installing {what} failed: {' '.join(command)}\n{tail}")
        if not quiet:
            print(f"installed {what} in {time.monotonic() - began:.0f} s", flush=True)

    def _start(self, command: list[str]) -> subprocess.Popen[str]:
        with self._lock:
            if self._over:
                raise Failure("ended: another installer failed")
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,  # a group of its own, so that its children end with it
            )
            self._processes.append(process)
            return process

    def _end(self) -> None:
        with self._lock:
            self._over = True
        for process in self._processes:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
