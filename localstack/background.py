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

from localstack.layout import LOCAL, LOGS, Failure

PIDS = LOCAL / "pids"
GRACE_SECONDS = 5.0
KILL_SECONDS = 5.0
TAIL_LINES = 30
# The started process writes its own pid: an interrupt right after the start cannot lose it.
SHELL = 'echo "$$" > "$0.new"; echo "$1" >> "$0.new"; mv "$0.new" "$0"; exec "$@"'
# The programs that this process started: it has to wait for them when they end.
_children: dict[str, subprocess.Popen[bytes]] = {}


def start(name: str, command: list[str], environment: dict[str, str], options: str = "") -> None:
    """Start `command`, whose first word is an absolute path; its output overwrites `log(name)`.

    It must not be running. The caller has to check that it does not end at once. `options` are for
    `runs`.
    """
    PIDS.mkdir(parents=True, exist_ok=True)
    LOGS.mkdir(parents=True, exist_ok=True)
    _pid_file(name).unlink(missing_ok=True)
    options_file(name).unlink(missing_ok=True)
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
    options_file(name).write_text(options)


def runs(name: str, options: str) -> bool:
    """Return True if the program runs with these options; stop it if it has others."""
    # A command that was killed after the start of a program left none.
    file = options_file(name)
    is_same = file.exists() and file.read_text() == options
    if not is_same:
        stop(name)
    return is_same and pid(name) is not None


def options_file(name: str) -> Path:
    """Return the file that holds the options that the program was started with."""
    return PIDS / f"{name}.started"


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
    """Return the pid of a running program; None also for a pid file that outlived it.

    Another process may have the pid by now, so the command line must be the one that was started.
    """
    try:
        number, program = _pid_file(name).read_text().splitlines()
        process_id = int(number)
    except (OSError, ValueError):
        return None
    return process_id if program in _command_line(process_id) else None


def names() -> list[str]:
    """Return the programs that have a pid file, running or not."""
    return sorted(path.stem for path in PIDS.glob("*.pid"))


def stop(name: str) -> bool:
    """End the program and all its children; return False if nothing was running."""
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


def wait_until(name: str, ready: Callable[[], bool], *, title: str, within: float) -> None:
    """Wait until a program is ready; stop it and raise Failure if it ends, or is late."""
    deadline = time.monotonic() + within
    while not ready():
        ended = pid(name) is None
        if ended or time.monotonic() > deadline:
            reason = "exited" if ended else f"did not answer for {within:.0f} s"
            tail = log_tail(name)
            stop(name)
            raise Failure(f"{title} {reason}; its log ends:\n{tail}")
        time.sleep(0.05)


def _end_group(group: int, child: subprocess.Popen[bytes] | None) -> None:
    """End all processes of the group: by SIGTERM, the remaining ones by SIGKILL."""
    for signal_number, timeout in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        if not _signal(group, signal_number):
            return
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if child is not None:
                child.poll()  # else it stays as a zombie, and with it the group
            if not _signal(group, 0):
                return
            time.sleep(0.05)


def _signal(group: int, signal_number: int) -> bool:
    """Send the signal (0 sends none); return False if the group has no process."""
    try:
        os.killpg(group, signal_number)
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
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode(errors="replace")
