"""Listeners in the state table, and their queues.

A row names its queue before that is created, and is deleted after it: so no queue is orphaned.
Every change that ingest must see increments the partition's change number.
"""

import json
import secrets
import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec
from botocore.exceptions import ClientError
from msgspec.structs import replace

from bucketcast.delivery.queue_names import encryption
from bucketcast.listen.listener import (
    KEPT_SECONDS,
    LEASE_SECONDS,
    LOST_SECONDS,
    PARTITION,
    RETENTION_SECONDS,
    EventsLostError,
    Listener,
    ListenFilter,
    Seen,
    TooManyListenersError,
    queue_prefix,
)
from bucketcast.state.lease import Lease
from bucketcast.state.table import SORT_KEY, Part, Partition, refusals

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_sqs import SQSClient

VERSION: Final = "#version"
VISIBILITY_SECONDS: Final = 30
_LISTENER: Final = "listener#"
_LEASE: Final = "lease#"
_TRIES: Final = 60
_PAUSE_SECONDS: Final = 0.05
_ASKED_AGAIN_SECONDS: Final = 0.5
_NO_QUEUE: Final = ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")
_listener = msgspec.json.Decoder(Listener)


class Table:
    """The rows; all reads are consistent."""

    def __init__(self, name: str, client: "DynamoDBClient") -> None:
        self._items = Partition(name, PARTITION, client)

    def seen(self) -> Seen:
        """Return all listeners and leases."""
        version, listeners, leases = 0, [], {}
        for item in self._items.items():
            row = item[SORT_KEY]["S"]
            if row == VERSION:
                version = int(item["version"]["N"])
            elif row.startswith(_LEASE):
                leases[item["holder"]["S"]] = int(item["leased_until"]["N"])
            elif row.startswith(_LISTENER):
                listeners.append(_listener.decode(item["text"]["S"]))
        return Seen(version, tuple(listeners), leases)

    def renew(self, holder: str, until: int) -> None:
        """Extend a process' lease until then (Unix ms)."""
        self._lease(holder).take(until)

    def forget(self, holder: str) -> None:
        """Delete a lease without listeners."""
        self._lease(holder).release()

    def _lease(self, holder: str) -> Lease:
        return Lease(self._items, _LEASE + holder, holder)

    def add(self, one: Listener, version: int) -> bool:
        """Add a listener if nothing changed since `version`; return whether it did."""
        unchanged = "version = :seen" if version else "attribute_not_exists(version)"
        seen = {":seen": {"N": str(version)}} if version else {}
        return self._written(self._put(one), self._count(seen, ConditionExpression=unchanged))

    def change(self, before: Listener, after: Listener | None) -> bool:
        """Replace `before` by `after` (None: nothing), and increment the change number.

        Return whether it did: another process may have changed the listener meanwhile.
        """
        condition: Any = {
            "ConditionExpression": "mark = :mark",
            "ExpressionAttributeValues": {":mark": {"S": _mark(before)}},
        }
        if after:
            changed = self._put(after, **condition)
        else:
            changed = self._items.delete_part(_LISTENER + before.id, **condition)
        for _ in range(_TRIES):
            if self._written(changed, self._count({})):
                return True
            if self._current(before.id) != _mark(before):
                return False
            time.sleep(_PAUSE_SECONDS)
        return False

    def _current(self, id_: str) -> str:
        return str(self._items.get(_LISTENER + id_).get("mark", {}).get("S", ""))

    def _written(self, *parts: Part) -> bool:
        try:
            self._items.transact(*parts)
        except self._items.client.exceptions.TransactionCanceledException as error:
            if refusals(error).isdisjoint(("TransactionConflict", "ConditionalCheckFailed")):
                raise
            return False
        return True

    def _count(self, values: dict[str, Any], **condition: Any) -> Part:
        return self._items.update_part(
            VERSION,
            UpdateExpression="ADD version :one",
            ExpressionAttributeValues={":one": {"N": "1"}, **values},
            **condition,
        )

    def _put(self, one: Listener, **condition: Any) -> Part:
        text = msgspec.json.encode(one).decode()
        row = {"text": {"S": text}, "mark": {"S": _mark(one)}}
        return self._items.put_part(_LISTENER + one.id, row, **condition)


