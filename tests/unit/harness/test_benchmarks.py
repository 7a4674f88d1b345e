"""Benchmarks leave nothing behind."""

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from benchmarks import dispatch
from tests import servers


def test_others_may_pass_the_folder_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else PostgreSQL, which runs as another user, keeps its files elsewhere."""
    modes: list[int] = []

    def run(_name: str, folder: Path, *_: Any) -> Any:
        modes.append(folder.parent.stat().st_mode & 0o777)
        return Mock()

    monkeypatch.setattr(servers, "run", run)
    with dispatch.server("postgres"):
        pass
    assert modes == [0o755]
