"""`make up` with a running stack, and on a machine that lacks something."""

import os
import subprocess
import sys
from pathlib import Path

from tests.e2e.deployment import ROOT
from tests.e2e.system import System
from tests.servers import machine

REFUSED_SECONDS = 300.0


def test_a_second_up_finds_nothing_to_do(system: System) -> None:
    before = system.local.env_file.read_text()
    output = system.local.up(system.config)
    assert "nothing changed" in output
    assert "deploy" not in output
    assert system.local.env_file.read_text() == before


def test_a_port_in_use_is_refused_with_its_holder(system: System, tmp_path: Path) -> None:
    output = refusal(system, tmp_path, "GATEWAY_PORT")
    assert f"port {system.local.port} is in use by pid " in output
    assert "MINISTACK_PORT" in output
    assert system.fares(), "the one that holds the port goes on"


def refusal(system: System, folder: Path, other: str) -> str:
    """What a second `up` says where one port, but not this other, is the first one's."""
    free = str(machine.ports(folder, "free")["free"])
    answer = subprocess.run(
        [sys.executable, "-m", "localstack.up", "--config", str(system.config)],
        cwd=ROOT,
        env=system.local.environment(**{"BUCKETCAST_LOCAL": str(folder), other: free}),
        capture_output=True,
        text=True,
        check=False,
        timeout=REFUSED_SECONDS,
    )
    assert answer.returncode == 1
    assert "Traceback" not in answer.stderr
    assert not (folder / "env").exists()
    assert not list(folder.rglob("*.pid"))
    return answer.stderr


def test_a_machine_without_node_is_refused_with_the_hint(system: System, tmp_path: Path) -> None:
    local = tmp_path / "local"
    answer = subprocess.run(
        ["make", "up", f"PYTHON={sys.executable}", f"CONFIG={system.config}"],
        cwd=ROOT,
        env=system.local.environment(
            BUCKETCAST_LOCAL=str(local), PATH=_path_without_node(tmp_path / "bin")
        ),
        capture_output=True,
        text=True,
        check=False,
        timeout=REFUSED_SECONDS,
    )
    assert answer.returncode != 0
    assert "Node.js 20 or newer" in answer.stderr
    assert "nodejs.org" in answer.stderr
    assert not local.exists()


def _path_without_node(folder: Path) -> str:
    """All programs there are but Node's, which are often in one folder with the system's own."""
    folder.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        for program in Path(directory).glob("*"):
            link = folder / program.name
            if program.name not in ("node", "nodejs", "npm", "npx") and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)
