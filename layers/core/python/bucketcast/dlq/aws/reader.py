"""Read the letters that are in a dead-letter queue when the reading begins: each once.

SQS hides a message from other readers when it is received. What was read stays hidden while the
reading goes on, or it would come again before the rest; at its end, after an error and when it is
interrupted it is made visible again. A reading that is killed cannot do that: so a message is
hidden for as long as the reading has taken so far (`hidden_seconds`), and anew before it would be
visible. What was sent after the beginning is left out: however much arrives, the reading ends. A
message that SQS moved does not say when it came: of these no more are read than were there.
Messages that another reader has received are not seen.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from hashlib import blake2b
from math import ceil
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from bucketcast.delivery.queue import SQS_ERRORS, Queue
from bucketcast.dlq.letter import MOVED_FROM, SENT, Letter
from bucketcast.limits import LONGEST_HIDDEN_SECONDS, SQS_CALL_MESSAGES

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

Given = TypeVar("Given")
Answer = TypeVar("Answer")
HIDDEN_SECONDS: Final = 10
_RENEWED_SECONDS: Final = 4
"""So long before it would be visible again a message is hidden anew."""
_HELD_A_SECOND: Final = 2 * SQS_CALL_MESSAGES
_PATIENCE_SECONDS: Final = 30
"""So long only messages that came before, or were sent later, are received before it gives up."""
_WAIT_SECONDS: Final = 1
_FRUITLESS: Final = 2
_AT_ONCE: Final = 80


class Reader:
    """The messages of a queue that were sent before it `began`, in Unix ms, each once.

    A context manager: at its end, messages that are not forgotten are made visible again. Of each
    it keeps the id and the receipt. `expected` is the approximate number of messages. With a limit
    of `seconds` it ends after these, or as soon as it has the expected number. At most `at_once`
    messages are received in a round. `later` is the number of those sent after it began, and
    `unread` the approximate number of those that it had not read when it `ended`.
    """

    def __init__(
        self,
        queue: str,
        sqs: "SQSClient",
        *,
        began: int,
        expected: int,
        seconds: float | None = None,
        at_once: int = _AT_ONCE,
    ) -> None:
        self._own = Queue(queue, sqs)
        self._sqs = sqs
        self._began = began
        self._expected = expected
        self._seconds = seconds
        self._batch_size = min(at_once, SQS_CALL_MESSAGES)
        # A group's next messages are delivered only when those before are deleted.
        self._threads = 1 if self._own.fifo else -(-at_once // SQS_CALL_MESSAGES)
        self._seen: set[bytes] = set()
        # Receipts and the times until which they hide their messages, the earliest first.
        self._held: dict[bytes, tuple[str, float]] = {}
        self._later: dict[bytes, tuple[str, float]] = {}
        self._started = time.monotonic()
        self.unread = 0
        self.ended = False
        self._pool = ThreadPoolExecutor(_AT_ONCE // SQS_CALL_MESSAGES)

    @property
    def seen(self) -> int:
        """The number of messages read."""
        return len(self._seen)

    @property
    def later(self) -> int:
        return len(self._later)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        now = time.monotonic()
        hidden = [*self._held.values(), *self._later.values()]
        try:
            self._hide((receipt for receipt, until in hidden if until > now), 0)
        finally:
            self._pool.shutdown()

    def batches(self) -> Iterator[list[Letter]]:
        """Yield messages that were not read before, as many as a call gives at a time.

        Without a limit it ends when it has the expected number, when nothing at all comes, or when
        nothing new has come for a while.
        """
        seconds = _PATIENCE_SECONDS if self._seconds is None else self._seconds
        ends_at = time.monotonic() + seconds
        fruitless = 0
        while fruitless < _FRUITLESS:
            known, received = self.seen, self._receive()
            for letters in [self._select(messages) for messages in received]:
                self._renew()
                if letters:
                    yield letters
            if self._seconds is None and self.seen > known:
                ends_at = time.monotonic() + seconds
            elif self.seen >= self._expected or time.monotonic() >= ends_at:
                break
            elif self._seconds is None:
                fruitless = 0 if any(received) else fruitless + 1
        if self.seen < self._expected:
            # The number is approximate, or others have removed some. A queue that gives nothing is
            # not empty where others hide messages, or as many are hidden as SQS allows.
            left = self._own.depth.all - len(self._held) - self.later
            self.unread = max(0, min(left, self._expected - self.seen))
        self.ended = True

    def forget(self, letters: Iterable[Letter]) -> None:
        """Forget deleted messages, which need not be made visible again."""
        for letter in letters:
            self._held.pop(_digest(letter.id), None)

    def _receive(self) -> Sequence[list[Any]]:
        seconds = hidden_seconds(time.monotonic() - self._started, len(self._held))
        return self._call(self._receive_one, [seconds] * self._threads)

    def _receive_one(self, seconds: int) -> list[Any]:
        until = time.monotonic() + seconds
        answer = self._sqs.receive_message(
            QueueUrl=self._own.url,
            MaxNumberOfMessages=self._batch_size,
            VisibilityTimeout=seconds,
            WaitTimeSeconds=_WAIT_SECONDS if self._seconds is None else 0,
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=[
                "SentTimestamp",
                "ApproximateReceiveCount",
                "DeadLetterQueueSourceArn",
            ],
        )
        messages = list(answer.get("Messages", ()))
        # At once: if the reading is interrupted now, nobody else knows what to make visible.
        for message in messages:
            digest = _digest(message["MessageId"])
            self._held.pop(digest, None)
            self._held[digest] = message["ReceiptHandle"], until  # only the last receipt is valid
        return messages

    def _select(self, messages: Iterable[Any]) -> list[Letter]:
        letters = []
        for message in messages:
            digest = _digest(message["MessageId"])
            if self._is_later(message, digest):
                if hidden := self._held.pop(digest, None):
                    self._later[digest] = hidden
            elif digest not in self._seen:
                self._seen.add(digest)
                letters.append(letter(message))
        return letters

    def _is_later(self, message: Any, digest: bytes) -> bool:
        """Return True if a message came after the beginning, as far as one can tell."""
        system = message["Attributes"]
        if int(system["SentTimestamp"]) >= self._began:
            return True
        full = self.seen >= self._expected and digest not in self._seen
        return full and "DeadLetterQueueSourceArn" in system

    def _renew(self) -> None:
        """Hide what would soon be visible again, but not what was sent later."""
        now, due = time.monotonic(), {}
        for digest, (receipt, until) in self._held.items():
            if until > now + _RENEWED_SECONDS:
                break
            due[digest] = receipt
        seconds = hidden_seconds(now - self._started, len(self._held))
        self._hide(due.values(), seconds)
        for digest, receipt in due.items():
            del self._held[digest]
            self._held[digest] = receipt, now + seconds

    def _hide(self, receipts: Iterable[str], seconds: int) -> None:
        """Hide messages for so long; those that fail are visible when they would have been."""
        given = list(receipts)
        starts = range(0, len(given), SQS_CALL_MESSAGES)

        def hide(start: int) -> None:
            part = given[start : start + SQS_CALL_MESSAGES]
            with suppress(*SQS_ERRORS):
                self._own.postpone(dict.fromkeys(part, seconds))

        self._call(hide, starts)

    def _call(
        self, function: Callable[[Given], Answer], given: Iterable[Given]
    ) -> Sequence[Answer]:
        """Call a function for each, some at a time; interrupted, wait for calls under way."""
        calls = [self._pool.submit(function, each) for each in given]
        try:
            return [call.result() for call in calls]
        finally:
            for call in calls:
                call.cancel()
            wait(calls)


def hidden_seconds(taken: float, held: int) -> int:
    """Return for how long a reading that has taken so many seconds hides a message.

    What it `held` it has to hide anew: so that takes no more calls than to read does, at whatever
    speed, and some two a second when it only waits. If it is killed, its messages are visible again
    after as long as it ran at the most, or `HIDDEN_SECONDS`.
    """
    seconds = min(ceil(taken), held // _HELD_A_SECOND, LONGEST_HIDDEN_SECONDS)
    return max(HIDDEN_SECONDS, seconds)


def letter(message: Any) -> Letter:
    """Return the letter of a received message; a rest has the time and the queue of the whole."""
    system = message["Attributes"]
    values = message.get("MessageAttributes") or {}
    attributes = {name: value.get("StringValue") or "" for name, value in values.items()}
    whole_sent = attributes.get(SENT, "")
    return Letter(
        message["MessageId"],
        message["ReceiptHandle"],
        message["Body"],
        int(whole_sent if whole_sent.isdecimal() else system["SentTimestamp"]),
        int(system.get("ApproximateReceiveCount", 0)),
        attributes,
        system.get("DeadLetterQueueSourceArn") or attributes.get(MOVED_FROM, ""),
    )


def _digest(id_: str) -> bytes:
    return blake2b(id_.encode(), digest_size=16).digest()
