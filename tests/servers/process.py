"""The one way to start, stop, kill and pause the program of a test server.

A server's folder holds `log` (what it printed) and `ports.json`, so that it comes back on the ports
it had.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

# On a busy machine: a program that ended or refuses is noticed at once.
START_SECONDS = 300.0
STOP_SECONDS = 60.0

# Kills the group of the process it is told when its standard input ends, which it does when the
# program that holds the other end is gone, however it went. Linux's parent-death signal would do
# the same on Linux only, and by thread.
_GUARD = ("sh", "-c", 'read -r _; kill -s KILL -- "-$1" 2>/dev/null', "guard")


class StartError(Exception):
    """A server ended, or did not answer in time; ends with the last lines of its log."""


@dataclass
class Process:
    """A server's program in a session of its own, with `folder` as its working folder.

    `ready` is a request that it answers once it can be used; while that raises one of
    `not_ready_yet` it is given time. `stop_signal` is the one that makes it end in order at once.
    `environment` is put on top of the caller's. It ends with the program that started it.
    """

    arguments: Sequence[str]
    folder: Path
    ready: Callable[[], object]
    not_ready_yet: tuple[type[Exception], ...]
    stop_signal: signal.Signals = signal.SIGTERM
    environment: Mapping[str, str] = field(default_factory=dict)
    _child: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _guard: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def running(self) -> bool:
        """Whether there is such a process; it may be paused."""
        return self._process() is not None

    def start(self) -> None:
        """Start it and wait until `ready` succeeds; nothing if it runs already."""
        if self.running:
            return
        self._reap()
        with (self.folder / "log").open("ab") as log:
            self._child = subprocess.Popen(
                self.arguments,
                cwd=self.folder,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._guard = subprocess.Popen(
            [*_GUARD, str(self._child.pid)], stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """End it in order, or by force when that takes too long."""
        process = self._process()
        if process is not None:
            _resume(_tree(process))
            _stop(process, self.stop_signal)
        self._reap()

    def kill(self) -> None:
        """End it and all that it started at once, as `kill -9` does."""
        process = self._process()
        if process is not None:
            _kill(_tree(process))
        self._reap()

    def pause(self) -> None:
        """Stop its clock: connections are still taken by the system, and nothing answers."""
        tree = _tree(self._required())
        for each in tree:
            with suppress(psutil.NoSuchProcess):  # a server's child may end meanwhile
                each.suspend()
        while any(map(_moves, tree)):
            time.sleep(0.01)  # a busy machine takes its time to stop a process

    def resume(self) -> None:
        """Let it go on after `pause`; nothing if it was not paused."""
        _resume(_tree(self._required()))

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the program itself."""
        self._required().send_signal(number)

    def _required(self) -> psutil.Process:
        process = self._process()
        if process is None:
            message = f"the server of {self.folder} is not running"
            raise RuntimeError(message)
        return process

    def _process(self) -> psutil.Process | None:
        child = self._child
        return psutil.Process(child.pid) if child and child.poll() is None else None

    def _wait_until_ready(self) -> None:
        child = self._child
        assert child is not None
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                self.ready()
            except self.not_ready_yet as error:
                if child.poll() is not None:
                    why = f"ended with {child.returncode}"
                elif time.monotonic() > deadline:
                    why = f"did not answer within {START_SECONDS:.0f} s ({error})"
                else:
                    time.sleep(0.02)
                    continue
                lines = (self.folder / "log").read_text(errors="replace").splitlines()[-20:]
                message = "\n".join([f"{self.arguments[0]} {why}", *lines])
                raise StartError(message) from error
            else:
                return

    def _reap(self) -> None:
        if self._child is not None:
            self._child.wait()
            self._child = None
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
            self._guard = None


def _tree(process: psutil.Process) -> list[psutil.Process]:
    """The process and all below it; the parent first, so that it replaces no child it loses.

    Not the process group: PostgreSQL puts each of its children in a group of its own.
    """
    return [process, *process.children(recursive=True)]


def _moves(process: psutil.Process) -> bool:
    """Whether it may still do something; one that ended meanwhile does not."""
    try:
        return process.status() not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _resume(tree: Sequence[psutil.Process]) -> None:
    for each in tree:
        try:
            each.resume()
        except psutil.NoSuchProcess:
            continue


def _kill(tree: Sequence[psutil.Process]) -> None:
    for each in tree:
        try:
            each.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(tree, timeout=STOP_SECONDS)


def _stop(process: psutil.Process, stop_signal: signal.Signals) -> None:
    tree = _tree(process)
    process.send_signal(stop_signal)
    _, left = psutil.wait_procs(tree, timeout=STOP_SECONDS)
    _kill(left)
