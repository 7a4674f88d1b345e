"""`app.py` as the CDK runs it: what it prints, how it ends, and what it does not ask AWS."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.infra.conftest import CONTEXT, ROOT, TYPICAL


def test_all_mistakes_are_printed_without_a_traceback(tmp_path: Path) -> None:
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


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    done = _run(tmp_path, None)
    assert done.returncode == 2
    assert str(tmp_path / "bucketcast.toml") in done.stderr


def test_account_region_and_name_come_from_outside_and_nothing_is_looked_up(
    tmp_path: Path,
) -> None:
    account = {"CDK_DEFAULT_ACCOUNT": "111122223333", "CDK_DEFAULT_REGION": "eu-central-1"}
    # An endpoint where nobody listens: a call to AWS would fail.
    nobody = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_EC2_METADATA_DISABLED": "true"}
    done = _run(tmp_path, TYPICAL, environ={**account, **nobody}, stack="Events")
    assert not done.returncode, done.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    artifact = manifest["artifacts"]["Events"]
    assert artifact["environment"] == "aws://111122223333/eu-central-1"
    assert "missing" not in manifest


def test_what_cdk_itself_finds_wrong_ends_without_a_traceback(tmp_path: Path) -> None:
    text = """
[notify_webhook.inside]
endpoint = "https://example.org/hook"
[notify_webhook.inside.deploy]
vpc = "my-vpc"
subnets = ["subnet-0123456789abcdef0"]
"""
    done = _run(tmp_path, text)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    # The CDK command prints this report.
    assert "my-vpc" in (tmp_path / "out" / "validation-report.json").read_text()


def test_more_than_aws_takes_is_refused_with_the_cure(tmp_path: Path) -> None:
    lower = "from stacks import quotas; quotas.MOST = {**quotas.MOST, 'resources': 10}; "
    run = f"{lower}import app, sys; sys.exit(app.main())"
    done = _run(tmp_path, TYPICAL, command=["-c", run])
    assert done.returncode == 2
    assert "Bucketcast: it comes to" in done.stderr
    assert 'AWS takes 10: nested = "on"' in done.stderr
    assert "Traceback" not in done.stderr


def _run(
    folder: Path,
    text: str | None,
    environ: dict[str, str] | None = None,
    command: Sequence[str] = ("-O", "app.py"),
    **context: Any,
) -> subprocess.CompletedProcess[str]:
    config = folder / "bucketcast.toml"
    if text is not None:
        config.write_text(text)
    words = {**CONTEXT, "config": str(config), **context}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MINIO_")}
    kept |= {"CDK_CONTEXT_JSON": json.dumps(words), "CDK_OUTDIR": str(folder / "out")}
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**kept, **(environ or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
