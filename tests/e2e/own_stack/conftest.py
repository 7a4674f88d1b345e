"""Tests that deploy a stack of their own, so that they can run beside those that share one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.all_servers import AllServers, all_running
from tests.e2e.deployment import Local
from tests.servers.machine import MissingProgramError
from tests.servers.tls import Tls


@pytest.fixture
def alone(servers_folder: Path, request: pytest.FixtureRequest) -> Iterator[Local]:
    """A local AWS that is not started yet."""
    local = Local(servers_folder / request.path.stem)
    yield local
    local.stop()


@pytest.fixture(scope="session")
def all_servers(servers_folder: Path, tls: Tls) -> Iterator[AllServers]:
    """A server of each kind, shared by the tests that deploy several."""
    try:
        with all_running(servers_folder / "ten", tls) as running:
            yield running
    except MissingProgramError as missing:
        pytest.fail(str(missing), pytrace=False)
