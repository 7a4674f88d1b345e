"""The emulator's state is used again if it was written whole, and never lost by a wrong option."""

from pathlib import Path

import pytest

from localstack import background, emulator, kept
from localstack.layout import Failure


class Process:
    """What stands in for the emulator's process."""

    def __init__(self) -> None:
        self.runs = False
        self.in_order = True
        self.variables: dict[str, str] = {}

    def start(self, name: str, command: list[str], environment: dict[str, str]) -> None:
        assert (name, command[-1]) == (emulator.NAME, "ministack")
        self.runs, self.variables = True, environment
        if folder := environment.get("STATE_DIR"):
            Path(folder).mkdir(parents=True, exist_ok=True)

    def pid(self, _: str) -> int | None:
        return 1 if self.runs else None

    def end(self, _: str, __: float) -> bool:
        ended = self.runs and self.in_order
        self.runs = False
        return ended

    def stop(self, _: str) -> bool:
        was, self.runs = self.runs, False
        return was


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Process:
    made = Process()
    for name in ("start", "pid", "end", "stop"):
        monkeypatch.setattr(background, name, getattr(made, name))
    monkeypatch.setattr(background, "wait_until", lambda *_, **__: None)
    monkeypatch.setattr(emulator, "answers", lambda: made.runs)
    monkeypatch.setattr(emulator, "_demand", lambda _: None)
    monkeypatch.setattr(emulator, "RECORD", tmp_path / "emulator.json")
    monkeypatch.setattr(emulator, "SCRATCH", tmp_path / "tmp")
    monkeypatch.setattr(kept, "FOLDER", tmp_path / "kept")
    monkeypatch.setattr(kept, "SAVED", tmp_path / "kept" / "saved.json")
    monkeypatch.delenv("LOCALSTACK_ENDPOINT", raising=False)
    monkeypatch.setenv("MINISTACK_PORT", "4600")
    monkeypatch.setenv("KEEP", "1")
    return made


def test_kept_state_is_the_same_life(process: Process) -> None:
    life = emulator.ensure()
    assert process.variables["S3_PERSIST"] == process.variables["PERSIST_STATE"] == "1"
    assert emulator.ensure() == life
    for _ in range(2):
        assert emulator.stop()
        assert emulator.ensure() == life


def test_without_the_option_it_starts_empty_and_leaves_the_kept_state(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = emulator.ensure()
    emulator.stop()
    monkeypatch.delenv("KEEP")
    assert emulator.ensure() != life
    assert "PERSIST_STATE" not in process.variables
    emulator.stop()
    monkeypatch.setenv("KEEP", "1")
    assert emulator.ensure() == life


@pytest.mark.parametrize("how", ["killed", "crashed"])
def test_state_that_was_not_written_whole_is_discarded(process: Process, how: str) -> None:
    life = emulator.ensure()
    if how == "crashed":
        process.runs = False
    else:
        process.in_order = False
        assert emulator.stop()
    old = kept.FOLDER / "state" / "sqs.json"
    old.touch()
    assert emulator.ensure() != life
    assert not old.exists()


def test_a_start_that_fails_loses_no_kept_state(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = emulator.ensure()
    emulator.stop()

    def fail(*_: object, **__: object) -> None:
        process.runs = False
        raise Failure

    with monkeypatch.context() as patch:
        patch.setattr(background, "wait_until", fail)
        with pytest.raises(Failure):
            emulator.ensure()
    assert emulator.ensure() == life
    process.runs = False
    assert emulator.ensure() != life


def test_a_running_emulator_that_keeps_nothing_is_not_taken_for_one_that_does(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KEEP")
    emulator.ensure()
    monkeypatch.setenv("KEEP", "1")
    with pytest.raises(Failure, match="keeps nothing"):
        emulator.ensure()
    assert process.runs


def test_another_port_loses_no_kept_state(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = emulator.ensure()
    monkeypatch.setenv("MINISTACK_PORT", "4601")
    with pytest.raises(Failure, match="another port"):
        emulator.ensure()
    assert process.runs
    emulator.stop()
    with pytest.raises(Failure, match="MINISTACK_PORT=4600"):
        emulator.ensure()
    monkeypatch.setenv("MINISTACK_PORT", "4600")
    assert emulator.ensure() == life
