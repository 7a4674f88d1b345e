"""Pythons of pyenv."""

import sys
from pathlib import Path

import pytest

from localstack import machine


def test_interpreter_finds_pythons_of_pyenv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "versions" / "3.99.1" / "bin" / "python3.99"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert machine.interpreter("3.99") == str(python)
    assert machine.interpreter("3.98") == sys.executable
