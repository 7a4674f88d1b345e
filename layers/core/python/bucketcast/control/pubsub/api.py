"""`/topics`, `/notifications` and `/subscriptions`: bucket names that Ceph reserves."""

import asyncio
import re
import sys
from collections.abc import Callable, Mapping
from typing import Final

from starlette.types import ASGIApp, Scope

from bucketcast.aws.topics.subscriptions import Subscriptions
from bucketcast.control.authentication import Authenticator
from bucketcast.control.errors import S3Error
from bucketcast.control.pubsub import responses
from bucketcast.control.pubsub.deployed_options import DeployedOptions
from bucketcast.control.pubsub.notifications import BucketTopics
from bucketcast.control.topic_api import IsSecure, Refusal, TopicApi, TopicCall
from bucketcast.control.user_topics import UserTopics
from bucketcast.topics.attributes import KNOWN
from bucketcast.topics.errors import TopicError, invalid
from bucketcast.topics.model import Topic, TopicArn, require_name
from bucketcast.topics.permissions import require
from bucketcast.topics.policy import GET
from bucketcast.topics.subscription import Subscription, require_access, unknown

RESERVED: Final = ("notifications", "subscriptions", "topics")
DEFAULT_ENTRIES: Final = 100
MOST_ENTRIES: Final = 1_000
_EVENT_ID: Final = re.compile(r"[0-9A-Za-z.:-]{1,200}")


