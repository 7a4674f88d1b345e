"""`Custom::BucketNotification`: attach a bucket of the configuration to the ingress queue.

Properties: `Bucket`, `Id` (of our notification entry), `QueueArn`, `Via` (`sqs` | `eventbridge` |
`both`), `Part` (what S3 sends to the queue) and `Account` (of the bucket's owner, so that a bucket
name that changed hands is refused).
For events of our own also `StateTable` and `TakesEffect`: after how many seconds S3 has surely
applied a change. `Key` is the ARN of the customer's key that encrypts the queue, if there is one:
when it changes, S3 tries whether it may use it, and the deploy fails if not.

Created and attached buckets are treated alike: other entries in the bucket's notifications stay,
and so does what `bucketcast bucket attach` had made where a deploy is rolled back.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from bucketcast.aws import function_clients
from bucketcast.notifications.aws import propagation
from bucketcast.notifications.aws.attachment_times import AttachmentTimes
from bucketcast.notifications.aws.deployed_bucket import CHECK, DeployedBucket
from bucketcast.state.rules import Rules

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Clients = Callable[[str], Any]
DELETE: Final = "Delete"
_ENCRYPTED_AFTER: Final = 60.0
"""SQS may take so many seconds to apply a queue's new key."""


def client(service: str) -> Any:
    """Return a client of a service."""
    return function_clients.client(service, function_clients.DEPLOY_CALL)


def apply(
    event: Mapping[str, Any],
    s3: "S3Client",
    clients: Clients = client,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.time,
) -> None:
    """Bring the bucket's notifications to what the request wants, or only look at them.

    Raises:
        BucketcastError: it looked, and another tool has changed them.
        BucketcastError: the queue's policy does not let S3 write to it.
        BucketcastError: S3 may not have applied the transport that stays when `Via` changes.
        BucketcastError: rules ask for events that do not come.
        Overlap: another entry takes our events.
        EntryLostError: S3 lost an entry that is not ours.
        ClientError: AWS refused, also after a while where waiting could have helped.
    """
    properties, before = event["ResourceProperties"], event.get("OldResourceProperties", {})
    table = properties.get("StateTable")
    bucket = DeployedBucket(
        s3,
        AttachmentTimes(table, clients("dynamodb")) if table else None,
        properties,
        rules=lambda: (
            Rules(table, clients("dynamodb")).active(properties["Bucket"]) if table else []
        ),
        policy=lambda: _policy(properties["QueueArn"], clients("sqs")),
        retry=lambda call: propagation.retry(call, sleep),
        is_rolled_back=lambda: _is_rolled_back(event, clients),
        sleep=sleep,
        now=now,
    )
    if event["RequestType"] == CHECK:
        bucket.require()
    elif event["RequestType"] == DELETE:
        bucket.remove()
    else:
        has_new_key = before and properties.get("Key") not in (None, before.get("Key"))
        if has_new_key and not _is_rolled_back(event, clients):
            sleep(_ENCRYPTED_AFTER)
            bucket.validate()
        bucket.attach(previous=before.get("Via", ""))


def _is_rolled_back(event: Mapping[str, Any], clients: Clients) -> bool:
    """Return True if the deploy of the request has failed and is being undone."""
    response = clients("cloudformation").describe_stacks(StackName=event["StackId"])
    (stack,) = response["Stacks"]
    return "ROLLBACK" in stack["StackStatus"]


def _policy(queue: str, sqs: Any) -> str:
    url = sqs.get_queue_url(QueueName=queue.rpartition(":")[2])["QueueUrl"]
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])
    return str(found.get("Attributes", {}).get("Policy", ""))
