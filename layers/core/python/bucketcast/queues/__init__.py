"""SQS: names, sending in batches, burying with a reason, and pushing a retry out.

Limits from the SQS API: 10 entries and 1 MiB a batch, attributes included; a batch call answers
200 even where single entries failed.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.envelope import MAX_BYTES, zstd

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
    """The name of a target's function, and of its queues without their suffixes."""
    return f"{stack}-{kind}-{id}"


def queue_names(name: str, *, fifo: bool) -> tuple[str, str]:
    """The names of a queue and of its dead-letter queue."""
    suffix = ".fifo" if fifo else ""
    return f"{name}{suffix}", f"{name}-dead{suffix}"


def queue_name(stack: str, kind: str, id: str, *, dead: bool = False, fifo: bool = False) -> str:  # noqa: A002
    """The name of a target's queue, or of its dead-letter queue."""
    return queue_names(target_name(stack, kind, id), fifo=fifo)[dead]


def visibility(timeout: int, *, window: int = 0, fifo: bool = False) -> int:
    """Seconds after which a message is seen again of which a function never began to work.

    `timeout` is how long the function may run, `window` for how long messages are gathered before.
    What it began with is in flight for less (`queues.renewal`), so this is for what ended before:
    Lambda takes no less than `timeout`, and 30 seconds are for calls that are throttled. In a FIFO
    queue they have Lambda's own advice, six times as long: later ones must not overtake them.
    """
    return window + (6 * timeout if fifo else timeout + 30)


class Queue:
    """One queue by its URL."""

    def __init__(self, url: str, client: "SQSClient") -> None:
        self.url = url
        self._client = client

    def send(self, messages: Sequence[Outgoing]) -> dict[int, str]:
        """Send all; what SQS did not take is answered by its place, with SQS's reason.

        An entry that fails by SQS's own fault is sent once more, its neighbours are not. One that
        is too large is not sent at all: SQS would refuse its neighbours with it.

        Raises:
            BotoCoreError, ClientError: SQS took nothing.
        """
        sizes = [message.size for message in messages]
        failed = {
            place: f"a message of {size} bytes; SQS takes {MAX_BYTES}"
            for place, size in enumerate(sizes)
            if size > MAX_BYTES
        }
        taken = False
        for places in _batches(sizes):
            try:
                refused = self._send_twice(messages, places)
            except (BotoCoreError, ClientError) as error:
                if not taken:
                    raise
                # Were all of them said to have failed, those before would be sent again.
                refused = dict.fromkeys(places, _Refusal(str(error), ours=False))
            taken = taken or len(refused) < len(places)
            failed |= {place: refusal.reason for place, refusal in refused.items()}
        return failed

    def _send_twice(
        self, messages: Sequence[Outgoing], places: Sequence[int]
    ) -> dict[int, _Refusal]:
        refused = self._send(messages, places)
        again = [place for place, refusal in refused.items() if not refusal.ours]
        if again:
            repeated = self._send(messages, again)
            refused = {p: r for p, r in refused.items() if r.ours} | repeated
        return refused

    def _send(self, messages: Sequence[Outgoing], places: Sequence[int]) -> dict[int, _Refusal]:
        entries: list[Any] = [_entry(place, messages[place]) for place in places]
        answer = self._client.send_message_batch(QueueUrl=self.url, Entries=entries)
        return {
            int(entry["Id"]): _Refusal(
                f"{entry['Code']}: {entry.get('Message', '')}", ours=entry["SenderFault"]
            )
            for entry in answer.get("Failed", ())
        }

    def postpone(self, seconds_by_receipt: Mapping[str, int]) -> None:
        """Set when messages in flight are seen again; it is a courtesy, so a failure is no loss."""
        pairs = list(seconds_by_receipt.items())
        for start in range(0, len(pairs), BATCH):
            self._client.change_message_visibility_batch(
                QueueUrl=self.url,
                Entries=[
                    {"Id": str(place), "ReceiptHandle": receipt, "VisibilityTimeout": seconds}
                    for place, (receipt, seconds) in enumerate(pairs[start : start + BATCH])
                ],
            )


def buried(body: str, reason: str, **about: str) -> Outgoing:
    """A message for a dead-letter queue: the original, with why it lies there as attributes.

    A body that leaves no room for the reason goes in compressed: `{"zstd": "base64 of it"}`. Where
    that has no room either, as with random text, its beginning goes in, and `cut` says so.
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
    """The text with `?` for what SQS does not take: it knows the characters of XML 1.0 only."""
    return _ILLEGAL.sub("?", text)


def escaped(json_text: str) -> str:
    """JSON that means the same, with what SQS does not take written as an escape."""
    return _ILLEGAL.sub(lambda found: f"\\u{ord(found[0]):04x}", json_text)


def _entry(place: int, message: Outgoing) -> dict[str, Any]:
    entry: dict[str, Any] = {"Id": str(place), "MessageBody": message.body}
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
    """The places that one call may hold together; those too large for any are left out."""
    batch: list[int] = []
    room = MAX_BYTES
    for place, size in enumerate(sizes):
        if size > MAX_BYTES:
            continue
        if batch and (len(batch) == BATCH or size > room):
            yield batch
            batch, room = [], MAX_BYTES
        batch.append(place)
        room -= size
    if batch:
        yield batch
