"""SQS: queue names, batch sends, dead letters with a reason, and visibility.

Limits of the SQS API: 10 entries and 1 MiB a batch, attributes included. A batch call answers 200
even if single entries failed.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.delivery.envelope import MAX_BYTES, zstd

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

BATCH = 10
REASON_LENGTH = 1_000
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Outgoing(NamedTuple):
    """A message to send; `group` and `token` are for a FIFO queue only."""

    body: str
    delay: int = 0
    attributes: Mapping[str, str] | None = None
    group: str = ""
    token: str = ""

    @property
    def size(self) -> int:
        names = self.attributes or {}
        extra = sum(len(k) + len("String") + len(v.encode()) for k, v in names.items())
        return len(self.body.encode()) + extra


class _Refusal(NamedTuple):
    reason: str
    ours: bool


def target_name(stack: str, kind: str, id: str) -> str:  # noqa: A002 - MinIO's word
    """Return the name of a target's function and queues, without the suffixes."""
    return f"{stack}-{kind}-{id}"


def queue_names(name: str, *, fifo: bool) -> tuple[str, str]:
    """Return the names of a queue and of its dead-letter queue."""
    suffix = ".fifo" if fifo else ""
    return f"{name}{suffix}", f"{name}-dead{suffix}"


def queue_name(stack: str, kind: str, id: str, *, dead: bool = False, fifo: bool = False) -> str:  # noqa: A002
    """Return the name of a target's queue, or of its dead-letter queue."""
    return queue_names(target_name(stack, kind, id), fifo=fifo)[dead]


def encryption(key: str) -> dict[str, str]:
    """Return a queue's attributes for a customer's key by its ARN, or for SQS's own if it is ""."""
    return {"KmsMasterKeyId": key} if key else {"SqsManagedSseEnabled": "true"}


def visibility(timeout: int, *, window: int = 0, fifo: bool = False) -> int:
    """Return a queue's visibility timeout for messages that no function began to process.

    `timeout` is the function's, `window` the batching window. Messages in process are in flight for
    less (`queues.heartbeat`). Lambda requires at least `timeout`; 30 seconds are for throttled
    calls. A FIFO queue gets Lambda's own advice of six times as long: later messages must not
    overtake.
    """
    return window + (6 * timeout if fifo else timeout + 30)


class Queue:
    """One queue by its URL."""

    def __init__(self, url: str, client: "SQSClient") -> None:
        self.url = url
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
            index: f"a message of {size} bytes; SQS takes {MAX_BYTES}"
            for index, size in enumerate(sizes)
            if size > MAX_BYTES
        }
        taken = False
        for indexes in _batches(sizes):
            try:
                refused = self._send_twice(messages, indexes)
            except (BotoCoreError, ClientError) as error:
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
            repeated = self._send(messages, again)
            refused = {p: r for p, r in refused.items() if r.ours} | repeated
        return refused

    def _send(self, messages: Sequence[Outgoing], indexes: Sequence[int]) -> dict[int, _Refusal]:
        entries: list[Any] = [_entry(index, messages[index]) for index in indexes]
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
        for start in range(0, len(pairs), BATCH):
            self._client.change_message_visibility_batch(
                QueueUrl=self.url,
                Entries=[
                    {"Id": str(index), "ReceiptHandle": receipt, "VisibilityTimeout": seconds}
                    for index, (receipt, seconds) in enumerate(pairs[start : start + BATCH])
                ],
            )


def dead_letter(body: str, reason: str, **about: str) -> Outgoing:
    """Return a dead letter: the original body, with the reason in its attributes.

    A body that leaves no room for the reason is compressed: `{"zstd": "base64 of it"}`. If that is
    too large too, as with random text, it is truncated, and `cut` says so.
    """
    attributes = {"reason": legal_text(reason)[:REASON_LENGTH] or "unknown"}
    attributes |= {name: text for name, text in about.items() if text}
    message = Outgoing(body, attributes=attributes)
    if message.size <= MAX_BYTES:
        return message
    whole = body.encode()
    packed = b64encode(zstd.compress(whole)).decode("ascii")
    message = Outgoing(json.dumps({"zstd": packed}), attributes=attributes)
    if message.size <= MAX_BYTES:
        return message
    attributes["cut"] = f"this is the beginning of {len(whole)} bytes"
    room = MAX_BYTES - Outgoing("", attributes=attributes).size
    return Outgoing(whole[:room].decode(errors="ignore"), attributes=attributes)


def legal_text(text: str) -> str:
    """Return the text with `?` for characters that SQS refuses: it allows those of XML 1.0."""
    return _ILLEGAL.sub("?", text)


def escaped(json_text: str) -> str:
    """Return equivalent JSON, with characters that SQS refuses as escapes."""
    return _ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)


def _entry(index: int, message: Outgoing) -> dict[str, Any]:
    entry: dict[str, Any] = {"Id": str(index), "MessageBody": message.body}
    if message.delay:
        entry["DelaySeconds"] = message.delay
    if message.group:
        entry["MessageGroupId"] = message.group
        entry["MessageDeduplicationId"] = message.token
    if message.attributes:
        entry["MessageAttributes"] = {
            name: {"DataType": "String", "StringValue": text}
            for name, text in message.attributes.items()
        }
    return entry


def _batches(sizes: Sequence[int]) -> Iterator[list[int]]:
    """Yield the indexes for each call; messages that are too large for any are left out."""
    batch: list[int] = []
    room = MAX_BYTES
    for index, size in enumerate(sizes):
        if size > MAX_BYTES:
            continue
        if batch and (len(batch) == BATCH or size > room):
            yield batch
            batch, room = [], MAX_BYTES
        batch.append(index)
        room -= size
    if batch:
        yield batch
