"""SQS: batch sends, visibility and depth.

Limits of the SQS API: 10 entries and 1 MiB a batch, attributes included. A batch call answers 200
even if single entries failed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.delivery.policy import ATTRIBUTE, History, keeps_order
from bucketcast.limits import MESSAGE_BYTES, TOGETHER

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

GROUP: Final = "events"
"""The one group of a FIFO queue: all of a target's events are in order."""
SQS_ERRORS: Final = (BotoCoreError, ClientError)
COUNTS: "Final[tuple[QueueAttributeNameType, ...]]" = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
"""The attributes of a queue that count its messages: approximately."""
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Outgoing(NamedTuple):
    """A message to send.

    In a FIFO queue it is the next of its `group`, and one of a `token` that SQS has seen within
    five minutes is taken without being kept.
    """

    body: str
    delay: int = 0
    history: History = History()
    attributes: Mapping[str, str] = MappingProxyType({})
    group: str = GROUP
    token: str = ""

    @property
    def texts(self) -> Mapping[str, str]:
        """Its message attributes, as SQS takes them."""
        told = {ATTRIBUTE: self.history.text, **self.attributes}
        return {name: legal_text(text) for name, text in told.items() if text}

    @property
    def size(self) -> int:
        extra = sum(len(k) + len("String") + len(v.encode()) for k, v in self.texts.items())
        return len(self.body.encode()) + extra


class _Refusal(NamedTuple):
    reason: str
    ours: bool


class Depth(NamedTuple):
    """The messages of a queue: those that can be received, those in flight, and delayed ones."""

    visible: int
    in_flight: int
    delayed: int

    @property
    def all(self) -> int:
        return sum(self)


class Queue:
    """One queue by its URL."""

    def __init__(self, url: str, client: "SQSClient") -> None:
        self.url = url
        self.fifo = keeps_order(url)
        self._client = client

    def send(self, messages: Sequence[Outgoing]) -> dict[int, str]:
        """Send all messages; return SQS's reasons for those it did not take, by index.

        An entry that fails by SQS's own fault is sent once more, without the others. One that is
        too large is not sent at all: SQS would refuse the whole batch.

        Raises:
            BotoCoreError, ClientError: SQS took nothing.
        """
        sizes = [message.size for message in messages]
        failed = {
            index: f"a message of {size} bytes; SQS takes {MESSAGE_BYTES}"
            for index, size in enumerate(sizes)
            if size > MESSAGE_BYTES
        }
        taken = False
        for indexes in _batches(sizes):
            try:
                refused = self._send_twice(messages, indexes)
            except SQS_ERRORS as error:
                if not taken:
                    raise
                # Were all of them said to have failed, those before would be sent again.
                refused = dict.fromkeys(indexes, _Refusal(str(error), ours=False))
            taken = taken or len(refused) < len(indexes)
            failed |= {index: refusal.reason for index, refusal in refused.items()}
        return failed

    def _send_twice(
        self, messages: Sequence[Outgoing], indexes: Sequence[int]
    ) -> dict[int, _Refusal]:
        refused = self._send(messages, indexes)
        again = [index for index, refusal in refused.items() if not refusal.ours]
        if again:
            kept = {index: refusal for index, refusal in refused.items() if refusal.ours}
            try:
                refused = kept | self._send(messages, again)
            except SQS_ERRORS:
                if len(refused) == len(indexes):
                    raise
        return refused

    def _send(self, messages: Sequence[Outgoing], indexes: Sequence[int]) -> dict[int, _Refusal]:
        entries: list[Any] = [_entry(index, messages[index], fifo=self.fifo) for index in indexes]
        answer = self._client.send_message_batch(QueueUrl=self.url, Entries=entries)
        return {
            int(entry["Id"]): _Refusal(
                f"{entry['Code']}: {entry.get('Message', '')}", ours=entry["SenderFault"]
            )
            for entry in answer.get("Failed", ())
        }

    def postpone(self, seconds_by_receipt: Mapping[str, int]) -> None:
        """Set when messages in flight are visible again; a failure loses nothing."""
        pairs = list(seconds_by_receipt.items())
        for start in range(0, len(pairs), TOGETHER):
            self._client.change_message_visibility_batch(
                QueueUrl=self.url,
                Entries=[
                    {"Id": str(index), "ReceiptHandle": receipt, "VisibilityTimeout": seconds}
                    for index, (receipt, seconds) in enumerate(pairs[start : start + TOGETHER])
                ],
            )


def together(queue: str, most: int) -> int:
    """Return how many of `most` events a message may hold; in order it is one, by the queue's URL.

    The next event goes only when the one before is done, and what is done is whole messages.
    """
    return 1 if keeps_order(queue) else most


def depth(url: str, client: "SQSClient") -> Depth:
    """Return the number of messages in a queue, as SQS counts them: approximately.

    Raises:
        BotoCoreError, ClientError: SQS did not answer, or the queue does not exist.
    """
    attributes = client.get_queue_attributes(QueueUrl=url, AttributeNames=COUNTS)["Attributes"]
    return Depth(*(int(attributes.get(name, 0)) for name in COUNTS))


def code_of(error: BotoCoreError | ClientError) -> str:
    """Return the code by which SQS refused a call, "" if it did not answer."""
    return str(error.response["Error"].get("Code", "")) if isinstance(error, ClientError) else ""


def legal_text(text: str) -> str:
    """Return the text with `?` for characters that SQS refuses: it allows those of XML 1.0."""
    return _ILLEGAL.sub("?", text)


def escaped(json_text: str) -> str:
    """Return equivalent JSON, with characters that SQS refuses as escapes."""
    return _ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)


def _entry(index: int, message: Outgoing, *, fifo: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"Id": str(index), "MessageBody": message.body}
    if message.delay and not fifo:
        entry["DelaySeconds"] = message.delay
    if fifo:
        entry["MessageGroupId"] = message.group
        entry["MessageDeduplicationId"] = message.token or uuid4().hex
    if texts := message.texts:
        entry["MessageAttributes"] = {
            name: {"DataType": "String", "StringValue": text} for name, text in texts.items()
        }
    return entry


def _batches(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Yield the indexes for each call; messages that are too large for any are left out."""
    batch: list[int] = []
    room = MESSAGE_BYTES
    for index, size in enumerate(sizes):
        if size > MESSAGE_BYTES:
            continue
        if batch and (len(batch) == TOGETHER or size > room):
            yield batch
            batch, room = [], MESSAGE_BYTES
        batch.append(index)
        room -= size
    if batch:
        yield batch
