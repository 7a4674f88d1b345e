"""SQS on a clock of our own: what boto3's client answers, and what Lambda receives.

It keeps what decides whether an event survives for weeks:

* a message is invisible while it is delayed (900 s at most) or in flight;
* it is counted whenever it is received, and moved to the dead-letter queue instead of being
  received once more than `maxReceiveCount` allows, with the time at which it was first sent;
* it is dropped 14 days after it was sent, without a word;
* nothing is received while as many are in flight as SQS allows;
* a FIFO queue gives a group's messages in order, none while one of them is in flight, and takes a
  token that it has seen within five minutes without keeping the message;
* a call with too few or too many entries, or too long ones, is refused, as are too long a delay
  and a FIFO queue's message without a group or a token; both are written down;
* what is redriven from a dead-letter queue is a new message with the old body and attributes.

It is there for its clock alone: whatever needs no weeks is tested elsewhere, with another SQS, and
by the rules for calls in `tests/e2e/request_rules.py`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partialmethod
from random import Random
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

from tests.unit.simulation.simulated_queue import (
    DAY,
    HOUR,
    MAX_RECEIVES,
    MINUTE,
    Kept,
    SimulatedQueue,
)

MAX_ENTRIES = 10
MAX_BYTES = 1_048_576
MAX_DELAY = 15 * MINUTE
MAX_VISIBILITY = 12 * HOUR
_ORDER = re.compile("[!-~]{1,128}")
"""Of a message group and of a token."""
DEDUPLICATION = 5 * MINUTE
BILLED_BYTES = 65_536
PAYLOAD_BYTES = 6 * 1_048_576
"""Of a call of Lambda: a batch is closed that has more."""
Record = dict[str, Any]
Entry = Mapping[str, Any]


class QueueDoesNotExistError(ClientError):
    """What boto3 makes of `AWS.SimpleQueueService.NonExistentQueue`."""


class SimulatedSqs:
    """What of boto3's client this project calls, and beside it what Lambda's poller does.

    `trouble` is asked before each call what is to go wrong. `refused` has what broke a rule,
    and `requests` what was asked for of which queue, as it is billed: by units of 64 KB. `wake` is
    told when a message of a queue can be received.
    """

    exceptions = SimpleNamespace(QueueDoesNotExist=QueueDoesNotExistError)

    def __init__(self, clock: Callable[[], float], random: Random) -> None:
        self._clock = clock
        self._random = random
        self.queues: dict[str, SimulatedQueue] = {}
        self.refused: list[str] = []
        self.requests: Counter[tuple[str, str]] = Counter()
        self.trouble: Callable[[str], Exception | None] = lambda _: None
        self.wake: Callable[[SimulatedQueue, float], None] = lambda *_: None

    def add(self, queue: SimulatedQueue) -> SimulatedQueue:
        self.queues[queue.name] = queue
        return queue

    # What boto3's client does

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: Any) -> Any:  # noqa: N803
        self.requests["GetQueueAttributes", QueueUrl] += 1
        counted = len(self._reached(QueueUrl, "GetQueueAttributes").messages)
        return {"Attributes": {AttributeNames[0]: str(counted)}}

    def renew(self, queue: SimulatedQueue, seconds: Mapping[str, int], at: float) -> None:
        """What the last of many calls comes to that keep messages in flight: it was made `at`."""
        if self.trouble("ChangeMessageVisibilityBatch"):
            return
        calls = -(-len(seconds) // MAX_ENTRIES)
        self.requests["ChangeMessageVisibilityBatch", queue.name] += calls
        for receipt, wait in seconds.items():
            one = queue.by_receipt(receipt)
            if one is not None:
                self._hide(queue, one, at + wait)

    def _batch(
        self,
        operation: str,
        act: "Callable[[SimulatedSqs, SimulatedQueue, Entry], str]",
        *,
        QueueUrl: str,  # noqa: N803 - boto3's name
        Entries: Sequence[Entry],  # noqa: N803 - boto3's name
    ) -> dict[str, Any]:
        """Do something with each entry: `act` returns why it is refused, "" if it is not."""
        error = self.trouble(operation)
        if error:
            raise error
        queue = self._reached(QueueUrl, operation)
        size = sum(map(_size, Entries))
        if not 0 < len(Entries) <= MAX_ENTRIES or size > MAX_BYTES:
            told = self._refused(operation, f"{len(Entries)} entries, {size} bytes")
            raise _error(operation, "AWS.SimpleQueueService.BatchRequestTooLong", told)
        self.requests[operation, QueueUrl] += 1 + size // BILLED_BYTES
        refusals = {entry["Id"]: act(self, queue, entry) for entry in Entries}
        failure = {"Code": "InvalidParameterValue", "SenderFault": True}
        failed = [
            {"Id": id_, "Message": reason, **failure} for id_, reason in refusals.items() if reason
        ]
        taken = [{"Id": id_} for id_, reason in refusals.items() if not reason]
        return {"Successful": taken} | ({"Failed": failed} if failed else {})

    def _reached(self, url: str, operation: str) -> SimulatedQueue:
        queue = self.queues.get(url)
        if queue is None:
            code = "AWS.SimpleQueueService.NonExistentQueue"
            raise QueueDoesNotExistError({"Error": {"Code": code, "Message": url}}, operation)
        if queue.refuses:
            raise _error(operation, queue.refuses, url)
        return queue

    def _refused(self, operation: str, reason: str) -> str:
        self.refused.append(f"{operation}: {reason}")
        return reason

    def _send(self, queue: SimulatedQueue, entry: Entry) -> str:
        now, delay = self._clock(), entry.get("DelaySeconds", 0)
        if not 0 <= delay <= (0 if queue.fifo else MAX_DELAY):
            return self._refused("SendMessageBatch", f"DelaySeconds {delay}")
        if queue.fifo:
            token = entry.get("MessageDeduplicationId", "")
            if not all(map(_ORDER.fullmatch, (entry.get("MessageGroupId", ""), token))):
                return self._refused("SendMessageBatch", "no group, no token, or a wrong one")
            if now - queue.tokens.get(token, -DEDUPLICATION) < DEDUPLICATION:
                return ""
            queue.tokens[token] = now
        made = Kept(
            entry["MessageBody"],
            entry.get("MessageAttributes", {}),
            now,
            now + delay,
            entry.get("MessageGroupId", ""),
        )
        queue.arrived.append(made)
        self._add(queue, made)
        return ""

    def _change(self, queue: SimulatedQueue, entry: Entry) -> str:
        seconds, now = entry["VisibilityTimeout"], self._clock()
        one = queue.by_receipt(entry["ReceiptHandle"])
        queue.in_flight(now)
        if not 0 <= seconds <= MAX_VISIBILITY:
            return self._refused("ChangeMessageVisibilityBatch", f"VisibilityTimeout {seconds}")
        if one is None or not one.in_flight:
            return "not in flight, or the receipt handle has expired"
        if now + seconds > one.received + MAX_VISIBILITY:
            return "12 hours after it was received are all"
        self._hide(queue, one, now + seconds)
        return ""

    def _delete(self, queue: SimulatedQueue, entry: Entry) -> str:
        """Delete by receipt; a message that was received again meanwhile stays, without a word."""
        one, now = queue.by_receipt(entry["ReceiptHandle"]), self._clock()
        queue.in_flight(now)
        if queue.fifo and one is not None and not one.in_flight:
            return "the receipt handle has expired"
        if one is not None:
            queue.remove(one)
            self.wake(queue, now)
        return ""

    send_message_batch = partialmethod(_batch, "SendMessageBatch", _send)
    change_message_visibility_batch = partialmethod(_batch, "ChangeMessageVisibilityBatch", _change)
    delete_message_batch = partialmethod(_batch, "DeleteMessageBatch", _delete)

    # What Lambda's poller does

    def receive(self, queue: SimulatedQueue, most: int) -> list[Record]:
        """Up to `most` messages as Lambda hands them over."""
        if self.trouble("ReceiveMessage"):
            return []
        now = self._clock()
        self.expire(queue)
        found: list[Record] = []
        room = min(most, queue.in_flight_limit - queue.in_flight(now))
        payload = 0
        messages = queue.receivable(now, self._random)
        while len(found) < room and payload < PAYLOAD_BYTES:
            one = next(messages, None)
            if one is None:
                break
            if one.receives >= MAX_RECEIVES and queue.dead is not None:
                self._move(queue, one)
                continue
            one.receives += 1
            self._hide(queue, one, now + queue.visibility)
            payload += len(one.body)
            found.append(_record(one, queue.name))
        calls = -(-len(found) // MAX_ENTRIES)
        self.requests["ReceiveMessage", queue.name] += max(calls, -(-payload // BILLED_BYTES))
        return found

    def delete(self, queue: SimulatedQueue, records: Iterable[Record]) -> None:
        """What the poller does with what was processed."""
        receipts = [each["receiptHandle"] for each in records]
        for start in range(0, len(receipts), MAX_ENTRIES):
            part = receipts[start : start + MAX_ENTRIES]
            entries = [{"Id": str(n), "ReceiptHandle": each} for n, each in enumerate(part)]
            try:
                self.delete_message_batch(QueueUrl=queue.name, Entries=entries)
            except Exception:  # noqa: BLE001, S112 - they come again
                continue

    def expire(self, queue: SimulatedQueue) -> None:
        """Drop what is older than SQS keeps anything."""
        now = self._clock()
        for one in queue.expired(now):
            queue.remove(one)
            queue.dropped.append(one)

    def redrive(self, dead: SimulatedQueue, to: SimulatedQueue) -> None:
        """`start-message-move-task`: new messages, with a new time and the old attributes."""
        self.expire(dead)
        now = self._clock()
        for one in dead.messages:
            dead.remove(one)
            self._add(to, Kept(one.body, one.attributes, now, now, one.group))

    def check(self, queue: SimulatedQueue) -> None:
        """All that was sent to a queue was done with, or is dead with a reason of ours."""
        assert not queue.dropped, "SQS dropped events that were not dead-lettered"
        assert not queue.moved, "SQS itself moved events to the dead letters"
        assert not queue.messages, "events still wait"
        assert not self.refused, "SQS refused what breaks its rules"
        assert queue.dead
        for letter in queue.dead.arrived:
            assert letter.attributes["reason"]["StringValue"]
            assert letter.attributes["error"]["StringValue"]

    def _add(self, queue: SimulatedQueue, one: Kept) -> None:
        queue.add(one)
        self.wake(queue, one.seen)

    def _hide(self, queue: SimulatedQueue, one: Kept, until: float) -> None:
        queue.hide(one, until, self._clock())
        self.wake(queue, until)

    def _move(self, queue: SimulatedQueue, one: Kept) -> None:
        assert queue.dead is not None
        now = self._clock()
        queue.remove(one)
        queue.moved.append(one)
        sent = now if queue.fifo else one.sent
        self._add(queue.dead, Kept(one.body, one.attributes, sent, now, one.group))


def _error(operation: str, code: str, reason: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": reason}}, operation)


def _size(entry: Entry) -> int:
    """The bytes that SQS counts and bills; an entry without a body has none."""
    texts = [entry.get("MessageBody", "")]
    for name, value in entry.get("MessageAttributes", {}).items():
        texts += name, value["DataType"], value["StringValue"]
    return sum(len(text.encode()) for text in texts)


def _record(one: Kept, queue: str) -> Record:
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
        "eventSourceARN": f"arn:aws:sqs:eu-central-1:123456789012:{queue}",
        "receiptHandle": one.receipt,
        "body": one.body,
        "attributes": attributes,
        "messageAttributes": reported,
    }


__all__ = ["DAY", "HOUR", "MINUTE", "SimulatedQueue", "SimulatedSqs"]
