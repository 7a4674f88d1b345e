"""The backlog of a persistent topic: its size, and its events.

SQS hides a message while somebody has received it, and counts that as a try. So only messages that
are not in flight are read, and they are made visible again at once.
"""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bucketcast.aws.counters import Counters
from bucketcast.delivery.envelope import Delivery, seal
from bucketcast.queues import BATCH
from bucketcast.queues.depth import depth

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

HIDDEN_SECONDS: Final = 60
_FRUITLESS: Final = 3


class Content(NamedTuple):
    """A queue's content: events, the bytes of their messages, and messages."""

    events: int
    size: int
    messages: int


def content(queue: str, sqs: "SQSClient", counters: Counters) -> Content:
    """Return a queue's content, with messages in flight and delayed.

    SQS counts messages. Counters have their events, a little off after a killed function: so an
    empty queue has no events, and others at least one per message.
    """
    messages = depth(queue, sqs).all
    if not messages:
        return Content(0, 0, 0)
    queued = counters.queued(queue.rpartition("/")[2])
    return Content(max(queued.queued_events, messages), max(queued.queued_bytes, 0), messages)


def waiting(queue: str, sqs: "SQSClient") -> Generator[Delivery]:
    """Yield the events of visible messages, one call's messages at a time.

    All messages are released in the end, also if the caller stops early. Unreadable ones are left
    out.
    """
    receipts: list[str] = []
    seen: set[str] = set()
    try:
        for messages in _received(queue, sqs):
            receipts += [each["ReceiptHandle"] for each in messages]
            for each in messages:
                if each["MessageId"] not in seen:  # a long read sees its first ones again
                    seen.add(each["MessageId"])
                    yield from _opened(each["Body"])
    finally:
        _give_back(queue, sqs, receipts)


def _received(queue: str, sqs: "SQSClient") -> Iterator[list[Any]]:
    """Yield messages per call, for some seconds; SQS may return none while there are some."""
    fruitless = 0
    while fruitless < _FRUITLESS:
        answer = sqs.receive_message(
            QueueUrl=queue, MaxNumberOfMessages=BATCH, VisibilityTimeout=HIDDEN_SECONDS
        )
        messages = answer.get("Messages", [])
        fruitless = 0 if messages else fruitless + 1
        yield messages


def _give_back(queue: str, sqs: "SQSClient", receipts: list[str]) -> None:
    for start in range(0, len(receipts), BATCH):
        entries: Any = [
            {"Id": str(index), "ReceiptHandle": receipt, "VisibilityTimeout": 0}
            for index, receipt in enumerate(receipts[start : start + BATCH])
        ]
        sqs.change_message_visibility_batch(QueueUrl=queue, Entries=entries)


def _opened(body: str) -> list[Delivery]:
    try:
        return seal(body).open()
    except ValueError:
        return []
