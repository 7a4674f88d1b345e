"""A large deployment, on this machine: 100 buckets by EventBridge, 50 targets, 60 scans.

It writes the configuration, synthesises it for AWS and counts it against AWS's limits, deploys it
into a local AWS of its own, lets a bucket's event come to its target, and removes everything. Run:
`make large`, or `python -m benchmarks.large [FOLDER]`; with a folder the configuration and the
emulator's files stay there.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import boto3

from bucketcast_cdk import quotas
from tests.e2e.deployment import ROOT, STACK, Local
from tests.e2e.system import Deployed
from tests.infra.test_quotas import BUCKETS, SCANS, TARGETS, large
from tests.servers import tls, webhook

TIMEOUT_SECONDS = 300.0
BUCKET = "uploads-of-customer-000"
TARGET = "webhook.customer-00"
SAMPLES = 6
"""Of the limits, those that are nearest."""


@contextmanager
def measured(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - began:.0f} s", flush=True)


def synthesise(config: Path, folder: Path) -> None:
    """Make the templates for AWS, and show how near they are to its limits."""
    assembly = folder / "cdk.out"
    context = ["--context", f"config={config}"]
    command = [ROOT / "node_modules/.bin/cdk", "synth", "--quiet", "--output", assembly, *context]
    subprocess.run(command, cwd=ROOT, check=True)
    templates = quotas.templates(assembly)
    counts = sorted(
        quotas.counts(templates),
        key=lambda each: each.found / quotas.LIMITS[each.what].most,
        reverse=True,
    )
    nearest = {each.what: each for each in reversed(counts)}
    for each in sorted(nearest.values(), key=counts.index)[:SAMPLES]:
        most = quotas.LIMITS[each.what].most
        print(f"  {each.found:>9,} of {most:>9,} {each.what} ({each.of})")


def until(arrived: Callable[[], object]) -> None:
    end = time.monotonic() + TIMEOUT_SECONDS
    while not arrived():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)


def run(folder: Path, running: ExitStack) -> None:
    """Do all of it."""
    config = folder / "bucketcast.toml"
    print(f"{BUCKETS} buckets by EventBridge with access events, {TARGETS} targets, {SCANS} scans")
    config.write_text(large())
    with measured("synthesised for AWS, within its limits"):
        synthesise(config, folder)
    server = webhook.start(folder / "webhook", tls.issue(folder / "tls"))
    running.callback(server.stop)
    config.write_text(large().replace('"https://example.org/0"', f'"http://{server.address}/open"'))
    local = Local(folder / "local")
    running.callback(local.stop)
    with measured("local AWS started"):
        local.start_emulator()
    login = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    s3 = boto3.client("s3", endpoint_url=local.endpoint, region_name="us-east-1", **login)
    s3.create_bucket(Bucket="inventories")
    with measured("deployed"):
        up = [sys.executable, "-m", "localstack.up", "--config", str(config)]
        subprocess.run(up, cwd=ROOT, env=local.environment(), check=True)
    deployed = Deployed(local, config, folder)
    deployed.add_rule(BUCKET, TARGET)
    with measured("an event, from its bucket by EventBridge to its target"):
        deployed.put(BUCKET, "photo.jpg")
        until(server.requests)
    with measured("removed"):
        stack = deployed.client("cloudformation")
        stack.delete_stack(StackName=STACK)
        stack.get_waiter("stack_delete_complete").wait(StackName=STACK)
    deployed.close()


def main() -> int:
    with tempfile.TemporaryDirectory() as made, ExitStack() as running:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else made).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        run(folder, running)
    return 0


if __name__ == "__main__":
    sys.exit(main())
