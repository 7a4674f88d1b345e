"""The list of kinds exists once, and everything else agrees with it."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bucketcast import targets
from bucketcast.settings.options import options_of
from bucketcast.targets.base.mirror import Mirror
from bucketcast.targets.base.options import Common

ROOT = Path(__file__).parents[3]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_extras_kinds_and_servers_agree() -> None:
    servers = {
        path.stem
        for path in (ROOT / "tests" / "servers").glob("*.py")
        if "\ndef start(" in path.read_text(encoding="utf-8")
    }
    extras = set(PROJECT["project"]["optional-dependencies"])
    assert set(targets.kinds()) == extras - {"cdk"} == servers


def test_clients_of_each_kind_have_their_requirements() -> None:
    folders = {
        path.parent.name for path in (ROOT / "layers" / "clients").glob("*/requirements.txt")
    }
    assert folders == set(targets.kinds())


def test_functions_carry_the_dependencies_that_lambda_lacks() -> None:
    """boto3 comes with Lambda; only the command needs the other dependencies."""
    dependencies = set(PROJECT["project"]["dependencies"])
    shared = set(PROJECT["dependency-groups"]["shared"])
    assert shared < dependencies
    of_the_command = {line.partition(">")[0] for line in dependencies - shared}
    assert of_the_command == {"boto3", "click", "rich", "tomli-w"}


def test_importing_every_target_imports_no_client() -> None:
    """The deploy, the command and the checks need the options, on machines without the clients."""
    code = """
import sys
from bucketcast import targets
clients = {targets.load(kind).client for kind in targets.kinds()}
print(*sorted(clients & sys.modules.keys()))
print(*sorted(clients))
"""
    completed = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT / "layers" / "core" / "python",
    )
    loaded, clients = completed.stdout.split("\n")[:2]
    assert loaded == ""
    assert len(clients.split()) == len(targets.kinds())


@pytest.mark.parametrize("kind", targets.kinds())
def test_preload_imports_the_client(kind: str) -> None:
    target = targets.load(kind)
    target.preload()
    assert target.client in sys.modules


@pytest.mark.parametrize("kind", targets.kinds())
def test_every_kind_has_minios_common_options(kind: str) -> None:
    declared: Any = targets.load(kind).Settings
    assert options_of(Common).keys() <= options_of(declared).keys()


REQUIRED = {"__init__.py", "settings.py", "client.py", "errors.py"}
MIRROR_FILES = {"mirror.py", "state.py"}
SHARED = {"access.py", "address.py", "batch.py", "handshake.py", "iam.py", "protocol.py"}
SPECIFIC = {
    "elasticsearch": {
        *("api.py", "highwayhash.py", "ids.py", "index.py"),
        *("documents.py", "guard.py"),
    },
    "kafka": {"configuration.py", "health.py"},
    "mqtt": {"websocket.py"},
    "mysql": {"names.py", "sql.py", "tables.py"},
    "nats": {
        *("connection.py", "core.py", "in_flight.py", "jetstream.py", "login.py"),
        *("protobuf.py", "streaming.py"),
    },
    "postgres": {"sql.py"},
    "redis": {"mirror.lua", "sweep.lua", "dry_run.py"},
    "webhook": {"guard.py", "limiter.py", "signature.py"},
}
"""Files that only one kind has."""


@pytest.mark.parametrize("kind", targets.kinds())
def test_the_same_role_has_the_same_file_name(kind: str) -> None:
    folder = Path(targets.__file__).parent / kind
    files = {path.name for path in folder.iterdir()} - {"__pycache__"}
    mirrors = issubclass(targets.load(kind), Mirror)
    assert (MIRROR_FILES & files == MIRROR_FILES) if mirrors else not MIRROR_FILES & files
    assert files >= REQUIRED
    assert files - REQUIRED - MIRROR_FILES - SHARED == SPECIFIC.get(kind, set())


def test_types_of_arns_differ() -> None:
    types = [targets.load(kind).arn_type for kind in targets.kinds()]
    assert len(set(types)) == len(types)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("webhok", "unknown kind 'webhok': did you mean 'webhook'? kinds are "),
        ("base", "unknown kind 'base'"),
        ("../arn", "unknown kind '../arn'"),
        ("", "unknown kind ''"),
    ],
)
def test_an_unknown_kind_is_refused_with_the_known_kinds(kind: str, expected: str) -> None:
    with pytest.raises(ValueError, match="unknown kind") as refused:
        targets.load(kind)
    assert expected in str(refused.value)
