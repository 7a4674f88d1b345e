"""Deploy the stack into the local AWS with the ordinary AWS CDK commands.

If the inputs of the synthesis and the emulator's instance are those of the last deploy, and the
stack is complete, there is nothing to do.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from localstack import background, clients, emulator
from localstack.commands import Running
from localstack.layout import (
    ACCOUNT,
    CDK,
    LOCAL,
    REGION,
    ROOT,
    STACK,
    Failure,
    aws_environment,
    read_record,
)

if TYPE_CHECKING:
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

RECORD = LOCAL / "deployed.json"
ASSEMBLY = LOCAL / "cdk.out"
TOOLKIT = "CDKToolkit"
COMPLETE = ("CREATE_COMPLETE", "UPDATE_COMPLETE")
SYNTH_SECONDS = 600.0
BOOTSTRAP_SECONDS = 600.0
# Ten minutes: where a function of a custom resource breaks, the deploy would wait for an hour.
DEPLOY_SECONDS = 600.0
SETTLE_SECONDS = 120.0
# The inputs of the template and its assets.
SOURCES = (
    "app.py",
    "cdk.json",
    "pyproject.toml",
    "bucketcast_cdk",
    "functions",
    "glue_jobs",
    "layers",
)
QUIET = ("--no-notices", "--no-color", "--no-version-reporting")


def deploy(instance: str, config: Path) -> bool:
    """Deploy if anything changed; return False if there was nothing to do.

    `instance` names the running emulator. Raises Failure with the end of the logs.
    """
    wanted = {"instance": instance, "inputs": fingerprint(config)}
    if read_record(RECORD) == wanted and status(STACK) in COMPLETE:
        return False
    RECORD.unlink(missing_ok=True)
    # CDK's own check against AWS's rules, which are not for this machine, takes half of the time.
    unchecked = {**aws_environment(), "CDK_VALIDATION": "false"}
    synth = Running("synth", _synth_command(config), unchecked)
    try:
        if status(TOOLKIT) not in COMPLETE:
            environment = f"aws://{ACCOUNT}/{REGION}"
            command = [str(CDK), "bootstrap", environment, "--app", "", *QUIET]
            Running("bootstrap", command, aws_environment()).finish(BOOTSTRAP_SECONDS)
        synth.finish(SYNTH_SECONDS)
    finally:
        synth.end()
    _roll_out()
    RECORD.write_text(json.dumps(wanted))
    return True


def outputs() -> dict[str, str]:
    """Return the stack's outputs by key; empty when there is no stack."""
    stack = _describe(STACK)
    entries = stack.get("Outputs", []) if stack else []
    return {entry.get("OutputKey", ""): entry.get("OutputValue", "") for entry in entries}


def status(stack: str) -> str:
    """Return the stack's status in CloudFormation; empty when there is no stack."""
    description = _describe(stack)
    return description["StackStatus"] if description else ""


def fingerprint(config: Path) -> str:
    """Return a digest of all that the synthesis reads: sources, configuration, variables."""
    digest = hashlib.sha256()
    files = [file for source in SOURCES for file in _files(ROOT / source)]
    for path in [*files, config]:
        digest.update(f"\0{path}\0".encode() + path.read_bytes())
    for name, value in sorted(os.environ.items()):
        if name.startswith("MINIO_"):
            digest.update(f"\0{name}={value}".encode())
    return digest.hexdigest()


def _files(source: Path) -> list[Path]:
    if source.is_file():
        return [source]
    return sorted(
        path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )


def _synth_command(config: Path) -> list[str]:
    context = ["--context", "local=true", "--context", f"config={config}"]
    return [str(CDK), "synth", "--quiet", "--output", str(ASSEMBLY), *context, *QUIET]


def _roll_out() -> None:
    _settle()
    command = [str(CDK), "deploy", "--all", "--app", str(ASSEMBLY), "--progress", "events"]
    try:
        Running(
            "deploy", [*command, "--require-approval", "never", *QUIET], aws_environment()
        ).finish(DEPLOY_SECONDS)
    except Failure as failure:
        log, tail = background.log(emulator.NAME), background.log_tail(emulator.NAME)
        noise = f"{failure}\nlast lines of {log}:\n{tail}"
        raise Failure("\n".join([*reasons(STACK), noise])) from None


def reasons(stack: str) -> list[str]:
    """Return why the last operation on the stack failed, by resource; the log may not say it."""
    try:
        events = clients.cloudformation().describe_events(StackName=stack)["OperationEvents"]
    except ClientError:  # another emulator may not know this operation
        return []
    return [
        f"{event.get('LogicalResourceId', stack)}: {reason}"
        for event in events
        if event.get("OperationId") == events[0].get("OperationId")
        and event.get("ResourceType") != "AWS::CloudFormation::Stack"
        and "FAILED" in (event.get("ValidationStatus") or event.get("ResourceStatus", ""))
        and (reason := event.get("ValidationStatusReason") or event.get("ResourceStatusReason"))
    ]


def _settle() -> None:
    """Wait for a deploy that was interrupted; refuse a stack that no deploy can repair."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (state := status(STACK)).endswith("_IN_PROGRESS") and state != "REVIEW_IN_PROGRESS":
        if time.monotonic() > deadline:
            raise BrokenStackError(state)
        print(f"an earlier deploy is still running ({state}) ...", flush=True)
        time.sleep(2)
    if state.endswith("_FAILED"):
        raise BrokenStackError(state)


class BrokenStackError(Failure):
    """The stack is in a state from which no deploy recovers."""

    def __init__(self, state: str) -> None:
        """Name the state, and the commands for a clean start."""
        super().__init__(f"the stack {STACK} is stuck in {state}: `make stop`, then try again")


def _describe(stack: str) -> StackTypeDef | None:
    try:
        stacks = clients.cloudformation().describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":  # it does not exist
            return None
        raise
    return stacks[0] if stacks else None
