"""Checks and changes of dynamic targets and topics during a deploy; no template holds them."""

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

_MAX_NAMED: Final = 8
_TIMEOUT: Final = "VisibilityTimeout"


def require_functions(
    table: Table, topics: TopicTable, before: Collection[str], after: Collection[str]
) -> None:
    """Refuse to remove the functions of kinds that dynamic targets or topics use.

    `before` and `after` are the kinds with functions in the stack. Removed targets that are kept
    for waiting messages do not count, since nothing reads their queues until they are created
    again. A topic's target is removed with the topic.

    Raises:
        BucketcastError: there are such targets or topics.
        ClientError: DynamoDB refused.
    """

    def is_removed(kind: str) -> bool:
        return kind in before and kind not in after

    targets = [
        target
        for target in table.targets()
        if target.state != "kept"
        and is_removed(target.kind)
        and not Destination.of(target.arn).of_topic
    ]
    pushed, _ = topics.page(None, sys.maxsize, keep=lambda topic: is_removed(topic.kind))
    if not targets and not pushed:
        return
    kinds = ", ".join(sorted({user.kind for user in targets} | {user.kind for user in pushed}))
    users = [
        *_list_users("dynamic targets", "bucketcast target rm ARN", [user.arn for user in targets]),
        *_list_users("topics", "bucketcast topic rm ARN", [user.arn for user in pushed]),
    ]
    raise BucketcastError(
        f"[dynamic_targets] kinds leaves {kinds} out, and nothing would read the queues of "
        f"{' and '.join(users)}. Remove them, or name {kinds} in kinds"
    )


def raise_visibility(table: Table, sqs: "SQSClient", queues: str, seconds: int) -> None:
    """Raise the visibility timeout of each queue that a function reads to at least `seconds`.

    Lambda refuses a function timeout longer than the visibility timeout of one of its queues. Never
    lower it here: until the end of the deploy the function has its old timeout.

    Raises:
        ClientError: DynamoDB or SQS refused.
    """
    for target in table.targets():
        if target.state != "on":
            continue  # creating its mapping again sets it
        url = f"{queues}/{target.queue}"
        try:
            attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[_TIMEOUT])[
                "Attributes"
            ]
        except sqs.exceptions.QueueDoesNotExist:  # doctor reports it; the deploy must not fail
            logger.warning("the queue of a dynamic target is gone", target=target.arn)
            continue
        if int(attributes[_TIMEOUT]) < seconds:
            changes: Any = {_TIMEOUT: str(seconds)}
            sqs.set_queue_attributes(QueueUrl=url, Attributes=changes)


def _list_users(noun: str, hint: str, arns: Sequence[str]) -> list[str]:
    if not arns:
        return []
    names = ", ".join(arns[:_MAX_NAMED])
    more = f" and {len(arns) - _MAX_NAMED} more" if len(arns) > _MAX_NAMED else ""
    return [f"the {noun} {names}{more} (`{hint}`)"]
