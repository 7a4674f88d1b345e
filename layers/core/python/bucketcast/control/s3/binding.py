"""Whether a user may bind a topic to a bucket: it has to be there, and to be theirs to use."""

from bucketcast.control.errors import S3Error
from bucketcast.control.users import User
from bucketcast.store.access import Aws
from bucketcast.store.deployed import Deployed
from bucketcast.store.topics.items import Items
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import Topic, TopicArn
from bucketcast.topics.policy import Policy

_PUBLISH = "sns:Publish"


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
        if not may_publish(found, user):
            raise S3Error(
                "AccessDenied", f"{user.name} may not use {arn}: its Policy allows it not"
            )
        return found.arn


def may_publish(topic: Topic, user: User) -> bool:
    """Whether the user may let events go to the topic: its owner, and whom its Policy allows.

    Administrators may. What the Policy denies not even the owner may.
    """
    if user.admin:
        return True
    said = ""
    if topic.policy:
        policy = Policy.parse(topic.policy)
        said = policy.verdict(user.tenant, user.name, _PUBLISH, topic.arn)
    is_owner = (topic.tenant, topic.owner) == (user.tenant, user.name)
    return said == "Allow" or (is_owner and said != "Deny")
