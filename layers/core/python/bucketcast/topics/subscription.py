"""Subscriptions: a topic's events, stored until their reader acknowledges them."""

from typing import Final

import msgspec

from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import Topic, TopicArn
from bucketcast.topics.permissions import require
from bucketcast.topics.policy import GET
from bucketcast.users import User

MOST_OF_A_TOPIC: Final = 50
"""Each event is stored once for each subscription."""


class Subscription(msgspec.Struct, frozen=True, kw_only=True):
    """One subscription; its name is unique in its tenant. `created` is Unix ms."""

    tenant: str
    owner: str
    name: str
    topic_tenant: str
    topic_name: str
    created: int

    @property
    def key(self) -> str:
        return f"{self.tenant}:{self.name}"

    @property
    def partition(self) -> str:
        """The key of its events; one that is created again does not see the old ones."""
        return f"{self.key}:{self.created}"

    @property
    def user(self) -> str:
        """The owner, as RGW writes one: with the tenant, where there is one."""
        return f"{self.tenant}${self.owner}" if self.tenant else self.owner

    def arn(self, region: str) -> TopicArn:
        """Return the ARN of its topic."""
        return TopicArn(region, self.topic_tenant, self.topic_name)


def name_of(partition: str) -> str:
    """Return the name of a subscription from its partition: neither other part has a colon."""
    return partition.split(":")[1]


def require_access(user: User, subscription: Subscription, topic: Topic | None) -> None:
    """Raise a TopicError unless the user may read, acknowledge and delete a subscription.

    It is its owner's and an administrator's, as long as they may read the topic; what was stored
    of a topic that was deleted since stays readable.
    """
    owns = (subscription.tenant, subscription.owner) == (user.tenant, user.name)
    if not (owns or user.admin):
        raise TopicError(
            "AuthorizationError", f"the subscription {subscription.name} is another user's"
        )
    if topic is not None:
        require(user, GET, topic)


def unknown(name: str) -> TopicError:
    """Return the error that there is no such subscription."""
    return TopicError("NotFound", f"there is no subscription {name[:300]!r}")
