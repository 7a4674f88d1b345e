"""SQS: batch sends, visibility and depth.

Limits of the SQS API: 10 entries and 1 MiB a batch, attributes included. A batch call answers 200
even if single entries failed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.delivery.policy import ATTRIBUTE, History, batches, keeps_order
from bucketcast.delivery.queue_names import encryption, order
from bucketcast.limits import MESSAGE_BYTES, SQS_CALL_MESSAGES
from bucketcast.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

GROUP: Final = "events"
"""The one group of a FIFO queue: all of a target's events are in order."""
SQS_ERRORS: Final = (BotoCoreError, ClientError)
NO_QUEUE: Final = ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")
"""SQS's codes for a queue that does not exist."""
COUNTS: "Final[tuple[QueueAttributeNameType, ...]]" = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
"""The attributes of a queue that count its messages: approximately."""
# Python takes ten times as long to compile the set of legal ones.
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


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
    def legal_attributes(self) -> Mapping[str, str]:
        """Its message attributes, as SQS takes them."""
        texts = {ATTRIBUTE: self.history.json, **self.attributes}
        return {name: legal_text(text) for name, text in texts.items() if text}

    @property
    def size(self) -> int:
        attributes = self.legal_attributes.items()
        extra = sum(len(name) + len("String") + len(text.encode()) for name, text in attributes)
        return len(self.body.encode()) + extra


class _Refusal(NamedTuple):
    """The reason why SQS did not take an entry; `final`: it will never take it."""

    reason: str
    final: bool


class Depth(NamedTuple):
    """The messages of a queue: those that can be received, those in flight, and delayed ones."""

    visible: int
    in_flight: int
    delayed: int

    @classmethod
    def of(cls, attributes: Mapping[Any, str]) -> Self:
        """Return what the attributes `COUNTS` of a queue say."""
        return cls(*(int(attributes.get(name, 0)) for name in COUNTS))

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
        sent_some = False
        for indexes in batches(sizes):
            try:
                refused = self._send_twice(messages, indexes)
            except SQS_ERRORS as error:
                if not sent_some:
                    raise
                # If it raised here, the caller would send again what SQS took before.
                refused = dict.fromkeys(indexes, _Refusal(str(error), final=False))
            sent_some = sent_some or len(refused) < len(indexes)
            failed |= {index: refusal.reason for index, refusal in refused.items()}
        return failed

    def try_send(self, messages: Sequence[Outgoing]) -> set[int]:
        """Send messages; return the indexes of those that SQS did not take, or did not answer."""
        try:
            return set(self.send(messages))
        except SQS_ERRORS as error:
            logger.error("SQS did not take messages", queue=self.url, reason=str(error))
            return set(range(len(messages)))

    def _send_twice(
        self, messages: Sequence[Outgoing], indexes: Sequence[int]
    ) -> dict[int, _Refusal]:
        refused = self._send(messages, indexes)
        retried = [index for index, refusal in refused.items() if not refusal.final]
        if retried:
            final = {index: refusal for index, refusal in refused.items() if refusal.final}
            try:
                refused = final | self._send(messages, retried)
            except SQS_ERRORS:
                if len(refused) == len(indexes):
                    raise
        return refused

    def _send(self, messages: Sequence[Outgoing], indexes: Sequence[int]) -> dict[int, _Refusal]:
        entries: list[Any] = [_entry(index, messages[index], fifo=self.fifo) for index in indexes]
        response = self._client.send_message_batch(QueueUrl=self.url, Entries=entries)
        return {
            int(entry["Id"]): _Refusal(
                f"{entry['Code']}: {entry.get('Message', '')}", final=entry["SenderFault"]
            )
            for entry in response.get("Failed", ())
        }

    @property
    def depth(self) -> Depth:
        """The number of its messages, as SQS counts them: approximately.

        Raises:
            BotoCoreError, ClientError: SQS did not answer, or the queue does not exist.
        """
        answer = self._client.get_queue_attributes(QueueUrl=self.url, AttributeNames=COUNTS)
        return Depth.of(answer["Attributes"])

    def postpone(self, seconds_by_receipt: Mapping[str, int]) -> None:
        """Set when messages in flight are visible again; a failure loses nothing."""
        pairs = list(seconds_by_receipt.items())
        for start in range(0, len(pairs), SQS_CALL_MESSAGES):
            self._client.change_message_visibility_batch(
                QueueUrl=self.url,
                Entries=[
                    {"Id": str(index), "ReceiptHandle": receipt, "VisibilityTimeout": seconds}
                    for index, (receipt, seconds) in enumerate(
                        pairs[start : start + SQS_CALL_MESSAGES]
                    )
                ],
            )


def together(queue: str, max_events: int) -> int:
    """Return the events that a message may hold: `max_events`, or one in a FIFO queue, by its URL.

    The next event goes only when the one before is done, and what is done is whole messages.
    """
    return 1 if keeps_order(queue) else max_events


def code_of(error: BotoCoreError | ClientError) -> str:
    """Return AWS's code of an error, "" if it did not answer."""
    return str(error.response["Error"].get("Code", "")) if isinstance(error, ClientError) else ""


def legal_text(text: str) -> str:
    """Return the text with `?` for characters that SQS refuses: it allows those of XML 1.0."""
    return _ILLEGAL.sub("?", text)


def escaped(json_text: str) -> str:
    """Return equivalent JSON, with characters that SQS refuses as escapes."""
    return _ILLEGAL.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)


def _entry(index: int, message: Outgoing, *, fifo: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {"Id": str(index), "MessageBody": message.body}
    if message.delay and not fifo:
        entry["DelaySeconds"] = message.delay
    if fifo:
        entry["MessageGroupId"] = message.group
        entry["MessageDeduplicationId"] = message.token or uuid4().hex
    if attributes := message.legal_attributes:
        entry["MessageAttributes"] = {
            name: {"DataType": "String", "StringValue": text} for name, text in attributes.items()
        }
    return entry


def make_queue(name: str, client: "SQSClient", key: str, **attributes: str) -> None:
    """Make a queue like those of a deploy: over TLS only, encrypted as `encryption` says."""
    deny_plain_http = {
        "Effect": "Deny",
        "Principal": {"AWS": "*"},
        "Action": "sqs:*",
        "Resource": "*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": [deny_plain_http]})
    attributes |= {"Policy": policy, "MaximumMessageSize": str(MESSAGE_BYTES)}
    all_: Any = {**encryption(key), **order(name), **attributes}
    client.create_queue(QueueName=name, Attributes=all_)


def remove_queue(url: str, client: "SQSClient") -> None:
    """Remove a queue, if it exists."""
    try:
        client.delete_queue(QueueUrl=url)
    except ClientError as error:
        if code_of(error) not in NO_QUEUE:
            raise
