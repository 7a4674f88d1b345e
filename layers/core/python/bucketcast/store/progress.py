"""How each target is doing: what was counted, and what its queue holds now."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from bucketcast.store.access import Aws, AwsError, explained
from bucketcast.store.counters import Counters, Counts
from bucketcast.store.deployed import Deployed, DeployedTarget

if TYPE_CHECKING:
    from mypy_boto3_sqs.literals import QueueAttributeNameType

_AT_ONCE = 16
_IN_FLIGHT: Any = "ApproximateNumberOfMessagesNotVisible"
_WAITING: "Sequence[QueueAttributeNameType]" = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesDelayed",
)


class Progress(NamedTuple):
    """Of one target; messages may hold many events, and are None where SQS does not tell."""

    arn: str
    counts: Counts
    in_flight: int | None
    waiting: int | None


def progress(there: Deployed, aws: Aws) -> list[Progress]:
    """Of every target of the deployment, and of those that rules name in vain.

    Raises:
        AwsError: AWS cannot be asked.
    """
    with explained():
        counted = Counters(there.rules_table, lambda: aws.dynamodb).read()
    targets = (*there.targets, *there.resting)
    _ = aws.sqs  # making a client is not safe among threads, using one is
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        depths = list(pool.map(lambda target: _depth(target, aws), targets))
    found = {
        target.arn: Progress(target.arn, counted.get(target.arn, Counts()), *depth)
        for target, depth in zip(targets, depths, strict=True)
    }
    gone = {arn: Progress(arn, counts, 0, 0) for arn, counts in counted.items()}
    return [(gone | found)[arn] for arn in sorted(gone | found)]


def _depth(target: DeployedTarget, aws: Aws) -> tuple[int | None, int | None]:
    """Messages in flight, and messages waiting."""
    try:
        with explained():
            answer = aws.sqs.get_queue_attributes(
                QueueUrl=target.queue, AttributeNames=[_IN_FLIGHT, *_WAITING]
            )
    except AwsError:
        return None, None
    held: dict[Any, int] = {name: int(text) for name, text in answer["Attributes"].items()}
    return held.get(_IN_FLIGHT, 0), sum(held.get(name, 0) for name in _WAITING)
