"""A deploy is skipped only if all inputs of the synthesis are unchanged."""

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


def test_notification_variable_changes_the_fingerprint(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = deploy.fingerprint(checkout / "config.toml")
    monkeypatch.setenv("MINIO_NOTIFY_WEBHOOK_ENDPOINT_A", "http://127.0.0.1:1/")
    assert deploy.fingerprint(checkout / "config.toml") != before


def test_bytecode_and_other_files_keep_the_fingerprint(checkout: Path) -> None:
    before = deploy.fingerprint(checkout / "config.toml")
    (checkout / "bucketcast_cdk" / "__pycache__").mkdir()
    (checkout / "bucketcast_cdk" / "__pycache__" / "one.pyc").write_text("x")
    (checkout / "README.md").write_text("x")
    assert deploy.fingerprint(checkout / "config.toml") == before
