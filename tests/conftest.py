"""The real servers, started once a run and handed to each test as if new."""

import functools
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from botocore.loaders import create_loader
from hypothesis import HealthCheck, settings

from tests import servers
from tests.servers import Server
from tests.servers import tls as certificates
from tests.servers.machine import MissingProgramError
from tests.servers.tls import Tls

# Properties do not watch the clock: a busy machine may be late for any example. Their examples are
# the same in every run, but for `make model`, which looks for new ones.
settings.register_profile(
    "tests",
    deadline=None,
    derandomize="MODEL_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


def pytest_configure() -> None:
    # As Ctrl-C, so that the fixtures end what they started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def aws_models() -> Iterator[None]:
    """Read botocore's models of the services once a run, not once a session.

    Tests make hundreds of sessions, and to parse what describes DynamoDB or S3 takes longer than
    most of them take in all. moto reads and changes models of its own.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("botocore.session.create_loader", functools.cache(create_loader))
        yield


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
    """The server of that name, running, with all that has arrived in this run."""
    started: dict[str, Server] = {}

    def running(name: str) -> Server:
        if name not in started:
            started[name] = start_or_fail(name, servers_folder / name, tls)
        server = started[name]
        server.start_again()
        server.resume()
        return server

    yield running
    for server in started.values():
        server.stop()


@pytest.fixture
def server(running_server: Callable[[str], Server]) -> Callable[[str], Server]:
    """The server of that name, running and cleared when a test asks for it first."""
    cleared: set[str] = set()

    def ready(name: str) -> Server:
        found = running_server(name)
        if name not in cleared:
            found.clear()
            cleared.add(name)
        return found

    return ready


def start_or_fail(name: str, folder: Path, tls: Tls) -> Server:
    """Start a server; a program that is not on the machine fails the test, it does not skip it."""
    try:
        return servers.run(name, folder, tls)
    except MissingProgramError as missing:
        pytest.fail(str(missing), pytrace=False)
