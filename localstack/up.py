"""`make up`: start the local AWS, deploy the stack, and write the variables to use it.

It can be interrupted at any time and run again: each step checks what already exists.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from bucketcast.config import Deployment, load
from localstack import clients, deploy, emulator, gateway
from localstack.layout import (
    ENV_FILE,
    LOCAL,
    ROOT,
    Failure,
    aws_variables,
    endpoint,
)
from localstack.program import run

SPARK_SUBMIT = ROOT / "localstack" / "spark-submit"
"""What runs a job of Glue here; the command line's next words are the job's name and arguments."""


def up(config: Path) -> None:
    """Start, seed, deploy and write the variables.

    Raises ConfigErrors before anything is touched, Failure when the machine or a step fails.
    """
    if not config.is_file():
        raise Failure(f"{config} does not exist: set CONFIG=path/to/bucketcast.toml")
    deployment = load(config, os.environ, local=True)
    gateway.refuse_busy_port()
    began = time.monotonic()
    LOCAL.mkdir(parents=True, exist_ok=True)
    try:
        changed = _deploy(deployment, config)
    except deploy.Broken as broken:
        print(f"{broken}\nrestarting the emulator empty", flush=True)
        emulator.restart()
        changed = _deploy(deployment, config)
    write_env()
    what = "deployed" if changed else "nothing changed"
    print(f"the local AWS is up at {endpoint()} ({what}, {time.monotonic() - began:.1f} s)")
    shown = ENV_FILE.relative_to(ROOT) if ENV_FILE.is_relative_to(ROOT) else ENV_FILE
    print(f'to use it: set -a; . {shown}; set +a; export PATH="{ROOT}/.venv/bin:$PATH"')


def write_env() -> None:
    """Write `.local/env`: shell lines that lead any AWS client, and bucketcast, to the system."""
    outputs = deploy.outputs()
    queue = outputs.get("IngressQueueUrl")
    if queue is None:
        raise Failure("the stack is deployed but has no output IngressQueueUrl: a fault of app.py")
    variables = aws_variables() | {"BUCKETCAST_INGRESS_QUEUE_URL": queue}
    variables["BUCKETCAST_SPARK_SUBMIT"] = shlex.quote(str(SPARK_SUBMIT))
    variables |= gateway.ensure()
    lines = [f"{name}={shlex.quote(value)}\n" for name, value in variables.items()]
    unfinished = ENV_FILE.with_suffix(".new")
    unfinished.write_text("".join(lines))
    unfinished.replace(ENV_FILE)


def _deploy(deployment: Deployment, config: Path) -> bool:
    life = emulator.ensure()
    _seed(deployment.plain_secrets)
    return deploy.deploy(life, config)


def _seed(secrets: Iterable[Mapping[str, str]]) -> None:
    """Write each named secret into the local Secrets Manager, where the functions look for it.

    Only a local deploy takes secrets in plain text; a stack for a real account refers to secrets
    that are there already.
    """
    manager = clients.secretsmanager()
    for named in secrets:
        for name, value in named.items():
            try:
                manager.create_secret(Name=name, SecretString=value)
            except manager.exceptions.ResourceExistsException:
                manager.put_secret_value(SecretId=name, SecretString=value)


if __name__ == "__main__":
    raise SystemExit(run("make up", __doc__.split("\n")[0], up))
