"""Background programs are recognised by more than their number."""

import os
from pathlib import Path

import pytest

from localstack import background


def test_stop_spares_another_program_with_the_same_pid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "PIDS", tmp_path)
    (tmp_path / "old.pid").write_text(f"{os.getpid()}\n/nowhere/bin/ministack\n")
    assert background.pid("old") is None
    assert not background.stop("old"), "this very test would have been ended"
