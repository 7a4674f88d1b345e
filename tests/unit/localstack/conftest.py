"""Background programs that belong to a test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localstack import background


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where programs have their files; those that still run are ended."""
    monkeypatch.setattr(background, "LOCAL", tmp_path)
    monkeypatch.setattr(background, "PIDS", tmp_path / "pids")
    monkeypatch.setattr(background, "LOGS", tmp_path / "logs")
    yield tmp_path
    for name in background.names():
        background.stop(name)
