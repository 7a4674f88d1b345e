"""The visibility timeouts of run-time targets' queues, which no template holds."""

from typing import TYPE_CHECKING, Any, Final

from bucketcast.aws.runtime.table import Table
from bucketcast.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_NAME: Final = "VisibilityTimeout"


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
            found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[_NAME])["Attributes"]
        except sqs.exceptions.QueueDoesNotExist:  # doctor reports it; no deploy may fail over it
            logger.warning("the queue of a run-time target is gone", target=target.arn)
            continue
        if int(found[_NAME]) < seconds:
            wanted: Any = {_NAME: str(seconds)}
            sqs.set_queue_attributes(QueueUrl=url, Attributes=wanted)
