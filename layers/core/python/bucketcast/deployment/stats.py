"""Statistics of each target: its counts, and the messages in its queue."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.deployment.health import read_depth
from bucketcast.state.counters import Counters, Counts

_AT_ONCE = 16


class TargetStats(NamedTuple):
    """The statistics of one target; numbers of messages are None if SQS does not answer."""

    arn: str
    counts: Counts
    in_flight: int | None
    waiting: int | None


def target_stats(deployment: Deployed, aws: Aws) -> list[TargetStats]:
    """Return the statistics of a deployment's targets, and of removed ones with counts.

    Raises:
        AwsError: AWS does not answer.
    """
    with aws_errors():
        counted = Counters(deployment.state_table, lambda: aws.dynamodb).read()
    targets = deployment.all_targets
    _ = aws.sqs  # making a client is not safe among threads, using one is
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        depths = list(pool.map(lambda target: _depth(target, aws), targets))
    current = {
        target.arn: TargetStats(target.arn, counted.get(target.arn, Counts()), *depth)
        for target, depth in zip(targets, depths, strict=True)
    }
    removed = {arn: TargetStats(arn, counts, 0, 0) for arn, counts in counted.items()}
    return [(removed | current)[arn] for arn in sorted(removed | current)]


def _depth(target: DeployedTarget, aws: Aws) -> tuple[int | None, int | None]:
    """Return the messages in flight and waiting."""
    queue_depth, _ = read_depth(target.queue, aws)
    return (
        (queue_depth.in_flight, queue_depth.visible + queue_depth.delayed)
        if queue_depth
        else (None, None)
    )
