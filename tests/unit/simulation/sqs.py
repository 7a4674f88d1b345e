"""SQS on a clock of our own: what boto3's client answers, and what Lambda receives.

It keeps what decides whether an event survives for weeks:

* a message is invisible while it is delayed (900 s at most) or in flight;
* it is counted whenever it is received, and moved to the dead-letter queue instead of being
  received once more than `maxReceiveCount` allows, with the time at which it was first sent;
* it is dropped 14 days after it was sent, without a word;
* no more than so many may be in flight at once;
* a FIFO queue gives a group's messages in order, none while one of them is in flight, and takes a
  token that it has seen within five minutes without keeping the message;
* what is redriven from a dead-letter queue is a new message with the old body and attributes.

It is there for its clock alone: whatever needs no weeks is tested elsewhere, with another SQS.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

MINUTE, HOUR, DAY = 60, 3_600, 86_400
RETENTION = 14 * DAY
DEDUPLICATION = 5 * MINUTE
MAX_BYTES = 1_048_576
MAX_DELAY = 900
MAX_VISIBILITY = 12 * HOUR
MAX_RECEIVES = 1_000
_LEGAL = re.compile("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
Record = dict[str, Any]


class QueueDoesNotExistError(ClientError):
    """What boto3 makes of `AWS.SimpleQueueService.NonExistentQueue`."""


@dataclass
class Kept:
    """A message; times are seconds. Its `seen` is when it can be received (again)."""

    body: str
    attributes: Mapping[str, Any]
    sent: float
    seen: float
    id: str
    group: str = ""
    receives: int = 0
    in_flight: bool = False


@dataclass
class SimulatedQueue:
    """One queue.

    What SQS itself took out of it lies in `dropped` and `moved`, whatever was sent in `arrived`.
    """

    name: str
    visibility: float = 6 * MINUTE
    dead: "SimulatedQueue | None" = None
    max_receives: int = MAX_RECEIVES
    in_flight_limit: int = 120_000
    denied: bool = False
    broken: bool = False
    messages: list[Kept] = field(default_factory=list)
    dropped: list[Kept] = field(default_factory=list)
    moved: list[Kept] = field(default_factory=list)
    tokens: dict[str, float] = field(default_factory=dict)
    arrived: list[Kept] = field(default_factory=list)

    @property
    def fifo(self) -> bool:
        return self.name.endswith(".fifo")


class SimulatedSqs:
    """What of boto3's client this project calls, and beside it what Lambda's poller does."""

    exceptions = SimpleNamespace(QueueDoesNotExist=QueueDoesNotExistError)

    def __init__(self, clock: Callable[[], float], random: Random) -> None:
        self._clock = clock
        self._random = random
        self._numbers = count(1)
        self.queues: dict[str, SimulatedQueue] = {}

    def add(self, queue: SimulatedQueue) -> SimulatedQueue:
        self.queues[queue.name] = queue
        return queue

    # What boto3's client does

    def send_message_batch(
        self,
        *,
        QueueUrl: str,  # noqa: N803
        Entries: Sequence[Mapping[str, Any]],  # noqa: N803
    ) -> dict[str, Any]:
        queue = self._reached(QueueUrl, "SendMessageBatch")
        ids = [entry["Id"] for entry in Entries]
        assert 1 <= len(ids) <= 10, ids
        assert len(set(ids)) == len(ids), ids
        assert sum(map(_size, Entries)) <= MAX_BYTES
        for entry in Entries:
            self._keep(queue, entry)
        return {"Successful": [{"Id": each} for each in ids]}

    def change_message_visibility_batch(
        self,
        *,
        QueueUrl: str,  # noqa: N803
        Entries: Sequence[Mapping[str, Any]],  # noqa: N803
    ) -> dict[str, Any]:
        queue = self._reached(QueueUrl, "ChangeMessageVisibilityBatch")
        now = self._clock()
        receipts = {f"{one.id}/{one.receives}": one for one in queue.messages}
        for entry in Entries:
            seconds = entry["VisibilityTimeout"]
            assert 0 <= seconds <= MAX_VISIBILITY, seconds
            found = receipts.get(entry["ReceiptHandle"])
            if found is not None and found.seen > now:
                found.seen = now + seconds
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}

    def renew(self, queue: SimulatedQueue, seconds: Mapping[str, int], at: float) -> None:
        """What the last of many calls comes to that keep messages in flight: it was made `at`."""
        for one in queue.messages:
            wait = seconds.get(f"{one.id}/{one.receives}")
            if wait is not None:
                one.seen, one.in_flight = at + wait, True

    def _reached(self, url: str, operation: str) -> SimulatedQueue:
        queue = self.queues.get(url)
        if queue is None:
            code = "AWS.SimpleQueueService.NonExistentQueue"
            raise QueueDoesNotExistError({"Error": {"Code": code, "Message": url}}, operation)
        if queue.denied:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": url}}, operation)
        if queue.broken:
            raise ClientError({"Error": {"Code": "InternalError", "Message": url}}, operation)
        return queue

    def _keep(self, queue: SimulatedQueue, entry: Mapping[str, Any]) -> None:
        now, delay = self._clock(), entry.get("DelaySeconds", 0)
        assert 0 <= delay <= MAX_DELAY, delay
        assert _LEGAL.fullmatch(entry["MessageBody"]), "a character that SQS refuses"
        assert entry["MessageBody"], "SQS refuses an empty body"
        group, token = entry.get("MessageGroupId", ""), entry.get("MessageDeduplicationId", "")
        assert queue.fifo == bool(group) == bool(token), (queue.name, group, token)
        assert not (queue.fifo and delay), "a FIFO queue delays no single message"
        if queue.fifo:
            if now - queue.tokens.get(token, -DEDUPLICATION) < DEDUPLICATION:
                return
            queue.tokens[token] = now
        attributes = entry.get("MessageAttributes", {})
        made = Kept(entry["MessageBody"], attributes, now, now + delay, self._name(), group)
        queue.messages.append(made)
        queue.arrived.append(made)

    def _name(self) -> str:
        return f"m{next(self._numbers)}"

    # What Lambda's poller does

    def next_seen(self, queue: SimulatedQueue) -> float | None:
        """When a message can be received, at the earliest; it may be one that is due already."""
        return min((one.seen for one in queue.messages), default=None)

    def receive(self, queue: SimulatedQueue, most: int) -> list[Record]:
        """Up to `most` messages as Lambda hands them over."""
        now = self._clock()
        self.expire(queue)
        for one in queue.messages:
            one.in_flight = one.in_flight and one.seen > now
        flying = sum(one.in_flight for one in queue.messages)
        found: list[Record] = []
        for one in self._due(queue, now):
            if one.receives >= queue.max_receives and queue.dead is not None:
                self._move(queue, one)
            elif len(found) < min(most, queue.in_flight_limit - flying):
                one.receives += 1
                one.seen, one.in_flight = now + queue.visibility, True
                found.append(_record(one))
        return found

    def _due(self, queue: SimulatedQueue, now: float) -> Iterator[Kept]:
        if queue.fifo:
            locked = {one.group for one in queue.messages if one.in_flight}
            yield from [one for one in queue.messages if one.group not in locked]
            return
        due = [one for one in queue.messages if one.seen <= now]
        self._random.shuffle(due)
        yield from due

    def _move(self, queue: SimulatedQueue, one: Kept) -> None:
        queue.messages.remove(one)
        queue.moved.append(one)
        assert queue.dead is not None
        sent = self._clock() if queue.fifo else one.sent
        moved = Kept(one.body, one.attributes, sent, self._clock(), self._name(), one.group)
        queue.dead.messages.append(moved)

    def delete(self, queue: SimulatedQueue, records: Sequence[Record]) -> None:
        """Delete by receipt: a message that was received again meanwhile stays."""
        gone = {each["receiptHandle"] for each in records}
        queue.messages = [one for one in queue.messages if f"{one.id}/{one.receives}" not in gone]

    def expire(self, queue: SimulatedQueue) -> None:
        """Drop what is older than SQS keeps anything."""
        limit = self._clock() - RETENTION
        if any(one.sent < limit for one in queue.messages):
            queue.dropped += [one for one in queue.messages if one.sent < limit]
            queue.messages = [one for one in queue.messages if one.sent >= limit]

    def redrive(self, dead: SimulatedQueue, to: SimulatedQueue) -> None:
        """`start-message-move-task`: new messages, with a new time and the old attributes."""
        self.expire(dead)
        now = self._clock()
        for one in dead.messages:
            to.messages.append(Kept(one.body, one.attributes, now, now, self._name(), one.group))
        dead.messages.clear()


def _size(entry: Mapping[str, Any]) -> int:
    attributes = entry.get("MessageAttributes", {})
    extra = sum(
        len(name) + len(value["DataType"]) + len(value["StringValue"].encode())
        for name, value in attributes.items()
    )
    return len(entry["MessageBody"].encode()) + extra


def _record(one: Kept) -> Record:
    attributes = {
        "SentTimestamp": str(round(one.sent * 1_000)),
        "ApproximateReceiveCount": str(one.receives),
    }
    if one.group:
        attributes["MessageGroupId"] = one.group
    reported = {
        name: {"dataType": value["DataType"], "stringValue": value["StringValue"]}
        for name, value in one.attributes.items()
    }
    return {
        "messageId": one.id,
        "receiptHandle": f"{one.id}/{one.receives}",
        "body": one.body,
        "attributes": attributes,
        "messageAttributes": reported,
    }
