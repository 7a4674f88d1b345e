"""The list of kinds exists once, and everything else agrees with it."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bucketcast import targets
from bucketcast.targets.base.mirror import Mirror

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


REQUIRED = {"__init__.py", "answers.py", "settings.py", "client.py"}
REQUIRED_OF_MIRRORS = {"mirror.py", "state.py"}


@pytest.mark.parametrize("kind", targets.kinds())
def test_the_same_role_has_the_same_file_name(kind: str) -> None:
    files = {path.name for path in (Path(targets.__file__).parent / kind).iterdir()}
    is_mirror = issubclass(targets.load(kind), Mirror)
    assert files >= REQUIRED | (REQUIRED_OF_MIRRORS if is_mirror else set())


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
