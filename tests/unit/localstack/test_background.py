"""Background programs are recognised, and end with their children."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from localstack import background

pytestmark = pytest.mark.usefixtures("folder")
PARENT = (
    "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
)


def members(group: int) -> list[int]:
    processes = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            processes.append(int(stat.parent.name))
    return processes


def start(name: str, *arguments: str) -> int:
    background.start(name, [sys.executable, *arguments], dict(os.environ))
    pid = background.pid(name)
    assert pid is not None
    return pid


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_started_program_is_found_until_it_is_stopped() -> None:
    pid = start("one", "-c", "import time; time.sleep(600)")
    assert os.getsid(pid) == pid, "an interrupt of the terminal must not reach it"
    assert background.names() == ["one"]
    assert background.stop("one")
    assert background.pid("one") is None
    assert not background.stop("one")


def test_stop_ends_the_children_too() -> None:
    pid = start("parent", "-c", PARENT)
    wait_until(lambda: len(members(pid)) == 2)
    background.stop("parent")
    assert members(pid) == []


def test_pid_file_that_outlived_its_program_is_stale() -> None:
    pid = start("killed", "-c", "import time; time.sleep(600)")
    os.killpg(pid, signal.SIGKILL)
    wait_until(lambda: not members(pid))
    assert background.pid("killed") is None
    assert not background.stop("killed")


def test_stop_spares_another_program_with_the_same_pid(folder: Path) -> None:
    (folder / "pids").mkdir()
    (folder / "pids" / "old.pid").write_text(f"{os.getpid()}\n/nowhere/bin/ministack\n")
    assert background.pid("old") is None
    assert not background.stop("old"), "this very test would have been ended"
