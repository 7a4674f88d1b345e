"""A deploy is skipped only if no input of the synthesis changed; a failed one has a reason."""

from pathlib import Path
from unittest.mock import Mock

import pytest

from localstack import clients, deploy
from localstack.layout import Failure


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


def test_the_reason_of_a_failed_deploy_comes_before_the_logs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bucket = {
        "OperationId": "2",
        "LogicalResourceId": "images",
        "ResourceType": "AWS::S3::Bucket",
        "ValidationStatus": "FAILED",
        "ValidationStatusReason": "it exists",
    }
    other = {**bucket, "ValidationStatus": None, "ValidationStatusReason": None}
    broken = {**other, "ResourceStatus": "CREATE_FAILED", "ResourceStatusReason": "no layer"}
    whole = {**broken, "ResourceType": "AWS::CloudFormation::Stack"}
    fine = {**broken, "ResourceStatus": "CREATE_COMPLETE"}
    earlier = {**broken, "OperationId": "1"}
    events = [whole, bucket, fine, broken, earlier]
    client = Mock()
    client.describe_events.return_value = {"OperationEvents": events}
    client.describe_stacks.return_value = {"Stacks": []}
    monkeypatch.setattr(clients, "cloudformation", lambda: client)
    monkeypatch.setattr(deploy, "Running", Mock(side_effect=Failure("deploy failed")))
    with pytest.raises(Failure) as failed:
        deploy._roll_out()
    lines = str(failed.value).splitlines()
    assert lines[:3] == ["images: it exists", "images: no layer", "deploy failed"]
