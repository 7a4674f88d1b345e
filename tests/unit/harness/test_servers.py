"""What starts test servers keeps their ports."""

from pathlib import Path

from tests.servers.machine import ports


def test_ports_stay_those_of_the_folder(tmp_path: Path) -> None:
    chosen = ports(tmp_path, "plain", "tls")
    assert ports(tmp_path, "plain", "tls") == chosen
    assert len(set(chosen.values())) == 2
