"""An emulator that runs already is used if its functions can load what is bundled here."""

import json
import sys
from pathlib import Path

import pytest

from localstack import emulator
from localstack.layout import Failure


@pytest.mark.parametrize("said", ['{"error": "unknown"}', json.dumps({"system": sys.platform}), ""])
def test_functions_that_run_on_another_system_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("LOCALSTACK_ENDPOINT", tmp_path.as_uri())
    monkeypatch.setattr(emulator, "is_healthy", lambda **_: True)
    (tmp_path / "_localstack").mkdir()
    (tmp_path / "_localstack" / "info").write_text(said)
    assert emulator.ensure() == tmp_path.as_uri()
    (tmp_path / "_localstack" / "info").write_text('{"system": "plan9"}')
    with pytest.raises(Failure, match="runs functions on plan9, and what is bundled here is for"):
        emulator.ensure()
