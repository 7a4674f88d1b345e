"""`app.py` as the CDK runs it: what it prints, how it ends, and what it does not ask AWS."""

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App

import app
from bucketcast.config import load
from bucketcast.config.deployable import deploy_errors
from tests.infra.conftest import CHECKED, CONTEXT, ROOT

Synth = Callable[..., int]


@pytest.fixture
def synth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Synth:
    """Run the app of a configuration in this process, and return its exit code."""
    for name in [name for name in os.environ if name.startswith("MINIO_")]:
        monkeypatch.delenv(name)
    file = tmp_path / "bucketcast.toml"

    def synth(text: str, **context: Any) -> int:
        file.write_text(text)
        words = {**CHECKED, "config": str(file), **context}
        made = partial(App, outdir=str(tmp_path / "out"), context=words)
        monkeypatch.setattr(app, "App", made)
        return app.main()

    return synth


def test_all_problems_are_printed(
    synth: Synth, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = '[bucket.uploads]\nvia = "pigeon"\n[notify_webhook.primary]\nendpont = "x"\n'
    assert synth(text) == 2
    printed = capsys.readouterr().err
    assert "bucket.uploads.via" in printed
    assert "notify_webhook.primary.endpont" in printed
    assert not (tmp_path / "out" / "Bucketcast.template.json").exists()


def test_example_is_for_the_account_of_the_environment_without_a_look_up(
    synth: Synth, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDK_DEFAULT_ACCOUNT", "111122223333")
    monkeypatch.setenv("CDK_DEFAULT_REGION", "eu-central-1")
    # An endpoint without a server: a call to AWS would fail.
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    text = (ROOT / "examples" / "aws" / "bucketcast.toml").read_text("utf-8")
    assert synth(text, stack="Events", **CONTEXT) == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["artifacts"]["Events"]["environment"] == "aws://111122223333/eu-central-1"
    assert "missing" not in manifest
    template = json.loads((tmp_path / "out" / "Events.template.json").read_text())
    assert len(template["Resources"]) <= 40


@pytest.mark.parametrize(
    ("kind", "settings", "key"),
    [
        ("amqp", {"url": "amqp://localhost:5672", "exchange": "x"}, "url"),
        ("elasticsearch", {"url": "http://127.0.0.1:9200", "index": "x"}, "url"),
        ("kafka", {"brokers": "b:9092,127.1.2.3:9092", "topic": "x"}, "brokers"),
        ("mqtt", {"broker": "tcp://[::1]:1883", "topic": "x"}, "broker"),
        ("nats", {"address": "localhost:4222", "subject": "x"}, "address"),
        ("nsq", {"nsqd_address": "127.0.0.1:4150", "topic": "x"}, "nsqd_address"),
        ("redis", {"address": "127.0.0.1:6379", "key": "x"}, "address"),
        ("webhook", {"endpoint": "https://localhost./x"}, "endpoint"),
    ],
)
def test_each_address_outside_of_secrets_is_checked(
    tmp_path: Path, kind: str, settings: dict[str, str], key: str
) -> None:
    lines = [f"{name} = {json.dumps(text)}" for name, text in settings.items()]
    config = tmp_path / "bucketcast.toml"
    config.write_text("\n".join([f"[notify_{kind}.one]", *lines]))
    made = load(config, {}, local=True)
    assert [each.key for each in deploy_errors(made, "Bucketcast", local=False)] == [
        f"notify_{kind}.one.{key}"
    ]


WRONG_VPC = """
[notify_webhook.inside]
endpoint = "https://example.org/hook"
[notify_webhook.inside.deploy]
vpc = "my-vpc"
subnets = ["subnet-0123456789abcdef0"]
"""
MANY_TARGETS = "".join(
    f'[notify_nsq.n{number}]\nnsqd_address = "nsq.example.org:4150"\ntopic = "t"\n'
    for number in range(45)
)


def test_validation_errors_of_cdk_end_without_a_traceback(synth: Synth, tmp_path: Path) -> None:
    assert synth(WRONG_VPC) == 1
    # The CDK command prints this report.
    assert "my-vpc" in (tmp_path / "out" / "validation-report.json").read_text()


def test_too_many_targets_for_a_stack_are_refused_with_a_hint(
    synth: Synth, capsys: pytest.CaptureFixture[str]
) -> None:
    assert synth(MANY_TARGETS) == 2
    printed = capsys.readouterr().err
    assert "Bucketcast: it comes to 5" in printed
    assert "CloudFormation takes 500" in printed
    assert "dynamic targets (`bucketcast target add`)" in printed


def test_local_deploy_skips_size_and_nag_checks(
    synth: Synth, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checks take a third of the time, and the local AWS has no limits."""
    monkeypatch.setattr(app, "RESOURCES", 1)
    assert synth(WRONG_VPC, local="true") == 0