@dataclass
class Listeners:
    """The listeners of a deployment, for one process that serves them.

    `prefix` returns the URL of every queue up to its name, `kms_key` the ARN of the key that
    encrypts queues, "" for SQS's own. `clock` returns seconds since 1970.
    """

    stack: str
    table: Table
    sqs: "SQSClient"
    prefix: Callable[[], str]
    _: KW_ONLY
    kms_key: Callable[[], str] = str
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    holder: str = field(default_factory=lambda: secrets.token_hex(8))
    leased_until: int = field(default=0, init=False)

    def url(self, one: Listener) -> str:
        """Return the URL of a listener's queue."""
        return f"{self.prefix()}/{one.queue}"

    def renew(self, seconds: float = LEASE_SECONDS) -> float:
        """Renew the process' lease; return for how many seconds it had expired.

        That happens if it was suspended, as on a machine that slept, or AWS did not answer.
        """
        until = self._now() + round(seconds * 1_000)
        self.table.renew(self.holder, until)
        before, self.leased_until = self.leased_until, until
        return max(0, self._now() - before) / 1_000 if before else 0.0

    def leased(self, lapse: float) -> frozenset[str]:
        """Return the ids of the listeners it still holds, after its lease had expired for so long.

        Another process may have taken some over; after a minute none got events any more.
        """
        if lapse > KEPT_SECONDS:
            return frozenset()
        its = (one for one in self.table.seen().listeners if one.holder == self.holder)
        return frozenset(one.id for one in its if one.state == "on")

    def take(self, requested: ListenFilter) -> Listener:
        """Take over the client's earlier listener, or create one; it is active on return.

        The process must hold its lease.

        Raises:
            TooManyListenersError: the user, or the deployment, has its maximum.
            EventsLostError: the client's earlier listener lost events.
        """
        for _ in range(_TRIES):
            seen = self.table.seen()
            found = self._taken_over(requested, seen)
            if found is None:
                found = self._made(requested, seen)
            if found is not None:
                return found
            self.sleep(_PAUSE_SECONDS)
        raise TooManyListenersError("too many listeners begin at the same moment: try again")

    def release(self, one: Listener) -> None:
        """Release a listener, for a client that may come back."""
        self.table.change(one, replace(one, holder="", since=self._now()))

    def lose(self, one: Listener, why: str) -> None:
        """Mark it as lost, since its client did not read; the client gets the reason later."""
        lost = replace(one, holder="", since=self._now(), state="lost", why=why)
        if self.table.change(one, lost):
            self._remove_queue(one)

    def remove(self, one: Listener) -> None:
        """Remove it and its queue, unless another process holds it by now."""
        gone = one if one.state == "removed" else replace(one, state="removed")
        if gone is not one and not self.table.change(one, gone):
            return
        self._remove_queue(one)
        self.table.change(gone, None)

    def sweep(self) -> int:
        """Remove expired listeners; return how many are left, with lost ones."""
        seen, now = self.table.seen(), self._now()
        over = [one for one in seen.listeners if self._is_over(one, seen, now)]
        for one in over:
            self.remove(one)
        for holder, until in seen.leases.items():
            if until + KEPT_SECONDS * 1_000 < now and holder != self.holder:
                self.table.forget(holder)
        return len(seen.listeners) - len(over)

    def _taken_over(self, requested: ListenFilter, seen: Seen) -> Listener | None:
        same = [one for one in seen.listeners if one.requested.digest == requested.digest]
        for one in same:
            if one.state == "lost":
                if self.table.change(one, None):
                    raise EventsLostError(one.why)
                continue
            if seen.ends(one) <= self._now() or one.state != "on":
                continue
            if self._is_free(one, seen):
                leased = replace(one, holder=self.holder, since=self._now())
                if self.table.change(one, leased):
                    return leased
        return None

    def _is_free(self, one: Listener, seen: Seen) -> bool:
        """Return whether nobody serves it; a lease may outlive its process."""
        if seen.is_free(one, self._now()):
            return True
        if one.holder == self.holder:
            return False
        while seen.leases.get(one.holder, 0) >= self._now():
            self.sleep(_ASKED_AGAIN_SECONDS)
            again = self.table.seen()
            if one not in again.listeners:  # it was released: the caller reads it again
                return False
            if again.leases.get(one.holder) != seen.leases.get(one.holder):
                return False
        return True

    def _made(self, requested: ListenFilter, seen: Seen) -> Listener | None:
        refusal = seen.refusal(requested.user, self._now())
        if refusal:
            raise TooManyListenersError(refusal)
        name = secrets.token_hex(8)
        one = Listener(
            id=name,
            requested=requested,
            queue=queue_prefix(self.stack) + name,
            since=self._now(),
            holder=self.holder,
        )
        if not self.table.add(one, seen.version):
            return None
        try:
            self._make_queue(one)
        except Exception:
            self.remove(one)
            raise
        return one

    def _is_over(self, one: Listener, seen: Seen, now: int) -> bool:
        if one.state == "lost":
            return one.since + LOST_SECONDS * 1_000 < now
        return seen.ends(one) <= now

    def _make_queue(self, one: Listener) -> None:
        attributes: Any = {
            "MessageRetentionPeriod": str(RETENTION_SECONDS),
            **encryption(self.kms_key()),
            "VisibilityTimeout": str(VISIBILITY_SECONDS),
            "Policy": json.dumps(_with_tls_only()),
        }
        self.sqs.create_queue(QueueName=one.queue, Attributes=attributes)

    def _remove_queue(self, one: Listener) -> None:
        try:
            self.sqs.delete_queue(QueueUrl=self.url(one))
        except ClientError as error:
            if error.response["Error"].get("Code", "") not in _NO_QUEUE:
                raise

    def _now(self) -> int:
        return round(self.clock() * 1_000)


def _with_tls_only() -> dict[str, Any]:
    refusal = {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "sqs:*",
        "Resource": "*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    return {"Version": "2012-10-17", "Statement": [refusal]}


def _mark(one: Listener) -> str:
    return f"{one.state} {one.holder} {one.since}"
