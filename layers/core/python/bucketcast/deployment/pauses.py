"""Pauses: a flag in the item of a target's breaker, on which its functions let events wait.

The flag is in the state table, so it outlives a deploy and a recreated event source mapping. The
function receives waiting messages from time to time and sends them again, so SQS never drops them.
After their term they are dead-lettered with the pause as the reason (`limits`).
"""

import time
from dataclasses import dataclass

from bucketcast.aws.clients import Aws, AwsError
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.deployment.invocation import FunctionFailedError, invoke
from bucketcast.errors import BucketcastError
from bucketcast.state.breakers import Breakers


@dataclass(frozen=True, slots=True)
class Pause:
    """The start of a target's pause (Unix ms); `changed` is False if the call had no effect.

    `unconfirmed` is the reason why its function did not confirm the pause, "" if it did.
    """

    since: int
    changed: bool
    unconfirmed: str = ""


def pause(target: DeployedTarget, deployment: Deployed, aws: Aws) -> Pause:
    """Pause a target, and let its function confirm that it sees the pause.

    Raises:
        BucketcastError: the function does not see the pause; the target is not paused.
        BotoCoreError, ClientError: AWS does not answer.
    """
    breakers = Breakers(deployment.state_table, lambda: aws.dynamodb)
    now = round(time.time() * 1_000)
    since = breakers.pause(target.arn, now)
    try:
        confirmed = _is_confirmed(target, aws)
    except AwsError as error:
        return Pause(since, since == now, str(error))
    if not confirmed and since == now:
        breakers.resume(target.arn)
    if not confirmed:
        raise BucketcastError(
            f"{target.name} is not paused: its function {target.function} does not see the pause "
            f"in the table {deployment.state_table}. If it runs in a VPC, add a gateway endpoint "
            "for DynamoDB to that"
        )
    return Pause(since, since == now)


def resume(target: DeployedTarget, deployment: Deployed, aws: Aws) -> int:
    """End a target's pause; return its start in Unix ms, 0 if it was not paused.

    Raises:
        BotoCoreError, ClientError: AWS does not answer.
    """
    return Breakers(deployment.state_table, lambda: aws.dynamodb).resume(target.arn)


def _is_confirmed(target: DeployedTarget, aws: Aws) -> bool:
    """Return True if the target's function sees the pause."""
    try:
        answer = invoke(target.function, {"pause": True, "target": target.arn}, aws)
    except FunctionFailedError:
        return False
    return answer.get("paused") is True
