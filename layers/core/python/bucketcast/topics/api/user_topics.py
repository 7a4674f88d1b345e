"""The topics that a user may create, change and read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from bucketcast.destination import TopicArn
from bucketcast.errors import did_you_mean
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import ENDPOINT, Topic
from bucketcast.topics import permissions, policy
from bucketcast.topics.attributes import BROKERS, KNOWN, TLS, USER, has_login, parse_attributes
from bucketcast.topics.aws.topics import DesiredTopic, Topics, page
from bucketcast.topics.errors import TopicError, invalid, require_name, topic_not_found
from bucketcast.users import User
from bucketcast.web.authentication import AuthenticatedRequest
from bucketcast.web.request import RawRequest

_INSECURE: Final = "a user and a password are only taken over HTTPS"


@dataclass(frozen=True, slots=True)
class TopicCall:
    """An authenticated call; `secure` is True if it came over HTTPS."""

    authenticated: AuthenticatedRequest
    body: bytes
    secure: bool
    request_id: str

    @property
    def user(self) -> User:
        return self.authenticated.user

    @property
    def request(self) -> RawRequest:
        return self.authenticated.call


class UserTopics:
    """The topics of one deployment; `change` is called only for changes.

    All methods raise a `TopicError` for an invalid or forbidden call.
    """

    def __init__(self, table: Table, change: Callable[[], Topics], region: str) -> None:
        self._table = table
        self._change = change
        self._region = region

    def create(self, call: TopicCall, name: str, attributes: Mapping[str, str]) -> Topic:
        """Create a topic, or change it to these attributes."""
        user = call.user
        require_name(name)
        if not call.secure and has_login(attributes):
            raise TopicError("InvalidArgument", _INSECURE)
        parsed = parse_attributes(attributes)
        arn = TopicArn(self._region, user.tenant, name)
        self._find(user, policy.CREATE, arn)
        topics = self._change()

        def change(existing: Topic | None, _: Mapping[str, str]) -> DesiredTopic:
            if existing is None:
                most = 0 if user.admin else topics.per_user
                self._check_quota(user, most)
                return DesiredTopic(user.name, parsed, user.id, most)
            permissions.require(user, policy.CREATE, existing)
            return DesiredTopic(existing.owner, parsed, existing.owner_id)

        return topics.put(arn, change)

    def set(self, call: TopicCall, arn: TopicArn, key: str, value: str) -> None:
        """Change one attribute of a topic; an empty text removes it."""
        if key not in KNOWN:
            allowed = f"{did_you_mean(key, KNOWN)}one of {', '.join(sorted(KNOWN))}"
            raise invalid("AttributeName", repr(key[:100]), allowed)
        if not call.secure and has_login({key: value}):
            raise TopicError("InvalidArgument", _INSECURE)
        if not self._find(call.user, policy.SET, arn):
            raise topic_not_found(str(arn))

        def change(existing: Topic | None, hidden: Mapping[str, str]) -> DesiredTopic:
            if existing is None:
                raise topic_not_found(str(arn))
            permissions.require(call.user, policy.SET, existing)
            if _sends_login(key, hidden):
                permissions.require_owner(
                    call.user, existing, f"a change of {key}, which decides where its password goes"
                )
            values = {**existing.attributes, **hidden, key: value}
            if not value:
                del values[key]
            return DesiredTopic(existing.owner, parse_attributes(values), existing.owner_id)

        self._change().put(TopicArn(self._region, arn.tenant, arn.name), change)

    def delete(self, user: User, arn: TopicArn) -> None:
        """Delete a topic, if it exists."""
        if self._find(user, policy.DELETE, arn):
            self._change().delete(
                arn, lambda existing: permissions.require(user, policy.DELETE, existing)
            )

    def get(self, call: TopicCall, arn: TopicArn) -> Topic:
        """Return a topic, if the user may read it over this connection."""
        topic = self._find(call.user, policy.GET, arn)
        if topic is None:
            raise topic_not_found(str(arn))
        _require_https(call, topic)
        return topic

    def page(self, call: TopicCall, limit: int, after: str = "") -> tuple[list[Topic], str]:
        """Return a page of the topics that the user may read, and the marker of the next page."""
        user = call.user
        topics, after = page(
            self._table,
            None if user.admin else user.tenant,
            limit,
            after,
            lambda topic: permissions.is_allowed(user, policy.GET, topic),
        )
        for topic in topics:
            _require_https(call, topic)
        return topics, after

    def _find(self, user: User, action: str, arn: TopicArn) -> Topic | None:
        """Return a topic, if there is one, requiring the right; changes ask again in their task.

        So who may not change a topic holds up nobody who may.
        """
        topic = self._table.topic(arn)
        if topic:
            permissions.require(user, action, topic)
        return topic

    def _check_quota(self, user: User, limit: int) -> None:
        """Raise a TopicError if a user has `limit` topics; 0 means no limit."""
        if limit and self._table.count(user.id) >= limit:
            raise TopicError(
                "TopicLimitExceeded",
                f"{user.name} has {limit:,} topics already, which is all that "
                "topics.topics_per_user allows: delete one first",
            )


def _sends_login(key: str, hidden: Mapping[str, str]) -> bool:
    """Return True if a change of this attribute sends a stored login elsewhere, or in the clear."""
    return (key in (BROKERS, TLS) and bool(hidden)) or (key == ENDPOINT and USER in hidden)


def _require_https(call: TopicCall, topic: Topic) -> None:
    if topic.secret and not call.secure:
        raise TopicError("AccessDenied", f"{topic.arn} has a stored secret: ask over HTTPS")
