"""What the demo runs on: a receiver behind the webhook, the command as a user types it."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path

from bucketcast import cli
from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws
from bucketcast.config import load
from bucketcast.deployment import health
from localstack import receiver
from localstack.layout import STACK, Failure, aws_environment

SETTLE_SECONDS = 30.0


def say(title: str) -> None:
    print(f"\n== {title}", flush=True)


def start_receiver(config: Path) -> None:
    """Start it behind the configured webhook, or where there is none behind one of the demo's."""
    target = receiver.watched(load(config, os.environ, local=True))
    if target is None:
        os.environ.update(receiver.own_variables())
        target = receiver.watched(load(config, os.environ, local=True))
    if target is None:
        raise Failure("the demo's own webhook is missing: a fault of localstack/receiver.py")
    receiver.start(target)
    print(f"webhook: {receiver.PROGRAM.name}, at {target.settings['endpoint']}", flush=True)


def lead_here() -> None:
    """Point this process to the local AWS only."""
    wanted = aws_environment()
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update(wanted)


def bucketcast(*words: str) -> None:
    """Run the command as a user would."""
    print(f"$ bucketcast {shlex.join(words)}", flush=True)
    if cli.main(words):
        raise Failure(f"bucketcast {shlex.join(words)} failed")


def wait_until_empty() -> None:
    """Wait until ingest has read every event of the bucket, matched or not."""
    aws = Aws()
    queue = deployed.find(STACK, aws).ingress_queue
    deadline = time.monotonic() + SETTLE_SECONDS
    while health.messages(queue, aws):
        if time.monotonic() > deadline:
            raise Failure(f"the ingress queue is not empty after {SETTLE_SECONDS:.0f} s")
        time.sleep(0.1)
