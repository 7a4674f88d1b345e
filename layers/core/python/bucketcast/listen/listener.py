"""Listeners: temporary rules whose events wait in a queue of their own.

A listener belongs to one client's `ListenBucketNotification` or `ListenNotification`. While the
client is connected, the process that serves it holds the listener and keeps renewing its own lease.
After a disconnect the listener is kept for a minute: a client that repeats its request takes it
over and misses nothing.
"""

import hashlib
from typing import Final, Literal

import msgspec

from bucketcast import limits
from bucketcast.destination import ListenerArn
from bucketcast.errors import BucketcastError
from bucketcast.event.names import BUCKET_CREATED, BUCKET_REMOVED
from bucketcast.rules import Rule
from bucketcast.rules.cost import cost

PARTITION: Final = "#listeners"
"""The listeners' partition of the state table; no bucket can have this name."""
KEEP_SECONDS: Final = 60
"""How long a listener is kept after its client has disconnected."""
LEASE_SECONDS: Final = 6.0
RENEWAL_SECONDS: Final = 2.0
MAX_AGE_SECONDS: Final = 600
"""Events that a client has not read by then are lost, and it gets an error."""
RETENTION_SECONDS: Final = 3_600
"""SQS drops older messages silently; a message above the maximum age is received before that."""
KEEP_LOST_SECONDS: Final = 3_600
"""How long a listener that lost events is kept, so that its client gets the error."""


class TooManyListenersError(BucketcastError):
    """A user, or the deployment, has its maximum of listeners."""


class EventsLostError(BucketcastError):
    """The client did not read for longer than events are kept; raised once per listener."""


class ListenFilter(msgspec.Struct, frozen=True):
    """The events that a client listens to; `bucket` is "" for those of all buckets.

    `user` is the id of a user of the gateway, or says who runs `bucketcast listen`.
    """

    user: str
    bucket: str
    events: tuple[str, ...]
    prefix: str = ""
    suffix: str = ""

    @property
    def of_all_objects(self) -> bool:
        """True if it asks for events of objects in all buckets."""
        return not self.bucket and not {BUCKET_CREATED, BUCKET_REMOVED}.issuperset(self.events)

    def rule(self, bucket: str, arn: str = "") -> Rule:
        """Return the rule that asks for the same of a bucket."""
        return Rule(
            bucket=bucket, arn=arn, events=self.events, prefix=self.prefix, suffix=self.suffix
        )

    @property
    def digest(self) -> str:
        """Identifies the same request of the same user, in whatever order its events are."""
        parts = [self.user, self.bucket, self.prefix, self.suffix, *sorted(set(self.events))]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    """A stored listener.

    `holder` is the process that serves it since `since` (Unix ms), "" if none does since then.
    `client` identifies where its last call came from, as well as a call tells it. A
    `lost` or `removed` listener gets no events any more; `why` is the error message for its client.
    """

    id: str
    requested: ListenFilter
    queue: str
    since: int
    holder: str = ""
    client: str = ""
    state: Literal["on", "lost", "removed"] = "on"
    why: str = ""

    def rule(self, bucket: str) -> Rule:
        """Return the rule that the listener adds to a bucket."""
        return self.requested.rule(bucket, ListenerArn(self.id).arn)


class Snapshot(msgspec.Struct, frozen=True):
    """All listeners and leases at one moment, and their change number, 0 before the first."""

    version: int
    listeners: tuple[Listener, ...]
    leases: dict[str, int]

    def expiry(self, listener: Listener) -> int:
        """Return the time (Unix ms) from which a listener gets no events, if nothing changes."""
        if listener.state != "on":
            return 0
        return max(self.leases.get(listener.holder, 0), listener.since) + KEEP_SECONDS * 1_000

    def is_free(self, listener: Listener, now: int) -> bool:
        """Return True if no process serves the listener."""
        return not listener.holder or self.leases.get(listener.holder, 0) < now

    def active(self, now: int) -> list[Listener]:
        """Return the listeners that get events."""
        return [listener for listener in self.listeners if self.expiry(listener) > now]

    def limit_error(self, new: Listener, per_user: int, now: int) -> str:
        """Return the limit that forbids a further listener; "" if none does."""
        active, user, bucket = self.active(now), new.requested.user, new.requested.bucket
        own = [listener for listener in active if listener.requested.user == user]
        if len(own) >= per_user:
            return f"the user has {len(own)} listeners, and may have {per_user} at once"
        if len(active) >= limits.MOST_LISTENERS:
            allowed = limits.MOST_LISTENERS
            return f"there are {len(active)} listeners; a deployment may have {allowed} at once"
        for others, most, whose in (
            (own, limits.MOST_USER_LISTENERS_STEPS, "a user's"),
            (active, limits.MOST_BUCKET_LISTENERS_STEPS, "the"),
        ):
            allowed = most if bucket else 0  # else events of buckets that are not theirs would pay
            alike = (each for each in (*others, new) if each.requested.bucket == bucket)
            steps = cost([listener.rule(bucket) for listener in alike]).steps
            if steps > allowed:
                needs = (
                    f"wildcards of {whose} listeners of {bucket or 'all buckets'} need {steps:,}"
                )
                return f"the {needs} steps to match an event; allowed are {allowed:,}"
        return ""


def queue_prefix(stack: str) -> str:
    """Return the prefix of the names of all listeners' queues."""
    return f"{stack}-listen-"
