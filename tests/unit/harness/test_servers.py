"""What starts test servers keeps their ports and names what they lack."""

from pathlib import Path

import pytest

from tests.servers.machine import MissingProgramError, find_program, ports
from tests.servers.process import Process, StartError


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
