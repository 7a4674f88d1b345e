"""Statistics of each target: its counts, and what its queue holds now."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.deployment.health import known_depth
from bucketcast.state.counters import Counters, Counts

_AT_ONCE = 16


class TargetStats(NamedTuple):
    """Of one target; messages may hold many events, and are None if SQS does not answer."""

    arn: str
    counts: Counts
    in_flight: int | None
    waiting: int | None


def target_stats(deployment: Deployed, aws: Aws) -> list[TargetStats]:
    """Return the statistics of the deployment's targets, and of missing ones that rules name.

    Raises:
        AwsError: AWS does not answer.
    """
    with aws_errors():
        counted = Counters(deployment.state_table, lambda: aws.dynamodb).read()
    targets = (*deployment.targets, *deployment.resting)
    _ = aws.sqs  # making a client is not safe among threads, using one is
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        depths = list(pool.map(lambda target: _depth(target, aws), targets))
    found = {
        target.arn: TargetStats(target.arn, counted.get(target.arn, Counts()), *depth)
        for target, depth in zip(targets, depths, strict=True)
    }
    gone = {arn: TargetStats(arn, counts, 0, 0) for arn, counts in counted.items()}
    return [(gone | found)[arn] for arn in sorted(gone | found)]


def _depth(target: DeployedTarget, aws: Aws) -> tuple[int | None, int | None]:
    """Return the messages in flight and waiting."""
    found, _ = known_depth(target.queue, aws)
    return (found.in_flight, found.visible + found.delayed) if found else (None, None)
