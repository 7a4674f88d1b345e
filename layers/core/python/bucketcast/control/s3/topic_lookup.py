"""Look up topics that a user may bind to a bucket."""

from bucketcast.aws.clients import Aws
from bucketcast.aws.deployed import Deployed
from bucketcast.aws.topics.table import TopicTable
from bucketcast.control.errors import S3Error
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import TopicArn
from bucketcast.topics.permissions import may
from bucketcast.topics.policy import PUBLISH
from bucketcast.users import User


def bindable(arn: str, user: User, deployment: Deployed, aws: Aws) -> str:
    """Return the ARN of a topic as stored, for any given region.

    Raises:
        S3Error: there is no such topic, or the user may not use it.
    """
    try:
        wanted = TopicArn.parse(arn)
    except TopicError as error:
        raise S3Error("InvalidArgument", str(error)) from None
    found = TopicTable(deployment.rules_table, aws.dynamodb).topic(wanted)
    if found is None:
        raise S3Error("NoSuchKey", f"there is no topic {arn}", Key=arn)
    if not may(user, PUBLISH, found):
        raise S3Error("AccessDenied", f"{arn} is another's, and no policy allows {PUBLISH}")
    return found.arn
