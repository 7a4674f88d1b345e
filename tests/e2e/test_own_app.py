"""The built wheel in a new environment: its command, and `examples/cdk` with its construct."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.e2e import iam
from tests.e2e.deployment import ROOT, succeed
from tests.e2e.system import System
from tests.environment import install, new_environment
from tests.servers.webhook import WebhookServer

EXAMPLE = ROOT / "examples" / "cdk"
CDK = ROOT / "node_modules" / ".bin" / "cdk"
STACK = "Photos"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel and what it asks for, nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    build = ["-m", "uv", "build", "--no-build-isolation", "--offline", "--out-dir", str(folder)]
    succeed([sys.executable, *build], ROOT)
    (wheel,) = folder.glob("*.whl")
    # The versions of the lock, without its hashes: those are for the platforms that it names.
    pinned = [
        line.partition(" ")[0]
        for line in (ROOT / "requirements" / "deploy.txt").read_text("utf-8").splitlines()
        if "==" in line.partition(" ")[0]
    ]
    (folder / "constraints.txt").write_text("\n".join(pinned), encoding="utf-8")
    python = new_environment(folder / "venv")
    install(python, "--constraint", str(folder / "constraints.txt"), f"{wheel}[cdk]")
    return python.parent


def test_the_example_is_deployed_and_an_event_of_its_bucket_arrives(
    system: System, installed: Path, receiver: WebhookServer, tmp_path: Path
) -> None:
    app = tmp_path / "app"
    shutil.copytree(EXAMPLE, app)
    config = app / "local.toml"
    text = config.read_text("utf-8")
    (endpoint,) = [line for line in text.splitlines() if line.startswith("endpoint")]
    here = "\n".join(f'{key} = "{value}"' for key, value in receiver.settings().items())
    config.write_text(text.replace(endpoint, here), encoding="utf-8")
    # Bundles are named by their content: those that the checkout has built need not be built again.
    cache = tmp_path / "cache" / "bucketcast"
    cache.mkdir(parents=True)
    (cache / "bundles").symlink_to(ROOT / ".local" / "bundles")
    environment = system.environment | {
        "PATH": f"{installed}:{system.environment['PATH']}",
        "XDG_CACHE_HOME": str(cache.parent),
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
    }
    cdk = [str(CDK), "--context", "local=true", "--no-notices", "--no-version-reporting"]
    outputs = tmp_path / "outputs.json"
    deploy = ["deploy", "--require-approval", "never", "--outputs-file", str(outputs)]
    succeed([*cdk, *deploy], app, environment)
    try:
        bucket = json.loads(outputs.read_text("utf-8"))[STACK]["Bucket"]
        arn = "arn:minio:sqs::primary:webhook"
        add = ["event", "add", bucket, arn, "--event", "put"]
        succeed([str(installed / "bucketcast"), "--stack", STACK, *add], app, environment)
        system.put(bucket, "one.jpg")
        wanted = [f"{bucket}/one.jpg"]
        system.until("the event", lambda: _keys(receiver), lambda seen: seen == wanted)
        calls = iam.recorded(system.local.calls)
        assert any(each.function == f"{STACK}-webhook-primary" for each in calls)
        assert system.refused(calls, STACK) == []
        system.s3.delete_object(Bucket=bucket, Key="one.jpg")
    finally:
        # By what was deployed: else the app is synthesized again.
        succeed([*cdk, "--app", "cdk.out", "destroy", "--force"], app, environment)


def test_the_command_needs_only_what_the_wheel_asks_for(
    system: System, installed: Path, tmp_path: Path
) -> None:
    """A target's client is its function's: the command, the gateway and the console need none."""
    program = """
import importlib, pkgutil, bucketcast
for module in pkgutil.walk_packages(bucketcast.__path__, "bucketcast."):
    if not module.name.startswith("bucketcast.targets."):
        importlib.import_module(module.name)
"""
    succeed([str(installed / "python"), "-I", "-c", program], tmp_path)
    succeed([str(installed / "bucketcast"), "target", "ls"], tmp_path, system.environment)


def _keys(receiver: WebhookServer) -> list[str]:
    return [json.loads(each.body)["Key"] for each in receiver.received()]
