"""Listeners: rules with a short life, whose events wait on a queue of their own.

A listener is one client's `ListenBucketNotification` or `ListenNotification`. While a client is
connected its listener is `held` by the process that serves it, whose lease is renewed all the time.
Afterwards it is kept for a minute, so that the client, when it asks for the same again, takes it
over and has missed nothing.
"""

import hashlib
from typing import Final, Literal

import msgspec

from bucketcast.destination import ListenerArn
from bucketcast.errors import BucketcastError
from bucketcast.rules import Rule

PARTITION: Final = "#listeners"
"""Where listeners are in the state table: no bucket can have this name."""
KEPT_SECONDS: Final = 60
"""How long a listener is kept after its client disconnected."""
LEASE_SECONDS: Final = 6.0
RENEWED_SECONDS: Final = 2.0
BOUND_SECONDS: Final = 600
"""Events that a listener has not read by then are lost, and its client gets an error."""
RETENTION_SECONDS: Final = 3_600
"""SQS drops older messages silently: one older than the bound is received before that."""
LOST_SECONDS: Final = 3_600
"""How long a listener that lost events is kept, so that its client gets the error."""
A_USER: Final = 150
IN_ALL: Final = 500


class TooManyListenersError(BucketcastError):
    """A user, or the deployment, has as many listeners as it may have."""


class EventsLostError(BucketcastError):
    """The listener did not read for longer than its events are kept; said once."""


class ListenFilter(msgspec.Struct, frozen=True):
    """What a client listens to; a listener of all buckets has "" as its bucket."""

    user: str
    bucket: str
    events: tuple[str, ...]
    prefix: str = ""
    suffix: str = ""

    @property
    def digest(self) -> str:
        """The same for the same request of the same user, in whatever order its events are."""
        parts = [self.user, self.bucket, self.prefix, self.suffix, *sorted(set(self.events))]
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Listener(msgspec.Struct, frozen=True, kw_only=True):
    """A listener as it is stored.

    `holder` is the process that serves it; "" when nobody does since `since` (Unix ms). One that
    is `lost` or `removed` gets no events any more; `why` is what its client is told.
    """

    id: str
    requested: ListenFilter
    queue: str
    since: int
    holder: str = ""
    state: Literal["on", "lost", "removed"] = "on"
    why: str = ""

    def rule(self, bucket: str) -> Rule:
        """Return the rule that it adds to a bucket."""
        requested = self.requested
        return Rule(
            bucket=bucket,
            arn=ListenerArn(self.id).arn,
            events=requested.events,
            prefix=requested.prefix,
            suffix=requested.suffix,
        )


class Seen(msgspec.Struct, frozen=True):
    """All listeners and leases of one moment, and their change number, 0 before the first."""

    version: int
    listeners: tuple[Listener, ...]
    leases: dict[str, int]

    def ends(self, one: Listener) -> int:
        """Return when it gets no events any more (Unix ms), if nothing happens until then."""
        if one.state != "on":
            return 0
        kept = KEPT_SECONDS * 1_000
        return max(self.leases.get(one.holder, 0), one.since) + kept

    def is_free(self, one: Listener, now: int) -> bool:
        """Return whether nobody serves it."""
        return not one.holder or self.leases.get(one.holder, 0) < now

    def alive(self, now: int) -> list[Listener]:
        """Return the listeners that get events."""
        return [one for one in self.listeners if self.ends(one) > now]

    def refusal(self, user: str, now: int) -> str:
        """Return why the user can have no further listener; "" where it can."""
        alive = self.alive(now)
        own = sum(one.requested.user == user for one in alive)
        if own >= A_USER:
            return f"{user} has {own} listeners; a user may have {A_USER} at once"
        if len(alive) >= IN_ALL:
            return f"there are {len(alive)} listeners; a deployment may have {IN_ALL} at once"
        return ""


def queue_prefix(stack: str) -> str:
    """Return how the names of all listeners' queues begin."""
    return f"{stack}-listen-"
