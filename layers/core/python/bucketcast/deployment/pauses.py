"""Pauses: the item of a target's breaker makes its functions let the events wait.

The table keeps a pause, so a deploy does not end it, and neither does a recreated event source
mapping. What waits is received now and then and sent again, so SQS never drops it: after its term
it is dead-lettered with the pause as the reason (`delivery.retention`).
"""

import time
from dataclasses import dataclass

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.deployment.invocation import FunctionFailedError, invoke
from bucketcast.errors import BucketcastError
from bucketcast.state.breakers import Breakers


@dataclass(frozen=True, slots=True)
class Pause:
    """A target and since when it is, or was, paused (Unix ms); `changed` is whether by this call.

    `unconfirmed` is why its function did not confirm the pause, "" if it did.
    """

    target: DeployedTarget
    since: int
    changed: bool
    unconfirmed: str = ""


def pause(target: DeployedTarget, deployment: Deployed, aws: Aws) -> Pause:
    """Pause a target, and ask its function whether it knows.

    Raises:
        BucketcastError: its function does not see the pause; nothing is paused.
        AwsError: AWS does not answer.
    """
    breakers = Breakers(deployment.state_table, lambda: aws.dynamodb)
    now = round(time.time() * 1_000)
    with aws_errors():
        since = breakers.pause(target.arn, now)
    try:
        knows = _confirmed(target, aws)
    except AwsError as error:
        return Pause(target, since, since == now, str(error))
    if not knows and since == now:
        with aws_errors():
            breakers.resume(target.arn)
    if not knows:
        raise BucketcastError(
            f"{target.arn} is not paused: its function {target.function} does not see the pause in "
            f"the table {deployment.state_table}. If it runs in a VPC, add a gateway endpoint for "
            "DynamoDB to that"
        )
    return Pause(target, since, since == now)


def resume(target: DeployedTarget, deployment: Deployed, aws: Aws) -> Pause:
    """End a target's pause; `since` is 0 if it was not paused.

    Raises:
        AwsError: AWS does not answer.
    """
    with aws_errors():
        since = Breakers(deployment.state_table, lambda: aws.dynamodb).resume(target.arn)
    return Pause(target, since, since > 0)


def _confirmed(target: DeployedTarget, aws: Aws) -> bool:
    """Return whether the target's function sees the pause."""
    try:
        answer = invoke(target.function, {"pause": True, "target": target.arn}, aws)
    except FunctionFailedError:
        return False
    return answer.get("paused") is True