class Pubsub(TopicApi):
    """Answers the calls of these paths if the deployment has subscriptions.

    All others go to `others`.
    """

    services = ("s3", "sns")
    media_type = "application/json"
    max_bytes = 1 << 16

    def __init__(  # noqa: PLR0913 - what it is made of
        self,
        gate: Authenticator,
        is_secure: IsSecure,
        others: ASGIApp,
        *,
        topics: UserTopics,
        subscriptions: Subscriptions,
        buckets: BucketTopics,
        options: DeployedOptions,
    ) -> None:
        super().__init__(gate, is_secure, others)
        self._topics = topics
        self._subscriptions = subscriptions
        self._buckets = buckets
        self._options = options
        self._actions: Mapping[tuple[str, str], Callable[[TopicCall], bytes]] = {
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

    async def is_on(self) -> bool:
        return await asyncio.to_thread(self._options.pull)

    def is_own(self, scope: Scope) -> bool:
        """Return whether the path names such a bucket, and the host none."""
        path = scope["raw_path"].decode("latin-1")
        if path.split("/", 2)[1:2] not in [[name] for name in RESERVED]:
            return False
        try:
            return self.gate.read(scope).bucket in RESERVED
        except S3Error:
            return False

    def run(self, call: TopicCall) -> bytes:
        what = (call.request.bucket, call.request.method)
        action = self._actions.get(what)
        if action is None or not (call.request.key or what == ("topics", "GET")):
            path = f"/{call.request.bucket}/{call.request.key[:100]}"
            raise TopicError("MethodNotAllowed", f"{call.request.method} {path}")
        return action(call)

    def refused(self, what: Refusal) -> bytes:
        return responses.refused(what)

    def _create_topic(self, call: TopicCall) -> bytes:
        params = call.request.params.items()
        attributes = {name: values[0] for name, values in params if name in KNOWN}
        made = self._topics.create(call, call.request.key, attributes)
        return responses.created(made.arn)

    def _get_topic(self, call: TopicCall) -> bytes:
        if not call.request.key:
            return responses.topics(self._topics.page(call, sys.maxsize)[0])
        return responses.topic(self._topics.get(call, self._own_topic(call)))

    def _delete_topic(self, call: TopicCall) -> bytes:
        self._topics.delete(call.user, self._own_topic(call))
        return b""

    def _notify(self, call: TopicCall) -> bytes:
        events = call.request.first("events")
        self._buckets.bind(_bucket(call), self._named_topic(call), events, call.user)
        return b""

    def _notifications(self, call: TopicCall) -> bytes:
        return responses.notifications(self._buckets.of(_bucket(call), call.user))

    def _stop_notifying(self, call: TopicCall) -> bytes:
        self._buckets.unbind(_bucket(call), self._named_topic(call))
        return b""

    def _subscribe(self, call: TopicCall) -> bytes:
        require_name(call.request.key, "subscription")
        if call.request.first("push-endpoint"):
            raise TopicError(
                "InvalidArgument",
                "push-endpoint: found one; a subscription is pulled, and a topic is pushed: "
                "PUT /topics/NAME?push-endpoint=…",
            )
        arn, user = self._named_topic(call), call.user

        def allow(topic: Topic, existing: Subscription | None) -> None:
            require(user, GET, topic)
            if existing:
                require_access(user, existing, topic)

        self._subscriptions.put(user.tenant, user.name, call.request.key, arn, allow)
        return b""

    def _get_subscription(self, call: TopicCall) -> bytes:
        if "events" not in call.request.params:
            return responses.subscription(self._found(call))
        limit = _entries(call.request.first("max-entries"))
        marker = call.request.first("marker") or ""
        if marker and not _EVENT_ID.fullmatch(marker):
            raise invalid("marker", repr(marker[:100]), "next_marker of the page before")
        found = self._found(call)
        return responses.events(self._options.events().page(found.partition, limit, marker))

    def _unsubscribe(self, call: TopicCall) -> bytes:
        def allow(existing: Subscription, topic: Topic | None) -> None:
            require_access(call.user, existing, topic)

        require_name(call.request.key, "subscription")
        self._subscriptions.delete(call.user.tenant, call.request.key, allow)
        return b""

    def _acknowledge(self, call: TopicCall) -> bytes:
        if "ack" not in call.request.params:
            raise TopicError("MethodNotAllowed", "POST /subscriptions/NAME takes ack&event-id=ID")
        event_id = _need(call, "event-id")
        found = self._found(call)
        if not _EVENT_ID.fullmatch(event_id):
            raise invalid("event-id", repr(event_id[:100]), "the eventId of a record")
        # As with Ceph, an event that does not exist (any more) is no error.
        self._options.events().acknowledge(found.partition, event_id)
        return b""

    def _found(self, call: TopicCall) -> Subscription:
        """Return the subscription of a call, if the user may use it."""
        require_name(call.request.key, "subscription")
        found = self._subscriptions.find(call.user.tenant, call.request.key)
        if found is None:
            raise unknown(call.request.key)
        require_access(call.user, found, self._topics.find(found.arn("")))
        return found

    def _own_topic(self, call: TopicCall) -> TopicArn:
        """Return the topic of `/topics/NAME`, if there may be one of such a name."""
        return TopicArn.parse(str(self._topics.arn(call.user, call.request.key)))

    def _named_topic(self, call: TopicCall) -> TopicArn:
        """Return the topic of the parameter `topic`: a name of the user's tenant, or an ARN."""
        named = _need(call, "topic")
        if named.startswith("arn:"):
            return TopicArn.parse(named)
        return self._topics.arn(call.user, named)


def _need(call: TopicCall, parameter: str) -> str:
    """Return a parameter, or raise a TopicError when it is missing."""
    value = call.request.first(parameter)
    if not value:
        raise TopicError("InvalidArgument", f"{parameter}: missing")
    return value


def _entries(text: str | None) -> int:
    if text is None:
        return DEFAULT_ENTRIES
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 1 <= int(text) <= MOST_ENTRIES:
        raise invalid("max-entries", repr(text[:100]), f"1 to {MOST_ENTRIES:,}")
    return int(text)


def _bucket(call: TopicCall) -> str:
    """Return the bucket of `/notifications/BUCKET` or `/notifications/bucket/BUCKET`."""
    first, slash, rest = call.request.key.partition("/")
    bucket = rest if slash and first == "bucket" else call.request.key
    if not bucket or "/" in bucket:
        raise invalid("bucket", repr(call.request.key[:100]), "/notifications/BUCKET")
    return bucket
