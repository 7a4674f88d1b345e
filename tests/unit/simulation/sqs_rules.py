"""What SQS refuses of a batch, and of one entry in it, with its codes.

A batch that breaks a rule of batches is refused as a whole; an entry that breaks one of messages
fails alone, in an answer of 200.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

MAX_ENTRIES = 10
MAX_BYTES = 1_048_576
MAX_DELAY = 900
MAX_VISIBILITY = 12 * 3_600
MAX_ATTRIBUTES = 10
_LEGAL = re.compile("[\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*")
_PRINTABLE = bytes(range(0x20, 0x7F))
_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")
_GROUP = re.compile(r"[A-Za-z0-9!-/:-@\[-`{-~]{1,128}")
"""Of a message group and of a deduplication id: letters, digits and ASCII's punctuation."""
_ATTRIBUTE = re.compile(r"(?!(?i:aws|amazon)\.)(?!\.)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_TYPE = re.compile(r"(String|Number|Binary)(\..+)?")
_SERVICE = "AWS.SimpleQueueService."
Entry = Mapping[str, Any]
Refusal = tuple[str, str]


def of_batch(entries: Sequence[Entry]) -> Refusal | None:
    """Why the whole call is refused: SQS's code and words."""
    ids = [entry["Id"] for entry in entries]
    if not ids:
        return f"{_SERVICE}EmptyBatchRequest", "there should be at least one entry"
    if len(ids) > MAX_ENTRIES:
        return f"{_SERVICE}TooManyEntriesInBatchRequest", f"{len(ids)} entries"
    if not all(map(_ID.fullmatch, ids)):
        return f"{_SERVICE}InvalidBatchEntryId", "letters, digits, - and _; 80 at most"
    if len(set(ids)) < len(ids):
        return f"{_SERVICE}BatchEntryIdsNotDistinct", "an id is repeated"
    length = sum(map(size, entries))
    if length > MAX_BYTES:
        return f"{_SERVICE}BatchRequestTooLong", f"{length} bytes"
    return None


def of_message(entry: Entry, *, fifo: bool) -> Refusal | None:
    """Why one message of a batch is refused."""
    body = entry["MessageBody"]
    if not body:
        return "MissingParameter", "the request must contain the parameter MessageBody"
    if not _is_legal(body):
        return "InvalidMessageContents", "a character outside the allowed set"
    return _of_delay(entry, fifo=fifo) or _of_group(entry, fifo=fifo) or _of_attributes(entry)


def size(entry: Entry) -> int:
    """The bytes that SQS counts and bills; an entry without a body has none."""
    attributes = entry.get("MessageAttributes", {})
    extra = sum(
        len(name) + len(value["DataType"]) + len(_value(value))
        for name, value in attributes.items()
    )
    return len(entry.get("MessageBody", "").encode()) + extra


def _of_delay(entry: Entry, *, fifo: bool) -> Refusal | None:
    delay = entry.get("DelaySeconds", 0)
    if not 0 <= delay <= MAX_DELAY:
        return "InvalidParameterValue", f"DelaySeconds {delay}: from 0 to {MAX_DELAY}"
    if fifo and delay:
        return "InvalidParameterValue", "DelaySeconds is not valid for this queue type"
    return None


def _of_group(entry: Entry, *, fifo: bool) -> Refusal | None:
    group, token = entry.get("MessageGroupId"), entry.get("MessageDeduplicationId")
    if fifo and group is None:
        return "MissingParameter", "the request must contain the parameter MessageGroupId"
    if fifo and token is None:
        return "InvalidParameterValue", "MessageDeduplicationId must be provided explicitly"
    if not fifo and token is not None:
        return "InvalidParameterValue", "MessageDeduplicationId is not valid for this queue type"
    for name, value in (("MessageGroupId", group), ("MessageDeduplicationId", token)):
        if value is not None and not _GROUP.fullmatch(value):
            return "InvalidParameterValue", f"{name}: 1 to 128 letters, digits and punctuation"
    return None


def _of_attributes(entry: Entry) -> Refusal | None:
    attributes = entry.get("MessageAttributes", {})
    if len(attributes) > MAX_ATTRIBUTES:
        return "InvalidParameterValue", f"{len(attributes)} attributes; {MAX_ATTRIBUTES} at most"
    for name, value in attributes.items():
        if len(name) > 256 or not _ATTRIBUTE.fullmatch(name):
            return "InvalidParameterValue", f"attribute {name!r} has a name that is not allowed"
        if not _TYPE.fullmatch(value["DataType"]):
            return "InvalidParameterValue", f"attribute {name!r} has a type that is not allowed"
        if not _value(value):
            return "InvalidParameterValue", f"attribute {name!r} must contain a non-empty value"
        if not _is_legal(value.get("StringValue", "")):
            return "InvalidParameterValue", f"attribute {name!r} has a character that is refused"
    return None


def _is_legal(text: str) -> bool:
    """Whether SQS takes all of its characters; what is quick is to look for those of most texts."""
    return not text.encode().translate(None, _PRINTABLE) or bool(_LEGAL.fullmatch(text))


def _value(value: Mapping[str, Any]) -> bytes:
    return bytes(value.get("BinaryValue", b"")) or value.get("StringValue", "").encode()
