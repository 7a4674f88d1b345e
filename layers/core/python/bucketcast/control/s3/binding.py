"""Whether a user may bind a topic to a bucket: it has to be there, and to be theirs to use."""

from bucketcast.control.errors import S3Error
from bucketcast.control.users import User
from bucketcast.store.access import Aws
from bucketcast.store.deployed import Deployed
from bucketcast.store.topics.items import Items
from bucketcast.topics.access import PUBLISH, may
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import TopicArn


class Binding:
    """Finds topics in the table of a deployment."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws

    def __call__(self, there: Deployed, arn: str, user: User) -> str:
        """The ARN of a topic as it is kept, whatever region was given.

        Raises:
            S3Error: there is no such topic, or the user may not use it.
        """
        try:
            asked = TopicArn.parse(arn)
        except TopicError as error:
            raise S3Error("InvalidArgument", str(error)) from None
        found = Items(there.rules_table, self._aws.dynamodb).topic(asked)
        if found is None:
            raise S3Error("NoSuchKey", f"there is no topic {arn}", Key=arn)
        if not may(user, PUBLISH, found):
            raise S3Error("AccessDenied", f"{arn} is another's, and no policy allows {PUBLISH}")
        return found.arn
