"""Listeners in the state table, and their queues.

A listener is stored before its queue is created, and deleted after it, so no queue is orphaned.
Every change that ingest must see increments the partition's change number.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from bucketcast.delivery.queue import make_queue, remove_queue
from bucketcast.errors import Busy
from bucketcast.limits import MOST_USER_LISTENERS
from bucketcast.listen.listener import (
    KEEP_LOST_SECONDS,
    KEEP_SECONDS,
    LEASE_SECONDS,
    PARTITION,
    RETENTION_SECONDS,
    EventsLostError,
    Listener,
    ListenFilter,
    Snapshot,
    TooManyListenersError,
    queue_prefix,
)
from bucketcast.state.lease import Lease
from bucketcast.state.table import SORT_KEY, VERSION, Part, Partition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

VISIBILITY_SECONDS: Final = 30
_LISTENER: Final = "listener#"
_LEASE: Final = "lease#"
_TRIES: Final = 60
_PAUSE_SECONDS: Final = 0.05
_LEASE_CHECK_SECONDS: Final = 0.5
_AT_ONCE_MILLISECONDS: Final = 1_000
_decoder = msgspec.json.Decoder(Listener)


class Table:
    """The stored listeners and leases; all reads are consistent."""

    def __init__(self, name: str, client: "DynamoDBClient") -> None:
        self._items = Partition(name, PARTITION, client)

    def read(self) -> Snapshot:
        """Return all listeners and leases."""
        version, listeners, leases = 0, [], {}
        for item in self._items.items():
            key = item[SORT_KEY]["S"]
            if key == VERSION:
                version = int(item["version"]["N"])
            elif key.startswith(_LEASE):
                leases[item["holder"]["S"]] = int(item["leased_until"]["N"])
            elif key.startswith(_LISTENER):
                listeners.append(_decoder.decode(item["text"]["S"]))
        return Snapshot(version, tuple(listeners), leases)

    def renew(self, holder: str, until: int) -> None:
        """Extend a process' lease until a time (Unix ms)."""
        self._lease(holder).take(until)

    def remove_lease(self, holder: str) -> None:
        """Delete a lease without listeners."""
        self._lease(holder).release()

    def _lease(self, holder: str) -> Lease:
        return Lease(self._items, _LEASE + holder, holder)

    def add(self, listener: Listener, version: int) -> bool:
        """Add a listener unless anything changed since `version`; return True if it was added."""
        return self._items.commit(self._put_part(listener), since=version)

    def change(self, before: Listener, after: Listener | None) -> bool:
        """Replace `before` by `after`, or delete it if that is None; return True if this was done.

        It is not done if another process has changed the listener.
        """
        condition: Any = {
            "ConditionExpression": "mark = :mark",
            "ExpressionAttributeValues": {":mark": {"S": _mark(before)}},
        }
        if after:
            return self._items.commit(self._put_part(after, **condition))
        return self._items.commit(self._items.delete_part(_LISTENER + before.id, **condition))

    def _put_part(self, listener: Listener, **condition: Any) -> Part:
        document = msgspec.json.encode(listener).decode()
        item = {"text": {"S": document}, "mark": {"S": _mark(listener)}}
        return self._items.put_part(_LISTENER + listener.id, item, **condition)


