"""What waits for a persistent topic: how much, and the events themselves.

SQS shows a message only by giving it away for a while, and counts that as a try. So a look takes
only what nobody is at work on just now, and gives it back at once.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bucketcast.envelope import Delivery, seal
from bucketcast.queues import BATCH

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

HIDDEN_SECONDS: Final = 60
_COUNTS: Final[tuple[Any, ...]] = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
_FRUITLESS: Final = 3


class Waiting(NamedTuple):
    """Messages of a queue: those that can be looked at, and those in flight or between two tries.

    Each may hold many events.
    """

    visible: int
    hidden: int


class Look(NamedTuple):
    """What was seen: events with when they came, and the bytes of their messages."""

    deliveries: list[Delivery]
    messages: int
    size: int


def count(queue: str, sqs: "SQSClient") -> Waiting:
    """What SQS says, which is about right."""
    answer = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=_COUNTS)
    visible, *hidden = (int(answer["Attributes"].get(name, 0)) for name in _COUNTS)
    return Waiting(visible, sum(hidden))


def look(queue: str, sqs: "SQSClient", enough: Callable[[int], bool]) -> Look:
    """Take messages until there are no more or `enough` of them, and give all of them back.

    Messages of which no event can be read count, but show none.
    """
    receipts: list[str] = []
    seen: dict[str, str] = {}
    try:
        for message in _received(queue, sqs):
            receipts.append(message["ReceiptHandle"])
            seen[message["MessageId"]] = message["Body"]
            if enough(len(seen)):
                break
    finally:
        _give_back(queue, sqs, receipts)
    deliveries = [one for body in seen.values() for one in _opened(body)]
    return Look(deliveries, len(seen), sum(len(body.encode()) for body in seen.values()))


def _received(queue: str, sqs: "SQSClient") -> Iterator[Any]:
    """Messages, each for some seconds; SQS may say that there is none while there is one."""
    fruitless = 0
    while fruitless < _FRUITLESS:
        answer = sqs.receive_message(
            QueueUrl=queue, MaxNumberOfMessages=BATCH, VisibilityTimeout=HIDDEN_SECONDS
        )
        messages = answer.get("Messages", [])
        fruitless = 0 if messages else fruitless + 1
        yield from messages


def _give_back(queue: str, sqs: "SQSClient", receipts: list[str]) -> None:
    for start in range(0, len(receipts), BATCH):
        entries: Any = [
            {"Id": str(place), "ReceiptHandle": receipt, "VisibilityTimeout": 0}
            for place, receipt in enumerate(receipts[start : start + BATCH])
        ]
        sqs.change_message_visibility_batch(QueueUrl=queue, Entries=entries)


def _opened(body: str) -> list[Delivery]:
    try:
        return seal(body).open()
    except ValueError:
        return []
