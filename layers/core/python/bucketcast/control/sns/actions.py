"""What each action does, for whom, and what it must be told over HTTPS only."""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from bucketcast.control.sns import replies
from bucketcast.control.sns.certificate import certificate
from bucketcast.control.sns.form import Form
from bucketcast.control.users import User
from bucketcast.errors import did_you_mean
from bucketcast.store.topics.items import Items
from bucketcast.store.topics.topics import Topics, Wanted
from bucketcast.topics import access
from bucketcast.topics.attributes import BROKERS, KNOWN, USER, checked, has_login
from bucketcast.topics.errors import TopicError, invalid
from bucketcast.topics.model import ENDPOINT, Topic, TopicArn, demand_name, missing

PAGE: Final = 100
_INSECURE: Final = "a user and a password are only taken over HTTPS"


@dataclass(frozen=True, slots=True)
class Asked:
    """One call: who asks for what, whether over HTTPS, and the id of its answer."""

    user: User
    form: Form
    secure: bool
    request_id: str


class Actions:
    """The actions on the topics of one deployment; `change` is asked for only where one changes."""

    def __init__(self, items: Items, change: Callable[[], Topics], region: str) -> None:
        self._items = items
        self._change = change
        self._region = region
        self._known: Mapping[str, Callable[[Asked], bytes]] = {
            "CreateTopic": self._create,
            "DeleteTopic": self._delete,
            "GetTopic": self._get,
            "GetTopicAttributes": self._attributes,
            "ListTopics": self._list,
            "SetTopicAttributes": self._set,
        }

    def __call__(self, asked: Asked) -> bytes:
        """Do what is asked for; the answer's document.

        Raises:
            TopicError: it cannot be done, or may not.
            BucketcastError: AWS cannot be asked.
        """
        action = asked.form.need("Action")
        answer = self._known.get(action)
        if answer is None:
            near = did_you_mean(action, self._known)
            allowed = f"{near}allowed are {', '.join(self._known)}"
            raise TopicError("MethodNotAllowed", f"Action: found {action[:100]!r}; {allowed}")
        return answer(asked)

    def _create(self, asked: Asked) -> bytes:
        name, user = asked.form.need("Name"), asked.user
        demand_name(name)
        if not asked.secure and has_login(asked.form.attributes):
            raise TopicError("InvalidArgument", _INSECURE)
        given = checked(asked.form.attributes, certificate)

        def change(there: Topic | None, _: Mapping[str, str]) -> Wanted:
            if there is None:
                return Wanted(user.name, given)
            access.demand(user, access.CREATE, there)
            return Wanted(there.owner, given)

        arn = TopicArn(self._region, user.tenant, name)
        return replies.created(self._change().put(arn, change), asked.request_id)

    def _set(self, asked: Asked) -> bytes:
        arn = TopicArn.parse(asked.form.need("TopicArn"))
        key, text = asked.form.need("AttributeName"), asked.form.values.get("AttributeValue", "")
        if key not in KNOWN:
            allowed = f"{did_you_mean(key, KNOWN)}one of {', '.join(sorted(KNOWN))}"
            raise invalid("AttributeName", repr(key[:100]), allowed)
        if not asked.secure and has_login({key: text}):
            raise TopicError("InvalidArgument", _INSECURE)

        def change(there: Topic | None, hidden: Mapping[str, str]) -> Wanted:
            if there is None:
                raise missing(str(arn))
            access.demand(asked.user, access.SET, there)
            if _sends_login(key, hidden):
                access.demand_own(
                    asked.user, there, f"a change of {key}, to where its password goes"
                )
            values = {**there.attributes, **hidden, key: text}
            if not text:
                del values[key]
            return Wanted(there.owner, checked(values, partial(_kept, there)))

        self._change().put(TopicArn(self._region, arn.tenant, arn.name), change)
        return replies.done("SetTopicAttributes", asked.request_id)

    def _delete(self, asked: Asked) -> bytes:
        arn = TopicArn.parse(asked.form.need("TopicArn"))
        self._change().delete(arn, lambda there: access.demand(asked.user, access.DELETE, there))
        return replies.done("DeleteTopic", asked.request_id)

    def _get(self, asked: Asked) -> bytes:
        return replies.one(self._readable(asked), asked.request_id)

    def _attributes(self, asked: Asked) -> bytes:
        return replies.attributes(self._readable(asked), asked.request_id)

    def _readable(self, asked: Asked) -> Topic:
        """The topic that is asked for, which the user may read, and may read now."""
        arn = TopicArn.parse(asked.form.need("TopicArn"))
        topic = self._items.topic(arn)
        if topic is None:
            raise missing(str(arn))
        access.demand(asked.user, access.GET, topic)
        _demand_secure(asked, topic)
        return topic

    def _list(self, asked: Asked) -> bytes:
        user = asked.user
        after = _marker(asked.form.values.get("NextToken", ""))
        topics, after = self._items.page(
            None if user.admin else user.tenant,
            PAGE,
            after,
            lambda topic: access.may(user, access.GET, topic),
        )
        for topic in topics:
            _demand_secure(asked, topic)
        return replies.listed(topics, _token(after), asked.request_id)


def _sends_login(key: str, hidden: Mapping[str, str]) -> bool:
    """Whether a change of this attribute alone sends a login that is there to another place."""
    return (key == BROKERS and bool(hidden)) or (key == ENDPOINT and USER in hidden)


def _kept(there: Topic, path: str) -> str:
    """The certificate of a topic that has one from this path, whatever is there now."""
    is_same = path == there.attributes.get("ca-location")
    return there.authority if is_same and there.authority else certificate(path)


def _demand_secure(asked: Asked, topic: Topic) -> None:
    if topic.secret and not asked.secure:
        raise TopicError("AccessDenied", f"{topic.arn} has a stored secret: ask over HTTPS")


def _token(marker: str) -> str:
    return base64.urlsafe_b64encode(marker.encode()).decode()


def _marker(token: str) -> str:
    try:
        return base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise invalid("NextToken", repr(token[:100]), "what the page before gave") from None
