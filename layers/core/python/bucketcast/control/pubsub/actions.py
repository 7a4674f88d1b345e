"""The actions of the PubSub API."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from bucketcast.aws.topics.stored_events import StoredEvents
from bucketcast.aws.topics.subscriptions import Subscriptions
from bucketcast.control.pubsub import responses
from bucketcast.control.pubsub.notifications import BucketTopics
from bucketcast.control.request import RawRequest
from bucketcast.control.sns.actions import Actions, SnsCall
from bucketcast.control.sns.form import Form
from bucketcast.control.users import User
from bucketcast.topics.attributes import KNOWN
from bucketcast.topics.errors import TopicError, invalid
from bucketcast.topics.model import Topic, TopicArn
from bucketcast.topics.permissions import GET, require
from bucketcast.topics.subscription import (
    Subscription,
    require_access,
    require_subscription_name,
    unknown,
)

DEFAULT_ENTRIES: Final = 100
MOST_ENTRIES: Final = 1_000
_EVENT_ID: Final = re.compile(r"[0-9A-Za-z.:-]{1,200}")


@dataclass(frozen=True, slots=True)
class PubsubCall:
    """One call: its user, its parameters, whether it came over HTTPS, and its request id."""

    user: User
    call: RawRequest
    secure: bool
    request_id: str

    @property
    def name(self) -> str:
        """The name after `/topics/` or the like."""
        return self.call.key

    def has(self, parameter: str) -> bool:
        return parameter in self.call.params

    def need(self, parameter: str) -> str:
        """Return a parameter, or raise a TopicError when it is missing."""
        value = self.call.first(parameter)
        if not value:
            raise TopicError("InvalidArgument", f"{parameter}: missing")
        return value


class EventsOf(Protocol):
    """Returns the current deployment's stored events."""

    def __call__(self) -> StoredEvents: ...


