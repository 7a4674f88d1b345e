"""Read a dead-letter queue: each message once, without losing or hiding one for long.

SQS hides a message from other readers when it is received. Each is hidden for as long as reading
the queue may take, and made visible again at the end; messages of an interrupted command reappear
by themselves. Messages that another reader has received are not seen.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Self

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.delivery.queue import Queue
from bucketcast.dlq.letter import Letter
from bucketcast.limits import SQS_CALL_MESSAGES

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MAX_HIDDEN: Final = 100_000
"""SQS allows 120,000 messages of a queue in flight, with those of other readers."""
MIN_SECONDS: Final = 60
MAX_SECONDS: Final = 7_200
_PER_SECOND: Final = 250
"""Messages read in a second, at worst."""
_WAIT_SECONDS: Final = 1
_FRUITLESS: Final = 2
_THREADS: Final = 8


def seconds_for(messages: int, rate: float = _PER_SECOND) -> int:
    """Return the seconds for which to hide messages while so many are read."""
    return min(MAX_SECONDS, MIN_SECONDS + round(messages / max(1.0, min(rate, _PER_SECOND))))


class Reader:
    """The messages of a queue that can be read now, each once.

    A context manager: at its end, messages that are not forgotten are made visible again. The ids
    that it keeps take 16 bytes per message. `expected` is the approximate number of messages,
    `batch_size` the number received at once.
    """

    def __init__(
        self,
        queue: str,
        sqs: "SQSClient",
        *,
        expected: int = 0,
        hide: int = MIN_SECONDS,
        batch_size: int = SQS_CALL_MESSAGES,
        threads: int = _THREADS,
    ) -> None:
        self.batch_size = batch_size
        self.full = False
        self._own = Queue(queue, sqs)
        self._sqs = sqs
        self._expected = expected
        self._hide = hide
        self._fifo = self._own.fifo
        # A group's next messages are delivered only when those before are deleted.
        self._threads = 1 if self._fifo else threads
        self._seen: set[bytes] = set()
        self._hidden: dict[bytes, str] = {}
        self._pool = ThreadPoolExecutor(threads)

    @property
    def seen(self) -> int:
        """The number of messages read."""
        return len(self._seen)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._make_visible(list(self._hidden.values()))
        finally:
            self._pool.shutdown()

    def batches(self) -> Iterator[list[Letter]]:
        """Yield messages that were not read before, up to `batch_size` at a time.

        It ends when no new message arrives, or when no more may be hidden; then `full` is set.
        """
        fruitless = repeated = 0
        while fruitless < _FRUITLESS:
            if len(self._hidden) + SQS_CALL_MESSAGES * self._threads > MAX_HIDDEN:
                self.full = True
                return
            answers = self._receive()
            new = [fresh for messages in answers if (fresh := self._select_new(messages))]
            yield from new
            if new:
                fruitless = repeated = 0
            elif any(answers):
                # Hidden messages reappear; a round with no new ones is the end.
                repeated += sum(map(len, answers))
                fruitless = _FRUITLESS * (repeated > len(self._hidden))
            else:
                done = self._expected and self.seen >= self._expected
                fruitless = _FRUITLESS if done else fruitless + 1

    def forget(self, letters: Sequence[Letter]) -> None:
        """Forget deleted messages, which need not be made visible again."""
        for letter in letters:
            self._hidden.pop(_digest(letter.id), None)

    def hide_longer(self, letters: Sequence[Letter], seconds: int) -> None:
        """Hide received messages for another so many seconds."""
        self._own.postpone({letter.receipt: seconds for letter in letters})

    def _receive(self) -> list[list[Any]]:
        calls: list[Callable[[], list[Any]]] = [self._receive_one] * self._threads
        if self._threads == 1:
            return [self._receive_one()]
        return list(self._pool.map(lambda call: call(), calls))

    def _receive_one(self) -> list[Any]:
        answer = self._sqs.receive_message(
            QueueUrl=self._own.url,
            MaxNumberOfMessages=min(self.batch_size, SQS_CALL_MESSAGES),
            VisibilityTimeout=self._hide,
            WaitTimeSeconds=_WAIT_SECONDS,
            MessageAttributeNames=["All"],
            MessageSystemAttributeNames=[
                "SentTimestamp",
                "ApproximateReceiveCount",
                "DeadLetterQueueSourceArn",
            ],
        )
        return list(answer.get("Messages", ()))

    def _select_new(self, messages: Sequence[Any]) -> list[Letter]:
        letters = []
        for message in messages:
            digest = _digest(message["MessageId"])
            self._hidden[digest] = message["ReceiptHandle"]  # only the last one is valid
            if digest not in self._seen:
                self._seen.add(digest)
                letters.append(letter(message))
        return letters

    def _make_visible(self, receipts: list[str]) -> None:
        """Make messages visible again; those that fail come back after their timeout."""
        parts = [
            receipts[at : at + SQS_CALL_MESSAGES]
            for at in range(0, len(receipts), SQS_CALL_MESSAGES)
        ]
        with suppress(BotoCoreError, ClientError):
            list(self._pool.map(lambda part: self._own.postpone(dict.fromkeys(part, 0)), parts))


def letter(message: Any) -> Letter:
    """Return the letter of a received message."""
    system = message.get("Attributes", {})
    attributes = message.get("MessageAttributes") or {}
    return Letter(
        message["MessageId"],
        message["ReceiptHandle"],
        message["Body"],
        int(system.get("SentTimestamp", 0)),
        int(system.get("ApproximateReceiveCount", 0)),
        {name: attribute.get("StringValue") or "" for name, attribute in attributes.items()},
        system.get("DeadLetterQueueSourceArn", ""),
    )


def _digest(id_: str) -> bytes:
    return blake2b(id_.encode(), digest_size=16).digest()
