"""The real servers, started once a run and handed to each test as if new."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import servers
from tests.servers import Server
from tests.servers import tls as certificates
from tests.servers.machine import MissingProgramError
from tests.servers.tls import Tls


@pytest.fixture(scope="session")
def servers_folder() -> Iterator[Path]:
    """A folder that other users may pass: PostgreSQL runs as one when the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="bucketcast-tests-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def tls(servers_folder: Path) -> Tls:
    """What the servers show and trust."""
    return certificates.issue(servers_folder / "tls")


@pytest.fixture(scope="session")
def running_server(servers_folder: Path, tls: Tls) -> Iterator[Callable[[str], Server]]:
    """The server of a kind, running, with all that has arrived in this run."""
    started: dict[str, Server] = {}

    def running(kind: str) -> Server:
        if kind not in started:
            started[kind] = start_or_fail(kind, servers_folder / kind, tls)
        server = started[kind]
        server.start_again()
        server.resume()
        return server

    yield running
    for server in started.values():
        server.stop()


@pytest.fixture
def server(running_server: Callable[[str], Server]) -> Callable[[str], Server]:
    """The server of a kind, running and cleared when a test asks for it first."""
    cleared: set[str] = set()

    def ready(kind: str) -> Server:
        found = running_server(kind)
        if kind not in cleared:
            found.clear()
            cleared.add(kind)
        return found

    return ready


def start_or_fail(kind: str, folder: Path, tls: Tls) -> Server:
    """Start a server; a program that is not on the machine fails the test, it does not skip it."""
    try:
        return servers.load(kind).start(folder, tls)
    except MissingProgramError as missing:
        pytest.fail(str(missing), pytrace=False)
