"""The rights of users on topics.

An administrator may do everything, an owner everything that the topic's policy does not deny,
others only what the policy allows. `sns:Publish` is the right to name the topic in a bucket's
notification.
"""

from bucketcast.state.items import Topic
from bucketcast.topics.errors import TopicError
from bucketcast.topics.policy import Policy
from bucketcast.users import User


def is_allowed(user: User, action: str, topic: Topic) -> bool:
    """Return True if a user may run this action on an existing topic."""
    if user.admin:
        return True
    effect = ""
    if topic.policy:
        effect = Policy.parse(topic.policy).evaluate(user.tenant, user.name, action, topic.arn)
    if owns(user, topic):
        return effect != "Deny"
    return effect == "Allow"


def owns(user: User, topic: Topic) -> bool:
    """Return True if the user owns the topic; another user of the same name does not."""
    return topic.owner_id == user.id


def require(user: User, action: str, topic: Topic) -> None:
    """Require the right of a user to run this action.

    Raises:
        TopicError: the user does not have it.
    """
    if not is_allowed(user, action, topic):
        raise TopicError(
            "AuthorizationError",
            f"{topic.arn} was created by another user, and no policy allows {action}",
        )


def require_owner(user: User, topic: Topic, action: str) -> None:
    """Require the owner or an administrator, for an action that no policy can allow.

    Raises:
        TopicError: the user is neither the owner nor an administrator.
    """
    if not (user.admin or owns(user, topic)):
        raise TopicError(
            "AuthorizationError",
            f"{topic.arn} was created by another user, and no policy can allow {action}",
        )
