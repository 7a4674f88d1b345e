"""Dead letters: a body that could not be delivered, the reason, and what a redrive needs.

Every dead letter of ours is written here. Its history begins anew, without limits, so whatever
moves it back, SQS's own redrive too, gives its events a full term.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import uuid4

import msgspec

from bucketcast.delivery.compression import compress, decompress
from bucketcast.delivery.envelope import Delivery, TooLarge, pack
from bucketcast.delivery.policy import ATTRIBUTE, History
from bucketcast.delivery.queue import Outgoing, Queue, escaped
from bucketcast.limits import MESSAGE_BYTES, REASON_CHARACTERS

_wrapper = msgspec.json.Decoder(dict[str, str])


class Dead(NamedTuple):
    """A body for the dead-letter queue, the history of its message, and its last error.

    `answer` is that of the error, "" where there was none.
    """

    body: str
    history: History
    error: str
    reason: str
    rule: str = ""
    answer: str = ""


def of_event(
    delivery: Delivery, history: History, error: str, reason: str, answer: str = ""
) -> Dead:
    """Return one event as a dead letter: an envelope of it, or its record if it fits in none."""
    try:
        ((body, _, _),) = pack([delivery])
    except TooLarge:
        body = escaped(bytes(delivery.event.record).decode(errors="replace"))
    return Dead(body, history, error, reason, delivery.rule, answer)


def write(dead: Sequence[Dead], queue: Queue, target: str = "") -> set[int]:
    """Send dead letters to a queue; return the indexes of those that SQS did not take.

    `target` is an ARN, "" where each message's history tells it.
    """
    return queue.try_send([letter(entry, target or entry.history.to) for entry in dead])


def letter(dead: Dead, target: str = "") -> Outgoing:
    """Return the message of a dead letter.

    Its attribute `history` holds the tries so far, for people to read.
    """
    attributes = {
        "reason": dead.reason[:REASON_CHARACTERS] or "unknown",
        "error": dead.error,
        "rule": dead.rule,
        "target": target,
        "history": dead.history._replace(reason="", error="").json,
        "answer": dead.answer,
        ATTRIBUTE: dead.history.for_redrive().json,
    }
    return fit(dead.body, attributes)


def fit(body: str, attributes: Mapping[str, str]) -> Outgoing:
    """Return the message of a dead letter with these attributes.

    A body that leaves no room for them is compressed: `{"zstd": "base64 of it"}`. If that is too
    large too, as with random text, it is truncated, and `cut` says so.
    """
    # In a FIFO queue each is a group of its own: of one group SQS would show the first only, until
    # they are gone. And each has a token of its own: an event that was redriven and is dead again
    # within five minutes would be dropped.
    unique = uuid4().hex
    message = Outgoing(body, attributes=attributes, group=unique, token=unique)
    if message.size <= MESSAGE_BYTES:
        return message
    whole = body.encode()
    packed = b64encode(compress(whole)).decode("ascii")
    message = message._replace(body=json.dumps({"zstd": packed}))
    if message.size <= MESSAGE_BYTES:
        return message
    cut = {"cut": f"this is the beginning of {len(whole)} bytes"}
    message = message._replace(body="", attributes={**attributes, **cut})
    room = MESSAGE_BYTES - message.size
    return message._replace(body=whole[:room].decode(errors="ignore"))


def unwrap(body: str) -> str:
    """Return the body that `letter` compressed to make room; any other as it is.

    Raises:
        ValueError: the compressed text is broken.
    """
    if not body.startswith('{"zstd"'):
        return body
    try:
        fields = _wrapper.decode(body)
    except msgspec.MsgspecError:
        return body
    if fields.keys() != {"zstd"}:
        return body
    return decompress(b64decode(fields["zstd"])).decode()
