"""The test servers end with whoever started them, keep their ports, and name what they lack."""

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
import pytest

from tests import servers
from tests.servers import Server
from tests.servers.machine import MissingProgramError, find_program, ports
from tests.servers.process import Process, StartError
from tests.servers.tls import Tls

Factory = Callable[[str], Server]


@pytest.fixture
def one(server_name: str, server: Factory) -> Server:
    return server(server_name)


def test_a_paused_server_can_be_stopped(one: Server) -> None:
    one.pause()
    one.stop()
    assert not one.process.running


STARTER = """
import sys, time
from pathlib import Path
from tests import servers
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


def test_a_killed_program_leaves_no_server_behind(server_name: str, servers_folder: Path) -> None:
    folder = str(servers_folder / f"{server_name}-left")
    command = [sys.executable, "-c", STARTER, server_name, folder]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        pid = json.loads(program.stdout.readline())["pid"]
        assert psutil.pid_exists(pid)
        children = [child.pid for child in psutil.Process(pid).children(recursive=True)]
        program.send_signal(signal.SIGKILL)
    assert all(gone(each, seconds=10) for each in [pid, *children])


def test_a_server_that_outlives_its_starter_is_found_and_stopped(
    server_name: str, servers_folder: Path, tls: Tls
) -> None:
    folder = servers_folder / f"{server_name}-outlives"
    command = [sys.executable, "-m", "tests.servers"]
    printed = subprocess.check_output([*command, "start", server_name, folder], cwd=ROOT)
    pid = json.loads((folder / "pid").read_text())["pid"]
    found = servers.run(server_name, folder, tls)
    assert json.loads((folder / "pid").read_text())["pid"] == pid
    assert json.loads(printed)["plain"] == found.settings()
    assert found.version()
    for _ in range(2):
        subprocess.check_call([*command, "stop", folder], cwd=ROOT)
        assert gone(pid, seconds=10)
        assert not found.process.running


def test_data_moves_out_of_a_folder_that_others_may_not_pass(
    server_name: str, tmp_path: Path, tls: Tls
) -> None:
    tmp_path.chmod(0o700)
    server = servers.run(server_name, tmp_path / server_name, tls)
    try:
        assert server.version()
        assert server.received() == []
    finally:
        server.stop()
        shutil.rmtree((tmp_path / server_name / "home").resolve(), ignore_errors=True)


def test_a_missing_program_names_the_hint() -> None:
    with pytest.raises(MissingProgramError, match=r"no-such-server .* tests/servers/install"):
        find_program("no-such-server", "/usr/lib/postgresql/*/bin")


def test_a_program_that_ends_shows_its_log(tmp_path: Path) -> None:
    def never() -> None:
        raise ConnectionRefusedError

    command = ["sh", "-c", "echo bad option; exit 3"]
    with pytest.raises(StartError, match=r"sh ended with 3\nbad option"):
        Process(command, tmp_path, ready=never, not_ready_yet=(OSError,)).start()


def test_ports_stay_those_of_the_folder(tmp_path: Path) -> None:
    chosen = ports(tmp_path, "plain", "tls")
    assert ports(tmp_path, "plain", "tls") == chosen
    assert len(set(chosen.values())) == 2
