"""Asks each target's own function what it sees of the target, step by step."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.config.model import is_member, secret_names
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.deployment.invocation import FunctionFailedError, invoke
from bucketcast.diagnose.aws import at_once, unless_unread
from bucketcast.finding import BY_HAND, Finding
from bucketcast.state.breakers import Breakers

CHECK = "probe"
_ABOUT_SECRETS = ("settings", "login")
_MISSING = "ResourceNotFoundException"


def findings(deployment: Deployed, aws: Aws) -> list[Finding]:
    """Return what the functions found, for each target that is switched on.

    A target without a function is a finding.
    """
    _ = aws.functions  # making a client is not safe among threads, using one is
    on = [target for target in deployment.targets if target.enabled and target.function]
    found = at_once(lambda each: unless_unread(CHECK, each.arn, _ask(each, aws)), on)
    orphans = [_orphan(target) for target in deployment.targets if not target.function]
    return [*orphans, *found, *unless_unread("pause", "targets", _paused(deployment, aws))]


def _orphan(target: DeployedTarget) -> Finding:
    return Finding(
        "function",
        target.arn,
        "error",
        f"the stack has no function for dynamic targets of kind {target.kind}: its events wait",
        f'add "{target.kind}" to [dynamic_targets] kinds in bucketcast.toml, and deploy',
    )


def _new_secret(target: DeployedTarget, found: str, aws: Aws) -> str:
    """Return the command that sets the secret of a target that has one alone, else ""."""
    try:
        settings = deployed.settings(target, aws).values()
    except AwsError:
        return ""
    names = secret_names(settings)
    # The command would erase the other values of a secret that holds several.
    several = target.made or any(is_member(each) for each in settings)
    if several or len(names) != 1:
        return ""
    (name,) = names
    verb = "create-secret --name" if _MISSING in found else "put-secret-value --secret-id"
    return f"aws secretsmanager {verb} {name} --secret-string file://SECRET"


def _paused(deployment: Deployed, aws: Aws) -> Iterator[Finding]:
    with aws_errors():
        outages = Breakers(deployment.state_table, lambda: aws.dynamodb).read()
    for target in deployment.targets:
        outage = outages.get(target.arn)
        if outage and outage.paused:
            since = datetime.fromtimestamp(outage.paused / 1_000, UTC)
            found = f"paused since {since:%Y-%m-%dT%H:%M:%SZ}: its events wait"
            command = f"bucketcast target resume {target.arn}"
            yield Finding(
                "pause", target.arn, "warn", found, "resume it when it may go on", command
            )


def _ask(target: DeployedTarget, aws: Aws) -> Iterator[Finding]:
    request = {"probe": True, "doctor": True, "target": target.arn}
    try:
        answer = invoke(target.function, request, aws)
    except FunctionFailedError as error:
        command = f"aws logs tail /aws/lambda/{target.function} --since 10m"
        yield Finding(CHECK, target.arn, "error", str(error), "its log has more", command)
    except AwsError as error:
        if error.code == _MISSING:
            found = f"the function {target.function} does not exist: its events wait"
            yield Finding(CHECK, target.arn, "error", found, BY_HAND)
            return
        if not error.silent:
            raise
        hint = "wait longer with --wait; if it has a VPC, see that its subnets lead to the target"
        yield Finding(CHECK, target.arn, "error", str(error), hint)
    else:
        yield from (_of_step(each, target, aws) for each in answer["findings"])


def _of_step(step: Mapping[str, Any], target: DeployedTarget, aws: Aws) -> Finding:
    check, status, found, hint = (step[key] for key in ("check", "status", "found", "hint"))
    about_a_secret = status == "error" and check in _ABOUT_SECRETS
    command = _new_secret(target, found, aws) if about_a_secret else ""
    return Finding(check, target.arn, status, found, hint, command)
