"""`app.py` as the CDK runs it: what it prints, how it ends, and what it does not ask AWS."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bucketcast.config import load
from bucketcast.config.deployable import deploy_errors
from tests.infra.conftest import ROOT, TYPICAL, UNBUNDLED


def test_all_problems_are_printed_without_a_traceback(tmp_path: Path) -> None:
    text = '[bucket.uploads]\nvia = "pigeon"\n[notify_webhook.primary]\nendpont = "x"\n'
    done = _run(tmp_path, text)
    assert done.returncode == 2
    assert "bucket.uploads.via" in done.stderr
    assert "notify_webhook.primary.endpont" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out" / "Bucketcast.template.json").exists()


def test_a_plain_secret_is_refused_unless_the_deploy_is_local(tmp_path: Path) -> None:
    text = TYPICAL.replace("secret:webhook-primary", "0pen-sesame")
    done = _run(tmp_path, text)
    assert done.returncode == 2
    assert "notify_webhook.primary.auth_token" in done.stderr
    assert "0pen-sesame" not in done.stderr


def test_missing_configuration_file_is_reported(tmp_path: Path) -> None:
    done = _run(tmp_path, None)
    assert done.returncode == 2
    assert str(tmp_path / "bucketcast.toml") in done.stderr


@pytest.mark.parametrize("reporting", [True, False])
@pytest.mark.parametrize(
    ("app", "stack"), [("app.py", "Events"), ("examples/cdk/app.py", "Photos")]
)
def test_examples_synthesize_without_a_call_of_aws(
    tmp_path: Path, app: str, stack: str, *, reporting: bool
) -> None:
    account = {"CDK_DEFAULT_ACCOUNT": "111122223333", "CDK_DEFAULT_REGION": "eu-central-1"}
    # An endpoint without a server: a call to AWS would fail.
    unreachable = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_EC2_METADATA_DISABLED": "true"}
    example = (ROOT / "examples" / "aws" / "bucketcast.toml").read_text()
    words = {"stack": "Events", "aws:cdk:version-reporting": reporting}
    done = _run(tmp_path, example, {**account, **unreachable}, app, **words)
    assert not done.returncode, done.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    artifact = manifest["artifacts"][stack]
    assert artifact["environment"] == "aws://111122223333/eu-central-1"
    assert "missing" not in manifest
    # CloudFormation refuses a template without a resource, and CDK's report would hide one.
    (template,) = (tmp_path / "out").glob("*.template.json")
    assert "127.0.0.1" not in template.read_text()
    types = {each["Type"] for each in json.loads(template.read_text())["Resources"].values()}
    assert "AWS::Lambda::Function" in types
    assert ("AWS::CDK::Metadata" in types) == reporting


def test_a_target_on_this_machine_is_refused_for_an_account(tmp_path: Path) -> None:
    done = _run(tmp_path, (ROOT / "bucketcast.toml").read_text())
    assert done.returncode == 2
    assert done.stderr.endswith(
        "notify_webhook.primary.endpoint: found 127.0.0.1, which is the function itself; a host "
        "that AWS reaches, as in examples/aws/bucketcast.toml; --local is for a laptop's file\n"
    )


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


def test_validation_errors_of_cdk_end_without_a_traceback(tmp_path: Path) -> None:
    done = _run(tmp_path, WRONG_VPC)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    # The CDK command prints this report.
    assert "my-vpc" in (tmp_path / "out" / "validation-report.json").read_text()


def test_too_many_targets_for_a_stack_are_refused_with_a_hint(tmp_path: Path) -> None:
    done = _run(tmp_path, MANY_TARGETS)
    assert done.returncode == 2
    assert "Bucketcast: it comes to 5" in done.stderr
    assert "CloudFormation takes 500" in done.stderr
    assert "dynamic targets (`bucketcast target add`)" in done.stderr
    assert "Traceback" not in done.stderr


def test_local_deploy_skips_size_and_nag_checks(tmp_path: Path) -> None:
    """The checks take a third of the time, and the local AWS has no limits."""
    done = _run(tmp_path, WRONG_VPC + MANY_TARGETS, local="true")
    assert done.returncode == 0, done.stderr


def _run(
    folder: Path,
    text: str | None,
    environ: dict[str, str] | None = None,
    app: str = "app.py",
    **context: Any,
) -> subprocess.CompletedProcess[str]:
    config = folder / "bucketcast.toml"
    if text is not None:
        config.write_text(text)
    words = {**UNBUNDLED, "config": str(config), **context}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MINIO_")}
    kept |= {"CDK_CONTEXT_JSON": json.dumps(words), "CDK_OUTDIR": str(folder / "out")}
    kept["PYTHONPATH"] = str(ROOT)  # an app of one's own has the wheel instead
    return subprocess.run(
        [sys.executable, "-O", Path(app).name],
        cwd=(ROOT / app).parent,
        env={**kept, **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=1_200,
    )