@dataclass
class Listeners:
    """The listeners of a deployment, for one process that serves some of them.

    `prefix` returns the URL of every queue up to its name; only its first call may wait for AWS.
    `kms_key` returns the ARN of the key that encrypts queues, "" for SQS's own. `clock` returns
    seconds since 1970.
    """

    stack: str
    table: Table
    sqs: "SQSClient"
    prefix: Callable[[], str]
    _: KW_ONLY
    kms_key: Callable[[], str] = str
    per_user: int = MOST_USER_LISTENERS
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    holder: str = field(default_factory=lambda: secrets.token_hex(8))
    leased_until: int = field(default=0, init=False)

    def url(self, listener: Listener) -> str:
        """Return the URL of a listener's queue."""
        return f"{self.prefix()}/{listener.queue}"

    def renew(self, seconds: float = LEASE_SECONDS) -> float:
        """Renew the process' lease; return the seconds since its expiry, 0 if it was valid.

        A lease expires if the process was suspended, as by a laptop's sleep, or AWS did not answer.
        """
        until = self._now() + round(seconds * 1_000)
        self.table.renew(self.holder, until)
        former, self.leased_until = self.leased_until, until
        return max(0, self._now() - former) / 1_000 if former else 0.0

    def held_after(self, lapse: float) -> frozenset[str]:
        """Return the ids of the listeners it still holds, after a lapse of its lease in seconds.

        Another process may have taken some over; after a minute none gets events.
        """
        if lapse > KEEP_SECONDS:
            return frozenset()
        return frozenset(
            listener.id
            for listener in self.table.read().listeners
            if listener.holder == self.holder and listener.state == "on"
        )

    def any_of_all_objects(self) -> bool:
        """Return True if an active listener asks for events of objects in all buckets."""
        active = self.table.read().active(self._now())
        return any(listener.requested.of_all_objects for listener in active)

    def acquire(self, requested: ListenFilter, client: str = "", *, waits: bool = True) -> Listener:
        """Take over the client's earlier listener, or create one; it is active on return.

        The process must hold its lease. With `waits` the listener of a gateway that may be dead is
        waited for, as long as its lease lasts.

        Raises:
            TooManyListenersError: the user, or the deployment, has its maximum.
            EventsLostError: the client's earlier listener lost events.
            Busy: too many others begin at the same moment.
        """
        self.prefix()  # from here on `url` neither waits nor fails
        for _ in range(_TRIES):
            snapshot = self.table.read()
            listener = self._take_over(requested, client, snapshot, waits=waits)
            if listener is None:
                listener = self._create(requested, client, snapshot)
            if listener is not None:
                return listener
            self.sleep(_PAUSE_SECONDS)
        raise Busy("too many listeners begin at the same moment: try again")

    def release(self, listener: Listener) -> None:
        """Release a listener, whose client may come back."""
        self.table.change(listener, replace(listener, holder="", since=self._now()))

    def mark_lost(self, listener: Listener, reason: str) -> None:
        """Mark a listener whose events are lost; its client gets the reason with its next call."""
        lost = replace(listener, holder="", since=self._now(), state="lost", why=reason)
        if self.table.change(listener, lost):
            self._remove_queue(listener)

    def remove(self, listener: Listener) -> None:
        """Remove a listener and its queue, unless another process has taken it over."""
        removed = replace(listener, state="removed")
        if listener.state != "removed" and not self.table.change(listener, removed):
            return
        self._remove_queue(listener)
        self.table.change(removed, None)

    def forget(self, bucket: str) -> None:
        """Remove the listeners of a bucket that is gone, whoever serves them; their calls end."""
        for listener in self.table.read().listeners:
            if listener.requested.bucket == bucket:
                self.remove(listener)

    def sweep(self) -> int:
        """Remove expired listeners; return the number of the others, with lost ones."""
        snapshot, now = self.table.read(), self._now()
        expired = [
            listener for listener in snapshot.listeners if _is_expired(listener, snapshot, now)
        ]
        for listener in expired:
            self.remove(listener)
        for holder, until in snapshot.leases.items():
            if until + KEEP_SECONDS * 1_000 < now and holder != self.holder:
                self.table.remove_lease(holder)
        return len(snapshot.listeners) - len(expired)

    def twins(self, listener: Listener) -> int:
        """Return how many more listeners have calls that cannot be told from those for this one."""
        active = self.table.read().active(self._now())
        return sum(_is_for(each, listener.requested, listener.client) for each in active) - 1

    def _take_over(
        self, requested: ListenFilter, client: str, snapshot: Snapshot, *, waits: bool
    ) -> Listener | None:
        # Of clients alike, those that come back at once do so in the order in which they left; for
        # others the one left first has all that theirs had.
        recent = self._now() - _AT_ONCE_MILLISECONDS
        by_turn = sorted(snapshot.listeners, key=lambda each: (each.since < recent, each.since))
        for listener in by_turn:
            if not _is_for(listener, requested, client):
                continue
            if listener.state == "lost":
                if self.table.change(listener, None):
                    raise EventsLostError(listener.why)
                continue
            if snapshot.expiry(listener) <= self._now():
                continue
            if self._is_free(listener, snapshot, waits=waits):
                taken_over = replace(listener, holder=self.holder, since=self._now())
                if self.table.change(listener, taken_over):
                    return taken_over
        return None

    def _is_free(self, listener: Listener, snapshot: Snapshot, *, waits: bool) -> bool:
        """Return True if no process serves the listener; wait, since a lease may outlive it.

        The lease of a call on Lambda is longer, and not waited for.
        """
        if snapshot.is_free(listener, self._now()):
            return True
        lease = snapshot.leases.get(listener.holder, 0)
        is_long = lease > self._now() + LEASE_SECONDS * 1_000
        if listener.holder == self.holder or is_long or not waits:
            return False
        while lease >= self._now():
            self.sleep(_LEASE_CHECK_SECONDS)
            current = self.table.read()
            if listener not in current.listeners:  # it was released: the caller reads it again
                return False
            if current.leases.get(listener.holder) != lease:
                return False
        return True

    def _create(self, requested: ListenFilter, client: str, snapshot: Snapshot) -> Listener | None:
        id_ = secrets.token_hex(8)
        listener = Listener(
            id=id_,
            requested=requested,
            queue=queue_prefix(self.stack) + id_,
            since=self._now(),
            holder=self.holder,
            client=client,
        )
        limit_error = snapshot.limit_error(listener, self.per_user, self._now())
        if limit_error:
            raise TooManyListenersError(limit_error)
        if not self.table.add(listener, snapshot.version):
            return None
        try:
            self._create_queue(listener)
        except Exception:
            self.remove(listener)
            raise
        return listener

    def _create_queue(self, listener: Listener) -> None:
        make_queue(
            listener.queue,
            self.sqs,
            self.kms_key(),
            MessageRetentionPeriod=str(RETENTION_SECONDS),
            VisibilityTimeout=str(VISIBILITY_SECONDS),
        )

    def _remove_queue(self, listener: Listener) -> None:
        remove_queue(self.url(listener), self.sqs)

    def _now(self) -> int:
        return round(self.clock() * 1_000)


def _is_for(listener: Listener, requested: ListenFilter, client: str) -> bool:
    return listener.client == client and listener.requested.digest == requested.digest


def _is_expired(listener: Listener, snapshot: Snapshot, now: int) -> bool:
    if listener.state == "lost":
        return listener.since + KEEP_LOST_SECONDS * 1_000 < now
    return snapshot.expiry(listener) <= now


def _mark(listener: Listener) -> str:
    return f"{listener.state} {listener.holder} {listener.since}"
