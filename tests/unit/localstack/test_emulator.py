"""The emulator is started once, and keeps its state when it is slow to answer."""

import json
from pathlib import Path

import pytest

from localstack import background, emulator
from localstack.layout import port


def test_a_busy_emulator_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "emulator.json"
    record.write_text(json.dumps({"port": port(), "instance": "7"}))
    answers = [False, False, True]
    monkeypatch.setattr(emulator, "RECORD", record)
    monkeypatch.setattr(background, "pid", lambda _: 1)
    monkeypatch.setattr(emulator, "is_healthy", lambda: answers.pop(0))
    monkeypatch.setattr(emulator, "restart", lambda: "8")
    assert emulator.ensure() == "7"
    assert answers == []
