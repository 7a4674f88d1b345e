"""Background programs are recognised, and end with their children."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from localstack import background

PARENT = (
    "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(600)'])"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(background, "LOCAL", tmp_path)
    monkeypatch.setattr(background, "PIDS", tmp_path / "pids")
    monkeypatch.setattr(background, "LOGS", tmp_path / "logs")
    yield tmp_path
    for name in background.names():
        background.stop(name)


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


def test_started_program_is_found_until_it_is_stopped() -> None:
    pid = start("one", "-c", "import time; time.sleep(600)")
    assert os.getsid(pid) == pid, "an interrupt of the terminal must not reach it"
    assert background.names() == ["one"]
    assert background.stop("one")
    assert background.pid("one") is None
    assert not background.stop("one")


def test_stop_ends_the_children_too() -> None:
    pid = start("parent", "-c", PARENT)
    deadline = time.monotonic() + 180
    while len(members(pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(members(pid)) == 2
    background.stop("parent")
    assert members(pid) == []


def test_stop_ends_a_program_that_ignores_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "GRACE_SECONDS", 0.2)
    program = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True)"
    )
    pid = start("deaf", "-c", f"{program}; time.sleep(600)")
    deadline = time.monotonic() + 180
    while not background.log_tail("deaf") and time.monotonic() < deadline:
        time.sleep(0.02)
    background.stop("deaf")
    assert members(pid) == []


def test_pid_file_that_outlived_its_program_is_stale() -> None:
    pid = start("killed", "-c", "import time; time.sleep(600)")
    os.killpg(pid, signal.SIGKILL)
    while members(pid):
        time.sleep(0.01)
    assert background.pid("killed") is None
    assert not background.stop("killed")


def test_stop_spares_another_program_with_the_same_pid(folder: Path) -> None:
    (folder / "pids").mkdir()
    (folder / "pids" / "old.pid").write_text(f"{os.getpid()}\n/nowhere/bin/ministack\n")
    assert background.pid("old") is None
    assert not background.stop("old"), "this very test would have been ended"


@pytest.mark.parametrize("content", ["", "abc\n/bin/x\n", "12\n", "1\n2\n3\n"])
def test_half_written_pid_file_is_stale(folder: Path, content: str) -> None:
    (folder / "pids").mkdir()
    (folder / "pids" / "torn.pid").write_text(content)
    assert background.pid("torn") is None


def test_program_with_other_options_is_stopped() -> None:
    background.start("one", ["/bin/sleep", "60"], {}, "port 1")
    assert background.runs("one", "port 1")
    assert not background.runs("one", "port 2")
    assert background.pid("one") is None
    assert not background.runs("one", "port 1")
