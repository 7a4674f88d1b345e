"""A test server ends with whoever started it, or outlives it; other kinds do so the same way."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from tests import servers
from tests.contract.case import HANGS_AFTER
from tests.servers import Server
from tests.servers.tls import Tls

NAME = "postgres"


def test_a_paused_server_can_be_stopped(server: Callable[[str], Server]) -> None:
    one = server(NAME)
    one.pause()
    one.stop()
    assert not one.process.running


STARTER = """
import sys, time
from pathlib import Path
from tests import servers
from tests.contract.case import HANGS_AFTER
from tests.servers import tls
folder = Path(sys.argv[2])
servers.run(sys.argv[1], folder, tls.issue(folder / "tls"))
print((folder / "pid").read_text(), flush=True)
time.sleep(600)
"""
ROOT = Path(servers.__file__).parents[2]


def gone(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if (
                psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
            ):  # an orphan that is not yet reaped
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def test_a_killed_program_leaves_no_server_behind(servers_folder: Path) -> None:
    folder = str(servers_folder / f"{NAME}-left")
    command = [sys.executable, "-c", STARTER, NAME, folder]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        pid = json.loads(program.stdout.readline())["pid"]
        assert psutil.pid_exists(pid)
        children = [child.pid for child in psutil.Process(pid).children(recursive=True)]
        program.send_signal(signal.SIGKILL)
    assert all(gone(each, seconds=HANGS_AFTER) for each in [pid, *children])


def test_a_server_that_outlives_its_starter_is_found_and_stopped(
    servers_folder: Path, tls: Tls
) -> None:
    folder = servers_folder / f"{NAME}-outlives"
    command = [sys.executable, "-m", "tests.servers"]
    printed = subprocess.check_output([*command, "start", NAME, folder], cwd=ROOT)
    pid = json.loads((folder / "pid").read_text())["pid"]
    found = servers.run(NAME, folder, tls)
    assert json.loads((folder / "pid").read_text())["pid"] == pid
    assert json.loads(printed)["plain"] == found.settings()
    assert found.version()
    for _ in range(2):
        subprocess.check_call([*command, "stop", folder], cwd=ROOT)
        assert gone(pid, seconds=HANGS_AFTER)
        assert not found.process.running


def test_data_moves_out_of_a_folder_that_others_may_not_pass(tmp_path: Path, tls: Tls) -> None:
    tmp_path.chmod(0o700)
    server = servers.run(NAME, tmp_path / NAME, tls)
    try:
        assert server.version()
        assert server.received() == []
    finally:
        server.stop()
        shutil.rmtree((tmp_path / NAME / "home").resolve(), ignore_errors=True)
