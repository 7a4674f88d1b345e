"""What a deploy checks and changes of dynamic targets and topics, which no template holds."""

import sys
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final

from bucketcast.destination import Destination
from bucketcast.errors import BucketcastError
from bucketcast.state.dynamic_targets import Table
from bucketcast.telemetry import logger
from bucketcast.topics.aws.table import TopicTable

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_NAMED: Final = 8
_TIMEOUT: Final = "VisibilityTimeout"


def require_functions(
    table: Table, topics: TopicTable, before: Collection[str], after: Collection[str]
) -> None:
    """Refuse to remove the functions of kinds that dynamic targets or topics use.

    `before` and `after` are the kinds with functions in the stack. Removed targets that are kept
    for waiting messages do not count: their queues are read only once they are created again. A
    topic's target is removed with the topic.

    Raises:
        BucketcastError: there are such targets or topics.
        ClientError: DynamoDB refused.
    """

    def goes(kind: str) -> bool:
        return kind in before and kind not in after

    targets = [
        target
        for target in table.targets()
        if target.state != "kept" and goes(target.kind) and not Destination.of(target.arn).of_topic
    ]
    pushed, _ = topics.page(None, sys.maxsize, keep=lambda topic: goes(topic.kind))
    if not targets and not pushed:
        return
    kinds = ", ".join(sorted({each.kind for each in targets} | {each.kind for each in pushed}))
    found = [
        *_said("dynamic targets", "bucketcast target rm ARN", [each.arn for each in targets]),
        *_said("topics", "bucketcast topic rm ARN", [each.arn for each in pushed]),
    ]
    raise BucketcastError(
        f"[dynamic_targets] kinds leaves {kinds} out, and nobody would read the queues of "
        f"{' and '.join(found)}. Remove them, or name {kinds} in kinds"
    )


def raise_visibility(table: Table, sqs: "SQSClient", queues: str, seconds: int) -> None:
    """Raise the visibility timeout of each queue that a function reads to at least so many seconds.

    Lambda refuses to let a function run for longer than one of its queues hides a message. It is
    never lowered here: until the end of the deploy the function may run as long as before.

    Raises:
        ClientError: DynamoDB or SQS refused.
    """
    for target in table.targets():
        if target.state != "on":
            continue  # its mapping sets it
        url = f"{queues}/{target.queue}"
        try:
            found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[_TIMEOUT])["Attributes"]
        except sqs.exceptions.QueueDoesNotExist:  # doctor reports it; no deploy may fail over it
            logger.warning("the queue of a dynamic target is gone", target=target.arn)
            continue
        if int(found[_TIMEOUT]) < seconds:
            wanted: Any = {_TIMEOUT: str(seconds)}
            sqs.set_queue_attributes(QueueUrl=url, Attributes=wanted)


def _said(what: str, hint: str, arns: Sequence[str]) -> list[str]:
    if not arns:
        return []
    named = ", ".join(arns[:_NAMED])
    more = f" and {len(arns) - _NAMED} more" if len(arns) > _NAMED else ""
    return [f"the {what} {named}{more} (`{hint}`)"]
