"""The targets' queues, from the side of ingest."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.arn import Arn
from bucketcast.envelope import MAX_EVENTS, Envelope, Packed, TooLarge, pack, unpack
from bucketcast.ingest import Outbox, Unsent
from bucketcast.listening import is_listener
from bucketcast.queues import Outgoing, Queue, buried, escaped
from bucketcast.queues.address import queue_url
from bucketcast.telemetry import logger
from bucketcast.topics.model import is_topic

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_NO_QUEUE = ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist", "AccessDenied")
"""How SQS refuses a queue that is not there: by its name, or because the role has no right to it.
Codes may go on, as `AccessDeniedException` does."""
_HEARD_EVENTS = 100
"""Events in a message for a listener: whoever streams them holds a few messages of each."""


class Fanout:
    """Sends outboxes; `prefix` is the URL of every target's queue up to its kind.

    `deployed` tells by an ARN whether there is such a target, whatever its queue says; `made` gives
    the name of the queue of one that was made at run time, `heard` that of a listener. An event
    that no message can hold is buried in `dead`, for each target that wants it.
    """

    def __init__(  # noqa: PLR0913 - what it takes to find every queue
        self,
        prefix: str,
        client: "SQSClient",
        dead: Queue,
        *,
        fifo: bool,
        deployed: Callable[[str], bool],
        made: Callable[[str], str | None] = lambda _: None,
        heard: Callable[[str], str | None] = lambda _: None,
    ) -> None:
        self._prefix = prefix
        self._client = client
        self._dead = dead
        self._fifo = fifo
        self._deployed = deployed
        self._made = made
        self._heard = heard
        self._skipped: Counter[str] = Counter()

    def send(self, arn: str, outbox: Outbox) -> list[Unsent]:
        """Send; the answer is what the target's queue did not take now.

        A rule may name a target that is not deployed any more; its events go nowhere, as in
        MinIO, and the log says so.
        """
        if not outbox.deliveries:
            return []
        where = self._place(arn)
        most = 1 if where.fifo else _HEARD_EVENTS if is_listener(arn) else MAX_EVENTS
        try:
            packed = list(_packed(arn, outbox, most))
        except TooLarge as error:
            return self._without(arn, outbox, error.place, error)
        except Exception as error:  # noqa: BLE001 - one event must not stop its neighbours
            logger.exception("an event cannot be packed", target=arn)
            if len(outbox.deliveries) > 1:
                return [*self.send(arn, outbox.part(0)), *self.send(arn, outbox.part(1))]
            return self._without(arn, outbox, 0, error)
        refused = self._send(where, [_message(where, outbox, one) for one in packed])
        return [
            Unsent(one.body, frozenset(outbox.origins[one.start : one.stop]), refused[place])
            for place, one in enumerate(packed)
            if place in refused
        ]

    def forward(self, arn: str, body: str) -> Unsent | None:
        """Send what an earlier `send` could not."""
        where = self._place(arn)
        if where.fifo:
            _, deliveries = unpack(body)
            left = self.send(arn, Outbox(deliveries, [""] * len(deliveries)))
            return Unsent(body, (), left[0].reason) if left else None
        refused = self._send(where, [Outgoing(body)])
        return Unsent(body, (), refused[0]) if refused else None

    def take_skipped(self) -> Mapping[str, int]:
        """How many events went nowhere since this was asked last, by the ARN that rules name."""
        skipped, self._skipped = self._skipped, Counter()
        return skipped

    def _send(self, where: "_Place", messages: Sequence[Outgoing]) -> dict[int, str]:
        """What SQS did not take, by its place; nothing where there is nobody to take it."""
        arn = where.arn
        refused: dict[int, str] | None = None
        try:
            if where.queue:
                refused = where.queue.send(messages)
            elif where.certain:
                refused = dict.fromkeys(range(len(messages)), "its queue is not known now")
        except ClientError as error:
            code = str(error.response["Error"].get("Code", ""))
            gone = code.startswith(_NO_QUEUE) and not where.certain
            refused = None if gone else dict.fromkeys(range(len(messages)), str(error))
        except BotoCoreError as error:
            refused = dict.fromkeys(range(len(messages)), str(error))
        if refused is None and is_listener(arn):
            return {}  # its client went away
        if refused is None:
            logger.warning("a rule names a target that is not deployed", target=arn)
            self._skipped[arn] += sum(_events(each.body) for each in messages)
            return {}
        for place, reason in refused.items():
            logger.error("SQS did not take a message", target=arn, reason=reason, place=place)
        return refused

    def _without(self, arn: str, outbox: Outbox, place: int, error: Exception) -> list[Unsent]:
        """Bury one event alone, and send the others."""
        logger.error("an event cannot be sent", target=arn, reason=str(error))
        record = escaped(bytes(outbox.deliveries[place].event.record).decode(errors="replace"))
        grave = buried(record, str(error), target=arn, error=type(error).__name__)
        try:
            taken = not self._dead.send([grave])
        except (BotoCoreError, ClientError) as refusal:
            logger.error("an event that cannot be sent stays", reason=str(refusal))
            taken = False
        left = self.send(arn, outbox.without(place))
        return left if taken else [*left, Unsent("", {outbox.origins[place]}, str(error))]

    def _place(self, arn: str) -> "_Place":
        listens = is_listener(arn)
        try:
            name = self._heard(arn) if listens else self._known(arn)
        except Exception:  # noqa: BLE001 - only this target waits for it
            logger.exception("run-time targets or listeners cannot be read", target=arn)
            return _Place(arn, None, fifo=self._fifo and not listens, certain=True)
        if listens and not name:
            return _Place(arn, None, fifo=False, certain=False)
        if name:
            queue = Queue(f"{self._prefix.rpartition('/')[0]}/{name}", self._client)
            return _Place(arn, queue, fifo=name.endswith(".fifo"), certain=True)
        try:
            url = queue_url(self._prefix, Arn.parse(arn), fifo=self._fifo)
        except ValueError:
            return _Place(arn, None, fifo=self._fifo, certain=False)
        return _Place(arn, Queue(url, self._client), fifo=self._fifo, certain=self._deployed(arn))

    def _known(self, arn: str) -> str | None:
        return None if self._deployed(arn) else self._made(arn)


class _Place(NamedTuple):
    """A target's queue, if that is known; `certain` is that there is such a target.

    The queue of one that was made at run time need not be what the others are.
    """

    arn: str
    queue: Queue | None
    fifo: bool
    certain: bool


def _packed(arn: str, outbox: Outbox, most: int) -> Iterator[Packed]:
    now = round(time.time() * 1000)
    topic = Envelope(now, topic=arn) if is_topic(arn) else None
    return pack(outbox.deliveries, now, history=topic, most=most)


def _message(where: _Place, outbox: Outbox, one: Packed) -> Outgoing:
    if not where.fifo:
        return Outgoing(one.body)
    token = outbox.deliveries[one.start].copy_id
    return Outgoing(one.body, group=where.arn, token=token)


def _events(body: str) -> int:
    """How many a message holds; one that is no envelope counts as one."""
    try:
        return len(unpack(body)[1])
    except ValueError:
        return 1
