"""Who may do what with a topic.

An administrator may do everything, an owner everything that the topic's policy does not deny, and
others what it allows. Without a policy a topic is its owner's alone, also for `sns:Publish`, which
is to bind it to a bucket.
"""

from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import Topic
from bucketcast.topics.policy import Policy
from bucketcast.users import User


def may(user: User, action: str, topic: Topic) -> bool:
    """Return whether a user may do this to an existing topic."""
    if user.admin:
        return True
    said = ""
    if topic.policy:
        said = Policy.parse(topic.policy).verdict(user.tenant, user.name, action, topic.arn)
    if owns(user, topic):
        return said != "Deny"
    return said == "Allow"


def owns(user: User, topic: Topic) -> bool:
    """Return whether the user owns the topic."""
    return (topic.tenant, topic.owner) == (user.tenant, user.name)


def require(user: User, action: str, topic: Topic) -> None:
    """Require that a user may do this.

    Raises:
        TopicError: the user may not.
    """
    if not may(user, action, topic):
        raise TopicError(
            "AuthorizationError",
            f"{topic.arn} was created by another user, and no policy allows {action}",
        )


def require_own(user: User, topic: Topic, what: str) -> None:
    """Require that a user may do what no policy can allow.

    Raises:
        TopicError: the user is neither the owner nor an administrator.
    """
    if not (user.admin or owns(user, topic)):
        raise TopicError(
            "AuthorizationError",
            f"{topic.arn} was created by another user, and no policy can allow {what}",
        )