class PubsubActions:
    """The calls about one deployment's topics, subscriptions and buckets."""

    def __init__(
        self,
        topics: Actions,
        subscriptions: Subscriptions,
        events: EventsOf,
        buckets: BucketTopics,
        region: str,
    ) -> None:
        self._topics = topics
        self._subscriptions = subscriptions
        self._events = events
        self._buckets = buckets
        self._region = region
        self._known: Mapping[tuple[str, str], Callable[[PubsubCall], bytes]] = {
            ("topics", "PUT"): self._create_topic,
            ("topics", "GET"): self._get_topic,
            ("topics", "DELETE"): self._delete_topic,
            ("notifications", "PUT"): self._notify,
            ("notifications", "GET"): self._notifications,
            ("notifications", "DELETE"): self._stop_notifying,
            ("subscriptions", "PUT"): self._subscribe,
            ("subscriptions", "GET"): self._get_subscription,
            ("subscriptions", "DELETE"): self._unsubscribe,
            ("subscriptions", "POST"): self._acknowledge,
        }

    def __call__(self, request: PubsubCall) -> bytes:
        """Run the action and return the response's document.

        Raises:
            TopicError: it is impossible or forbidden.
            BucketcastError: AWS does not answer, or refuses.
        """
        call = request.call
        answer = self._known.get((call.bucket, call.method))
        if answer is None or not (call.key or (call.bucket, call.method) == ("topics", "GET")):
            raise TopicError("MethodNotAllowed", f"{call.method} /{call.bucket}/{call.key[:100]}")
        return answer(request)

    def _create_topic(self, request: PubsubCall) -> bytes:
        attributes = {
            name: values[0] for name, values in request.call.params.items() if name in KNOWN
        }
        self._topics(self._about_topic(request, "CreateTopic", attributes))
        return responses.created(str(TopicArn(self._region, request.user.tenant, request.name)))

    def _get_topic(self, request: PubsubCall) -> bytes:
        if not request.name:
            return responses.topics(self._topics.all_readable(self._about_topic(request, "")))
        return responses.topic(self._topics.readable(self._about_topic(request, "GetTopic")))

    def _delete_topic(self, request: PubsubCall) -> bytes:
        self._topics(self._about_topic(request, "DeleteTopic"))
        return b""

    def _about_topic(
        self, request: PubsubCall, action: str, attributes: Mapping[str, str] | None = None
    ) -> SnsCall:
        """Return the equivalent call of the SNS API."""
        arn = TopicArn(self._region, request.user.tenant, request.name)
        values = {"Action": action, "Name": request.name, "TopicArn": str(arn)}
        return SnsCall(
            request.user, Form(values, attributes or {}), request.secure, request.request_id
        )

    def _notify(self, request: PubsubCall) -> bytes:
        events = request.call.first("events")
        self._buckets.bind(_bucket(request), self._named_topic(request), events, request.user)
        return b""

    def _notifications(self, request: PubsubCall) -> bytes:
        return responses.notifications(self._buckets.of(_bucket(request), request.user))

    def _stop_notifying(self, request: PubsubCall) -> bytes:
        self._buckets.unbind(_bucket(request), self._named_topic(request))
        return b""

    def _subscribe(self, request: PubsubCall) -> bytes:
        require_subscription_name(request.name)
        if request.call.first("push-endpoint"):
            raise TopicError(
                "InvalidArgument",
                "push-endpoint: found one; a subscription is pulled, and a topic is pushed: "
                "PUT /topics/NAME?push-endpoint=…",
            )
        arn, user = self._named_topic(request), request.user

        def allow(topic: Topic, there: Subscription | None) -> None:
            require(user, GET, topic)
            if there:
                require_access(user, there, topic)

        self._subscriptions.put(user.tenant, user.name, request.name, arn, allow)
        return b""

    def _get_subscription(self, request: PubsubCall) -> bytes:
        if not request.has("events"):
            return responses.subscription(self._found(request))
        limit = _entries(request.call.first("max-entries"))
        marker = request.call.first("marker") or ""
        if marker and not _EVENT_ID.fullmatch(marker):
            raise invalid("marker", repr(marker[:100]), "next_marker of the page before")
        found = self._found(request)
        return responses.events(self._events().page(found.partition, limit, marker))

    def _unsubscribe(self, request: PubsubCall) -> bytes:
        def allow(there: Subscription, topic: Topic | None) -> None:
            require_access(request.user, there, topic)

        require_subscription_name(request.name)
        self._subscriptions.delete(request.user.tenant, request.name, allow)
        return b""

    def _acknowledge(self, request: PubsubCall) -> bytes:
        if not request.has("ack"):
            raise TopicError("MethodNotAllowed", "POST /subscriptions/NAME takes ack&event-id=ID")
        event_id = request.need("event-id")
        found = self._found(request)
        if not _EVENT_ID.fullmatch(event_id):
            raise invalid("event-id", repr(event_id[:100]), "the eventId of a record")
        # As with Ceph, an event that does not exist (any more) is no error.
        self._events().acknowledge(found.partition, event_id)
        return b""

    def _found(self, request: PubsubCall) -> Subscription:
        """Return the subscription of a call, if the user may use it."""
        require_subscription_name(request.name)
        found = self._subscriptions.find(request.user.tenant, request.name)
        if found is None:
            raise unknown(request.name)
        require_access(request.user, found, self._topics.topic(found.arn(self._region)))
        return found

    def _named_topic(self, request: PubsubCall) -> TopicArn:
        """Return the topic of the parameter `topic`: a name of the user's tenant, or an ARN."""
        named = request.need("topic")
        if named.startswith("arn:"):
            return TopicArn.parse(named)
        return TopicArn(self._region, request.user.tenant, named)


def _entries(text: str | None) -> int:
    if text is None:
        return DEFAULT_ENTRIES
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MOST_ENTRIES:
        raise invalid("max-entries", repr(text[:100]), f"1 to {MOST_ENTRIES:,}")
    return int(text)


def _bucket(request: PubsubCall) -> str:
    """Return the bucket of `/notifications/BUCKET` or `/notifications/bucket/BUCKET`."""
    first, slash, rest = request.name.partition("/")
    bucket = rest if slash and first == "bucket" else request.name
    if not bucket or "/" in bucket:
        raise invalid("bucket", repr(request.name[:100]), "/notifications/BUCKET")
    return bucket
