"""Whether a bucket's events reach the stack."""

from typing import TYPE_CHECKING

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.notifications import document as notifications

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import NotificationConfigurationResponseTypeDef
from bucketcast.deployment import Deployed


def missing(bucket: str) -> str:
    """Return what `why_not_attached` returns for a bucket that does not exist."""
    return f"bucket '{bucket}' does not exist"


def why_not_attached(bucket: str, deployed: Deployed, aws: Aws) -> str:
    """Return why this bucket's events do not reach the stack; "" if they do.

    A missing permission is reported too, as it is unknown then.
    """
    try:
        with aws_errors():
            found = aws.s3.get_bucket_notification_configuration(Bucket=bucket)
    except AwsError as error:
        if "NoSuchBucket" in str(error):
            return missing(bucket)
        return f"cannot check whether {bucket} is connected: {error}"
    entries = _to_ingress(found, deployed.ingress_queue)
    # EventBridge's rule is not visible here: the bucket's setting must do.
    if "EventBridgeConfiguration" in found or any(part.is_whole for part in entries):
        return ""
    if entries:
        return f"bucket {bucket} is connected for a part only: {'; '.join(map(str, entries))}"
    return f"bucket {bucket} is not connected to this deployment"


def _to_ingress(
    found: "NotificationConfigurationResponseTypeDef", ingress_queue: str
) -> list[notifications.Part]:
    """Return what the entries take that write to the ingress queue."""
    # The URL ends in /ACCOUNT/NAME, the ARN in :ACCOUNT:NAME.
    ending = ":" + ":".join(ingress_queue.rstrip("/").rsplit("/", 2)[1:])
    return [
        notifications.part_of(entry)
        for entry in found.get("QueueConfigurations", ())
        if entry["QueueArn"].endswith(ending)
    ]
