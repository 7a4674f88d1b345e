"""Programs that outlive the command which starts them, each with a pid file and a log.

Each is the leader of its own session: Ctrl-C in the terminal does not reach it, and ending its
process group ends its children too (the emulator's function processes are such children).
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from localstack.layout import LOCAL, LOGS, ROOT, Failure

PIDS = LOCAL / "pids"
GRACE_SECONDS = 5.0
TAIL_LINES = 30
# The started process writes its own pid: an interrupt right after the start cannot lose it.
SHELL = 'echo "$$" > "$0.new"; echo "$1" >> "$0.new"; mv "$0.new" "$0"; exec "$@"'
# Those of this very process, which has to wait for them when they end.
_children: dict[str, subprocess.Popen[bytes]] = {}


def start(name: str, command: list[str], environment: dict[str, str]) -> None:
    """Start `command` (its first word an absolute path); its output goes to `log(name)`, anew.

    Must not be running already. A program that ends at once is for the caller to notice.
    """
    PIDS.mkdir(parents=True, exist_ok=True)
    LOGS.mkdir(parents=True, exist_ok=True)
    _pid_file(name).unlink(missing_ok=True)
    with log(name).open("wb") as output:
        process = subprocess.Popen(
            ["/bin/sh", "-c", SHELL, str(_pid_file(name)), *command],
            cwd=LOCAL,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children[name] = process
    while process.poll() is None and not _pid_file(name).exists():
        time.sleep(0.005)


def log(name: str) -> Path:
    """Return the file that holds the program's output."""
    return LOGS / f"{name}.log"


def log_tail(name: str) -> str:
    """Return the last lines of the program's output, or nothing when there is none."""
    try:
        return "\n".join(log(name).read_text(errors="replace").splitlines()[-TAIL_LINES:])
    except OSError:
        return ""


def pid(name: str) -> int | None:
    """Return the pid of the program while it runs; None also for a file that outlived it.

    A pid may since have been given to another process, so the command line must be the one that
    was started.
    """
    try:
        number, program = _pid_file(name).read_text().splitlines()
        found = int(number)
    except (OSError, ValueError):
        return None
    return found if program in _command_line(found) else None


def names() -> list[str]:
    """Return the programs that have a pid file, running or not."""
    return sorted(path.stem for path in PIDS.glob("*.pid"))


def stop(name: str) -> bool:
    """End the program and all its children; return whether anything was running."""
    child = _children.pop(name, None)
    running = pid(name)
    if running is None and child is not None and child.poll() is None:
        running = child.pid
    if running is not None:
        _end_group(running, child)
    if child is not None:
        child.wait()
    _pid_file(name).unlink(missing_ok=True)
    return running is not None


def wait_until(name: str, ready: Callable[[], bool], *, what: str, within: float) -> None:
    """Wait until a program is ready; stop it and raise Failure if it ends, or is late."""
    deadline = time.monotonic() + within
    while not ready():
        ended = pid(name) is None
        if ended or time.monotonic() > deadline:
            why = "exited" if ended else f"did not answer for {within:.0f} s"
            tail = log_tail(name)
            stop(name)
            raise Failure(f"{what} {why}; its log ends:\n{tail}")
        time.sleep(0.05)


def _end_group(group: int, child: subprocess.Popen[bytes] | None) -> None:
    """Ask all of the group to end, then make what is left end."""
    for order, timeout in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, 1.0)):
        if not _signalled(group, order):
            return
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if child is not None:
                child.poll()  # else it stays as a zombie, and with it the group
            if not _signalled(group, 0):
                return
            time.sleep(0.05)


def _signalled(group: int, order: int) -> bool:
    """Send the signal (0 sends none); return whether any process of the group is left."""
    try:
        os.killpg(group, order)
    except ProcessLookupError:
        return False
    return True


def _pid_file(name: str) -> Path:
    return PIDS / f"{name}.pid"


def _command_line(number: int) -> str:
    try:
        file = Path(f"/proc/{number}/cmdline")
        raw = file.read_bytes()
        if not raw:  # at the moment of its exec, or a zombie
            time.sleep(0.01)
            raw = file.read_bytes()
        return raw.replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        if Path("/proc/self").exists():
            return ""
    answer = subprocess.run(  # macOS has no /proc
        ["ps", "-o", "command=", "-p", str(number)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.stdout
