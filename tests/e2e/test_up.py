"""`make up` with a running stack."""

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
