"""Topics as users create, change and read them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from bucketcast.destination import TopicArn
from bucketcast.errors import did_you_mean
from bucketcast.topics import permissions, policy
from bucketcast.topics.api.call import TopicCall
from bucketcast.topics.api.certificate import certificate
from bucketcast.topics.attributes import BROKERS, KNOWN, USER, checked, has_login
from bucketcast.topics.aws.table import TopicTable
from bucketcast.topics.aws.topics import Topics, Wanted
from bucketcast.topics.errors import TopicError, invalid
from bucketcast.topics.model import ENDPOINT, Topic, missing, require_name
from bucketcast.users import User

_INSECURE: Final = "a user and a password are only taken over HTTPS"


class UserTopics:
    """The topics of one deployment; `change` is called only for changes.

    All raise a `TopicError` for what is impossible or forbidden.
    """

    def __init__(self, items: TopicTable, change: Callable[[], Topics], region: str) -> None:
        self._items = items
        self._change = change
        self._region = region

    def create(self, call: TopicCall, name: str, attributes: Mapping[str, str]) -> Topic:
        """Create a topic, or change it to these attributes."""
        user = call.user
        require_name(name)
        if not call.secure and has_login(attributes):
            raise TopicError("InvalidArgument", _INSECURE)
        given = checked(attributes, certificate)
        topics = self._change()

        def change(existing: Topic | None, _: Mapping[str, str]) -> Wanted:
            if existing is None:
                self._check_quota(user, topics.per_user)
                return Wanted(user.name, given)
            permissions.require(user, policy.CREATE, existing)
            return Wanted(existing.owner, given)

        return topics.put(TopicArn(self._region, user.tenant, name), change)

    def set(self, call: TopicCall, arn: TopicArn, key: str, text: str) -> None:
        """Change one attribute of a topic; an empty text removes it."""
        if key not in KNOWN:
            allowed = f"{did_you_mean(key, KNOWN)}one of {', '.join(sorted(KNOWN))}"
            raise invalid("AttributeName", repr(key[:100]), allowed)
        if not call.secure and has_login({key: text}):
            raise TopicError("InvalidArgument", _INSECURE)

        def change(existing: Topic | None, hidden: Mapping[str, str]) -> Wanted:
            if existing is None:
                raise missing(str(arn))
            permissions.require(call.user, policy.SET, existing)
            if _sends_login(key, hidden):
                permissions.require_own(
                    call.user, existing, f"a change of {key}, to where its password goes"
                )
            values = {**existing.attributes, **hidden, key: text}
            if not text:
                del values[key]
            return Wanted(existing.owner, checked(values, partial(_stored, existing)))

        self._change().put(TopicArn(self._region, arn.tenant, arn.name), change)

    def delete(self, user: User, arn: TopicArn) -> None:
        """Delete a topic, if it exists."""
        self._change().delete(
            arn, lambda existing: permissions.require(user, policy.DELETE, existing)
        )

    def get(self, call: TopicCall, arn: TopicArn) -> Topic:
        """Return a topic that the user may read, and over this connection."""
        topic = self._items.topic(arn)
        if topic is None:
            raise missing(str(arn))
        permissions.require(call.user, policy.GET, topic)
        _require_https(call, topic)
        return topic

    def page(self, call: TopicCall, limit: int, after: str = "") -> tuple[list[Topic], str]:
        """Return a page of the topics that the user may read, and where the next one begins."""
        user = call.user
        found, after = self._items.page(
            None if user.admin else user.tenant,
            limit,
            after,
            lambda topic: permissions.may(user, policy.GET, topic),
        )
        for topic in found:
            _require_https(call, topic)
        return found, after

    def _check_quota(self, user: User, most: int) -> None:
        """Raise a TopicError when a user has `most` topics; 0 is any number."""
        if most and not user.admin:
            owned, _ = self._items.page(
                user.tenant, most, "", lambda topic: topic.owner == user.name
            )
            if len(owned) >= most:
                raise TopicError(
                    "TopicLimitExceeded",
                    f"{user.name} has {most:,} topics already, which is all that "
                    "topics.topics_per_user allows: delete one first",
                )


def _sends_login(key: str, hidden: Mapping[str, str]) -> bool:
    """Return whether changing only this attribute would send a stored login elsewhere."""
    return (key == BROKERS and bool(hidden)) or (key == ENDPOINT and USER in hidden)


def _stored(existing: Topic, path: str) -> str:
    """Return the stored certificate of a topic that read it from this path."""
    is_same = path == existing.attributes.get("ca-location")
    return existing.authority if is_same and existing.authority else certificate(path)


def _require_https(call: TopicCall, topic: Topic) -> None:
    if topic.secret and not call.secure:
        raise TopicError("AccessDenied", f"{topic.arn} has a stored secret: ask over HTTPS")
