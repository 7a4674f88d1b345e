"""Have each target's own function probe its target, step by step."""

import time
from collections.abc import Iterator, Sequence

from bucketcast.aws.clients import Aws, AwsError
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.deployment.health import Health
from bucketcast.deployment.invocation import FunctionFailedError, invoke
from bucketcast.deployment.status import read_statuses
from bucketcast.diagnose.aws import report_unread, run_parallel
from bucketcast.diagnose.states import CHECK as STATE
from bucketcast.diagnose.states import check_state
from bucketcast.finding import BY_HAND, Finding

CHECK = "probe"
_MISSING = "ResourceNotFoundException"


def findings(deployment: Deployed, aws: Aws) -> Iterator[Finding]:
    """Yield the functions' findings, for each target that is switched on.

    A target without a function is a finding.
    """
    enabled = [target for target in deployment.targets if target.enabled and target.function]
    probed = run_parallel(
        lambda target: report_unread(CHECK, target.arn, _probe(target, aws)), enabled
    )
    yield from (_missing_function(each) for each in deployment.targets if not each.function)
    yield from probed
    yield from report_unread(STATE, "targets", _states(deployment, probed, aws))


def _missing_function(target: DeployedTarget) -> Finding:
    return Finding(
        "function",
        target.arn,
        "error",
        f"the stack has no function for dynamic targets of kind {target.kind}: its events wait",
        f'add "{target.kind}" to [dynamic_targets] kinds in bucketcast.toml, and deploy',
    )


def _states(deployment: Deployed, probed: Sequence[Finding], aws: Aws) -> Iterator[Finding]:
    """Yield a finding on each target's state, unless that of its probe says why it is offline."""
    failed = {finding.subject for finding in probed if finding.status == "error"}
    reached = {finding.subject for finding in probed if finding.status == "ok"} - failed
    every = deployment.all_targets
    probes = [Health(target.arn in reached or None) for target in every]
    statuses, _ = read_statuses(every, probes, deployment.state_table, aws)
    now = round(time.time() * 1_000)
    for status in statuses:
        if status.target.arn not in failed:
            yield check_state(status, now)


def _probe(target: DeployedTarget, aws: Aws) -> Iterator[Finding]:
    request = {"probe": True, "doctor": True, "target": target.arn}
    try:
        answer = invoke(target.function, request, aws)
    except FunctionFailedError as error:
        command = f"aws logs tail /aws/lambda/{target.function} --since 10m"
        yield Finding(CHECK, target.arn, "error", str(error), "its log has more", command)
    except AwsError as error:
        if error.code == _MISSING:
            problem = f"the function {target.function} does not exist: its events wait"
            yield Finding(CHECK, target.arn, "error", problem, BY_HAND)
            return
        if not error.silent:
            raise
        hint = "wait longer with --wait; if it has a VPC, see that its subnets lead to the target"
        yield Finding(CHECK, target.arn, "error", str(error), hint)
    else:
        for step in answer["findings"]:
            fields = {name: step[name] for name in ("check", "status", "found", "hint")}
            yield Finding(subject=target.arn, **fields)
