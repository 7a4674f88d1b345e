"""A deploy is skipped only if no input of the synthesis changed."""

from pathlib import Path

import pytest

from localstack import deploy


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(deploy, "ROOT", tmp_path)
    for name in ("app.py", "cdk.json", "pyproject.toml", "config.toml"):
        (tmp_path / name).write_text(name)
    for name in ("bucketcast_cdk", "functions", "layers"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.py").write_text("1")
    return tmp_path


@pytest.mark.parametrize(
    "name", ["app.py", "config.toml", "bucketcast_cdk/one.py", "layers/new.py"]
)
def test_changed_or_new_input_changes_the_fingerprint(checkout: Path, name: str) -> None:
    before = deploy.fingerprint(checkout / "config.toml")
    (checkout / name).write_text("changed")
    assert deploy.fingerprint(checkout / "config.toml") != before
