"""What is missing on the machine is named, all of it, with its hint."""

import sys
from pathlib import Path

import pytest

from localstack import machine


def program(folder: Path, name: str, output: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{output}'\n")
    path.chmod(0o755)


def test_everything_there_is_no_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, output in (("node", "v20.1.0"), ("npm", "10"), ("git", "2")):
        program(tmp_path, name, output)
    assert machine.gaps() == []


def test_all_gaps_are_named_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    node, git = machine.gaps()
    assert node.startswith("Node.js 20 or newer")
    assert "https://nodejs.org" in node
    assert git.startswith("git: ")


@pytest.mark.parametrize("output", ["v18.19.0", "nonsense"])
def test_old_node_is_a_gap_that_names_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    program(tmp_path, "node", output)
    program(tmp_path, "git", "2")
    (gap,) = machine.gaps()
    assert f"{tmp_path}/node is {output}" in gap


def test_pythons_of_pyenv_are_found_in_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "versions" / "3.99.1" / "bin" / "python3.99"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert machine.interpreter("3.99") == str(python)
    assert machine.interpreter("3.98") == sys.executable
