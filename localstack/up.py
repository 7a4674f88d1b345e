"""`make up`: start the local AWS, deploy the stack, and write the variables to use it.

It can be interrupted at any time and run again: each step checks what already exists.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from bucketcast.config import load
from bucketcast.config.model import Deployment
from bucketcast.errors import ConfigErrors
from localstack import clients, deploy, emulator, gateway
from localstack.layout import (
    ENV_FILE,
    LOCAL,
    ROOT,
    Failure,
    aws_variables,
    endpoint,
)

FAILED = 1
MISUSE = 2
INTERRUPTED = 130
SPARK_SUBMIT = ROOT / "localstack" / "spark-submit"
"""The program that runs a job of Glue here, given the job's name and arguments."""


def up(config: Path) -> None:
    """Start, seed, deploy and write the variables.

    Raises ConfigErrors before anything is changed, Failure when the machine or a step fails.
    """
    if not config.is_file():
        raise Failure(f"{config} does not exist: set CONFIG=path/to/bucketcast.toml")
    deployment = load(config, os.environ, local=True)
    gateway.refuse_busy_port()
    began = time.monotonic()
    LOCAL.mkdir(parents=True, exist_ok=True)
    try:
        changed = _deploy(deployment, config)
    except deploy.BrokenStackError as error:
        print(f"{error}\nrestarting the emulator empty", flush=True)
        emulator.restart()
        changed = _deploy(deployment, config)
    write_env()
    result = "deployed" if changed else "nothing changed"
    print(f"the local AWS is up at {endpoint()} ({result}, {time.monotonic() - began:.1f} s)")
    env_file = ENV_FILE.relative_to(ROOT) if ENV_FILE.is_relative_to(ROOT) else ENV_FILE
    print(f'to use it: set -a; . {env_file}; set +a; export PATH="{ROOT}/.venv/bin:$PATH"')


def write_env() -> None:
    """Write `.local/env`: shell variables that point AWS clients and bucketcast at the system."""
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
    instance = emulator.ensure()
    _seed(deployment.plain_secrets)
    return deploy.deploy(instance, config)


def _seed(secrets: Iterable[Mapping[str, str]]) -> None:
    """Write each secret into the local Secrets Manager, where the functions read it.

    Only a local deploy accepts secrets in plain text; a stack for a real account refers to existing
    secrets.
    """
    manager = clients.secretsmanager()
    for values in secrets:
        for name, value in values.items():
            try:
                manager.create_secret(Name=name, SecretString=value)
            except manager.exceptions.ResourceExistsException:
                manager.put_secret_value(SecretId=name, SecretString=value)


def run(command: str, description: str, job: Callable[[Path], None]) -> int:
    """Run a job of `make up` or `make demo` with the configuration's path.

    Returns 0 when it is done, 1 when it failed, 2 for an invalid configuration, 130 when it was
    interrupted.
    """
    parser = argparse.ArgumentParser(prog=command, description=description)
    parser.add_argument("--config", type=Path, default=ROOT / "bucketcast.toml", metavar="FILE")
    config: Path = parser.parse_args().config.resolve()
    try:
        job(config)
    except ConfigErrors as errors:
        print(errors, file=sys.stderr)
        return MISUSE
    except Failure as failure:
        print(failure, file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print(f"interrupted: `{command}` continues, `make stop` stops everything", file=sys.stderr)
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    raise SystemExit(run("make up", __doc__.split("\n")[0], up))
