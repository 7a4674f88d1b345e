"""The actions of the SNS API, and which of them need HTTPS."""

import base64
import binascii
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from bucketcast.aws.topics.table import TopicTable
from bucketcast.aws.topics.topics import Topics, Wanted
from bucketcast.control.sns import responses
from bucketcast.control.sns.certificate import certificate
from bucketcast.control.sns.form import Form
from bucketcast.control.users import User
from bucketcast.errors import did_you_mean
from bucketcast.topics import permissions
from bucketcast.topics.attributes import BROKERS, KNOWN, USER, checked, has_login
from bucketcast.topics.errors import TopicError, invalid
from bucketcast.topics.model import ENDPOINT, Topic, TopicArn, missing, require_name

PAGE: Final = 100
_INSECURE: Final = "a user and a password are only taken over HTTPS"


@dataclass(frozen=True, slots=True)
class SnsCall:
    """One call: its user, its form, whether it came over HTTPS, and its request id."""

    user: User
    form: Form
    secure: bool
    request_id: str


class Actions:
    """The actions on the topics of one deployment; `change` is called only for changes.

    `most` returns how many topics a user may have, 0 for any number.
    """

    def __init__(
        self,
        items: TopicTable,
        change: Callable[[], Topics],
        region: str,
        most: Callable[[], int] = lambda: 0,
    ) -> None:
        self._items = items
        self._most = most
        self._change = change
        self._region = region
        self._known: Mapping[str, Callable[[SnsCall], bytes]] = {
            "CreateTopic": self._create,
            "DeleteTopic": self._delete,
            "GetTopic": self._get,
            "GetTopicAttributes": self._attributes,
            "ListTopics": self._list,
            "SetTopicAttributes": self._set,
        }

    def __call__(self, call: SnsCall) -> bytes:
        """Run the action; return the response's document.

        Raises:
            TopicError: it is impossible or forbidden.
            BucketcastError: AWS does not answer, or refuses.
        """
        action = call.form.need("Action")
        answer = self._known.get(action)
        if answer is None:
            near = did_you_mean(action, self._known)
            allowed = f"{near}allowed are {', '.join(self._known)}"
            raise TopicError("MethodNotAllowed", f"Action: found {action[:100]!r}; {allowed}")
        return answer(call)

    def _create(self, call: SnsCall) -> bytes:
        name, user = call.form.need("Name"), call.user
        require_name(name)
        if not call.secure and has_login(call.form.attributes):
            raise TopicError("InvalidArgument", _INSECURE)
        given = checked(call.form.attributes, certificate)

        def change(there: Topic | None, _: Mapping[str, str]) -> Wanted:
            if there is None:
                self._check_quota(user)
                return Wanted(user.name, given)
            permissions.require(user, permissions.CREATE, there)
            return Wanted(there.owner, given)

        arn = TopicArn(self._region, user.tenant, name)
        return responses.created(self._change().put(arn, change), call.request_id)

    def _check_quota(self, user: User) -> None:
        """Raise a TopicError when a user has as many topics as one may have."""
        most = self._most()
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

    def _set(self, call: SnsCall) -> bytes:
        arn = TopicArn.parse(call.form.need("TopicArn"))
        key, text = call.form.need("AttributeName"), call.form.values.get("AttributeValue", "")
        if key not in KNOWN:
            allowed = f"{did_you_mean(key, KNOWN)}one of {', '.join(sorted(KNOWN))}"
            raise invalid("AttributeName", repr(key[:100]), allowed)
        if not call.secure and has_login({key: text}):
            raise TopicError("InvalidArgument", _INSECURE)

        def change(there: Topic | None, hidden: Mapping[str, str]) -> Wanted:
            if there is None:
                raise missing(str(arn))
            permissions.require(call.user, permissions.SET, there)
            if _sends_login(key, hidden):
                permissions.require_own(
                    call.user, there, f"a change of {key}, to where its password goes"
                )
            values = {**there.attributes, **hidden, key: text}
            if not text:
                del values[key]
            return Wanted(there.owner, checked(values, partial(_kept, there)))

        self._change().put(TopicArn(self._region, arn.tenant, arn.name), change)
        return responses.done("SetTopicAttributes", call.request_id)

    def _delete(self, call: SnsCall) -> bytes:
        arn = TopicArn.parse(call.form.need("TopicArn"))
        self._change().delete(
            arn, lambda there: permissions.require(call.user, permissions.DELETE, there)
        )
        return responses.done("DeleteTopic", call.request_id)

    def _get(self, call: SnsCall) -> bytes:
        return responses.one(self.readable(call), call.request_id)

    def _attributes(self, call: SnsCall) -> bytes:
        return responses.attributes(self.readable(call), call.request_id)

    def readable(self, call: SnsCall) -> Topic:
        """Return the requested topic, if the user may read it, and over this connection.

        Raises:
            TopicError: it does not exist, or must not be read.
        """
        arn = TopicArn.parse(call.form.need("TopicArn"))
        topic = self._items.topic(arn)
        if topic is None:
            raise missing(str(arn))
        permissions.require(call.user, permissions.GET, topic)
        _require_https(call, topic)
        return topic

    def topic(self, arn: TopicArn) -> Topic | None:
        """Return the topic of an ARN, without checking who may read it."""
        return self._items.topic(arn)

    def all_readable(self, call: SnsCall) -> list[Topic]:
        """Return all topics that the user may read.

        Raises:
            TopicError: one of them may not be read over HTTP.
        """
        user = call.user
        tenant = None if user.admin else user.tenant
        found, _ = self._items.page(
            tenant, sys.maxsize, "", lambda topic: permissions.may(user, permissions.GET, topic)
        )
        for topic in found:
            _require_https(call, topic)
        return found

    def _list(self, call: SnsCall) -> bytes:
        user = call.user
        after = _marker(call.form.values.get("NextToken", ""))
        topics, after = self._items.page(
            None if user.admin else user.tenant,
            PAGE,
            after,
            lambda topic: permissions.may(user, permissions.GET, topic),
        )
        for topic in topics:
            _require_https(call, topic)
        return responses.listed(topics, _token(after), call.request_id)


def _sends_login(key: str, hidden: Mapping[str, str]) -> bool:
    """Return whether changing only this attribute would send a stored login elsewhere."""
    return (key == BROKERS and bool(hidden)) or (key == ENDPOINT and USER in hidden)


def _kept(there: Topic, path: str) -> str:
    """Return the stored certificate of a topic that read it from this path."""
    is_same = path == there.attributes.get("ca-location")
    return there.authority if is_same and there.authority else certificate(path)


def _require_https(call: SnsCall, topic: Topic) -> None:
    if topic.secret and not call.secure:
        raise TopicError("AccessDenied", f"{topic.arn} has a stored secret: ask over HTTPS")


def _token(marker: str) -> str:
    return base64.urlsafe_b64encode(marker.encode()).decode()


def _marker(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise invalid("NextToken", repr(token[:100]), "what the page before gave") from None
