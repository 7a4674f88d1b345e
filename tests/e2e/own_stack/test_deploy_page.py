"""`docs/deploy.md`: each command, in its order, as a newcomer types it, against a local AWS.

What makes the deploy local is in `~/.cdk.json`, where people keep such settings: the commands are
run as they are written, but those for further stages and regions: that no name of a stack is
another's too is in `tests/infra/test_options.py`.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import boto3
import pytest

from tests.e2e.deployment import ROOT, Local, linked_checkout, succeed
from tests.servers.webhook import WebhookServer

PAGE = (ROOT / "docs" / "deploy.md").read_text("utf-8")
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
ACCOUNT: Final = "111122223333"
REGION: Final = "eu-central-1"
CONFIRMS = "cdk destroy"
"""It wants a terminal, where it is answered y."""
ELSEWHERE = re.compile(r"staging|us-east-1")
"""Each of these deploys the same once more."""


def commands() -> list[str]:
    """Return the commands of the page as they are written, but `config` for the local AWS."""
    lines = "".join(BLOCK.findall(PAGE)).splitlines()
    found = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    here = [line for line in found if not ELSEWHERE.search(line)]
    # Which has no context to be told so.
    return [line.replace("bucketcast config", "bucketcast config --local") for line in here]


@pytest.fixture
def alone(servers_folder: Path) -> Iterator[Local]:
    """A local AWS that is not started yet."""
    local = Local(servers_folder / "deploy-page")
    yield local
    local.stop()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return linked_checkout(tmp_path / "checkout", "cdk.out")


def test_each_command_does_what_the_page_promises(
    alone: Local,
    receiver: WebhookServer,
    checkout: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As under `make test`, of which the commands know nothing.
    monkeypatch.setenv("MAKELEVEL", "1")
    monkeypatch.setenv("MAKEFLAGS", "w")
    alone.start_emulator()
    settings = receiver.settings()
    environment = _environment(alone, tmp_path)
    s3 = boto3.client(
        "s3",
        endpoint_url=alone.endpoint,
        region_name=REGION,
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key="test",
    )
    s3.create_bucket(
        Bucket="example-uploads", CreateBucketConfiguration={"LocationConstraint": REGION}
    )
    wanted = commands()
    assert len(wanted) > 10
    for command in wanted:
        confirms = CONFIRMS in command
        typed = ["script", "-qec", command, "/dev/null"] if confirms else ["bash", "-c", command]
        answer = "y" if confirms else settings["auth_token"]
        shown = succeed(typed, checkout, environment, f"{answer}\n")
        if command == "make deployable":
            assert not shown, "it would replace the environments that other tests run in"
        if command.startswith("cp "):
            _edit(checkout, settings["endpoint"])
        if command.startswith("bucketcast test"):
            assert len(receiver.received()) == 1
    # The stack has gone, and with it its entry in the bucket's notifications.
    left = s3.get_bucket_notification_configuration(Bucket="example-uploads")
    assert "QueueConfigurations" not in left
    s3.close()


def _environment(local: Local, folder: Path) -> dict[str, str]:
    """Return what a newcomer's shell has after what the page says, here for the local AWS."""
    home = folder / "home"
    home.mkdir()
    context = {"context": {"local": "true"}, "requireApproval": "never"}
    (home / ".cdk.json").write_text(json.dumps(context), encoding="utf-8")
    programs = [".venv/bin", ".local/aws-cli-venv/bin"]
    return local.environment(
        AWS_ENDPOINT_URL=local.endpoint,
        AWS_REGION=REGION,
        AWS_DEFAULT_REGION=REGION,
        AWS_ACCESS_KEY_ID=ACCOUNT,
        AWS_SECRET_ACCESS_KEY="test",
        AWS_EC2_METADATA_DISABLED="true",
        HOME=str(home),
        PYENV_ROOT=os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv")),
        PATH=os.pathsep.join([*(str(ROOT / each) for each in programs), os.environ["PATH"]]),
    )


def _edit(checkout: Path, endpoint: str) -> None:
    """Write one's own webhook into the copied example.

    A local AWS would have functions for dynamic targets of all kinds.
    """
    text = (checkout / "production.toml").read_text("utf-8")
    edited = text.replace("https://hooks.example.com/bucket-events", endpoint)
    assert edited != text
    edited += "[dynamic_targets]\nkinds = 'webhook'\n"
    (checkout / "production.toml").write_text(edited, encoding="utf-8")
