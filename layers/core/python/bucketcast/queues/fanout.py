"""The fan-out to the targets' queues."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.delivery import tracing
from bucketcast.delivery.envelope import MAX_EVENTS, Envelope, Packed, TooLarge, pack, unpack
from bucketcast.destination import Destination, ListenerArn, TargetArn, TopicArn
from bucketcast.event import Event
from bucketcast.ingest import TargetBatch, Unsent
from bucketcast.queues import Outgoing, Queue, dead_letter, escaped
from bucketcast.queues.address import queue_url
from bucketcast.telemetry import logger, trace

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_NO_QUEUE = ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist", "AccessDenied")
"""How SQS refuses a queue that is not there: by its name, or because the role has no right to it.
Codes may go on, as `AccessDeniedException` does."""
_HEARD_EVENTS = 100
"""Events in a message for a listener: whoever streams them holds a few messages of each."""


class Fanout:
    """Sends batches; `prefix` is the URL of every target's queue up to its kind.

    `deployed` returns whether the target of an ARN is deployed. `runtime_queue` returns the queue
    name of a run-time target, `listener_queue` that of a listener. `is_full` returns whether the
    queue of an ARN, of this URL, takes no more events. An event that fits in no message is sent to
    `dead`, for each target.
    """

    def __init__(  # noqa: PLR0913 - what it takes to find every queue
        self,
        prefix: str,
        client: "SQSClient",
        dead: Queue,
        *,
        fifo: bool,
        deployed: Callable[[str], bool],
        runtime_queue: Callable[[Destination], str | None] = lambda _: None,
        listener_queue: Callable[[ListenerArn], str | None] = lambda _: None,
        is_full: Callable[[str, str], bool] = lambda _arn, _url: False,
    ) -> None:
        self._prefix = prefix
        self._client = client
        self._dead = dead
        self._fifo = fifo
        self._deployed = deployed
        self._runtime_queue = runtime_queue
        self._listener_queue = listener_queue
        self._is_full = is_full
        self._discarded: dict[str, list[Event]] = {}
        self._skipped: Counter[str] = Counter()

    def send(self, arn: str, batch: TargetBatch) -> list[Unsent]:
        """Send a batch; return what the target's queue did not take.

        If a rule names a target that is not deployed any more, its events are dropped, as in MinIO,
        and logged with their trace ids. What is for a full queue is discarded, if the target is
        configured so.
        """
        if not batch.deliveries:
            return []
        where = self._destination(arn)
        if where.queue and where.certain and self._is_full(arn, where.queue.url):
            gone = self._discarded.setdefault(arn, [])
            gone.extend(each.event for each in batch.deliveries)
            return []
        most = (
            1 if where.fifo else _HEARD_EVENTS if isinstance(where.to, ListenerArn) else MAX_EVENTS
        )
        try:
            packed = list(_packed(where.to, batch, most))
        except TooLarge as error:
            return self._without(arn, batch, error.index, error)
        except Exception as error:  # noqa: BLE001 - one event must not stop its neighbours
            logger.exception("an event cannot be packed", target=arn)
            if len(batch.deliveries) > 1:
                halves = (self.send(arn, batch.part(half)) for half in range(2))
                return list(chain.from_iterable(halves))
            return self._without(arn, batch, 0, error)
        refused = self._send(where, [_message(where, batch, one) for one in packed])
        return [
            Unsent(one.body, frozenset(batch.origins[one.start : one.stop]), refused[index])
            for index, one in enumerate(packed)
            if index in refused
        ]

    def forward(self, arn: str, body: str) -> Unsent | None:
        """Send a message that an earlier `send` could not."""
        where = self._destination(arn)
        if where.fifo:
            _, deliveries = unpack(body)
            left = self.send(arn, TargetBatch(deliveries, [""] * len(deliveries)))
            return Unsent(body, (), left[0].reason) if left else None
        refused = self._send(where, [Outgoing(body)])
        return Unsent(body, (), refused[0]) if refused else None

    def take_skipped(self) -> Mapping[str, int]:
        """Return how many events were dropped since the last call, by target ARN."""
        skipped, self._skipped = self._skipped, Counter()
        return skipped

    def take_discarded(self) -> Mapping[str, Sequence[Event]]:
        """Return the events that full queues did not get since the last call, by target ARN."""
        discarded, self._discarded = self._discarded, {}
        return discarded

    def _send(self, where: "_Destination", messages: Sequence[Outgoing]) -> dict[int, str]:
        """Return what SQS did not take, by index; nothing if the queue does not exist."""
        arn = where.to.arn
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
        if refused is None and isinstance(where.to, ListenerArn):
            return {}  # its client went away
        if refused is None:
            logger.warning("a rule names a target that is not deployed", target=arn)
            for each in messages:
                dropped = _events(each.body)
                self._skipped[arn] += len(dropped) or 1
                trace(tracing.dropped(arn, dropped))
            return {}
        for index, reason in refused.items():
            logger.error("SQS did not take a message", target=arn, reason=reason, index=index)
        return refused

    def _without(self, arn: str, batch: TargetBatch, index: int, error: Exception) -> list[Unsent]:
        """Dead-letter one event alone, and send the others."""
        logger.error("an event cannot be sent", target=arn, reason=str(error))
        record = escaped(bytes(batch.deliveries[index].event.record).decode(errors="replace"))
        letter = dead_letter(record, str(error), target=arn, error=type(error).__name__)
        try:
            taken = not self._dead.send([letter])
        except (BotoCoreError, ClientError) as refusal:
            logger.error("an event that cannot be sent stays", reason=str(refusal))
            taken = False
        left = self.send(arn, batch.without(index))
        return left if taken else [*left, Unsent("", {batch.origins[index]}, str(error))]

    def _destination(self, arn: str) -> "_Destination":
        to = Destination.of(arn)
        listens = isinstance(to, ListenerArn)
        try:
            name = self._name(to)
        except Exception:  # noqa: BLE001 - only this target waits for it
            logger.exception("run-time targets or listeners cannot be read", target=arn)
            return _Destination(to, None, fifo=self._fifo and not listens, certain=True)
        if listens and not name:
            return _Destination(to, None, fifo=False, certain=False)
        if name:
            queue = Queue(f"{self._prefix.rpartition('/')[0]}/{name}", self._client)
            return _Destination(to, queue, fifo=name.endswith(".fifo"), certain=True)
        try:
            url = queue_url(self._prefix, TargetArn.parse(arn), fifo=self._fifo)
        except ValueError:
            return _Destination(to, None, fifo=self._fifo, certain=self._deployed(arn))
        except ImportError:  # raised further, it would repeat what other targets were sent
            logger.exception("the kinds of targets cannot be read", target=arn)
            return _Destination(to, None, fifo=self._fifo, certain=True)
        return _Destination(
            to, Queue(url, self._client), fifo=self._fifo, certain=self._deployed(arn)
        )

    def _name(self, to: Destination) -> str | None:
        if isinstance(to, ListenerArn):
            return self._listener_queue(to)
        return None if self._deployed(to.arn) else self._runtime_queue(to)


class _Destination(NamedTuple):
    """A target's queue, if known; `certain` says that there is such a target.

    The queue of a run-time target may be of another type than the others.
    """

    to: Destination
    queue: Queue | None
    fifo: bool
    certain: bool


def _packed(to: Destination, batch: TargetBatch, most: int) -> Iterator[Packed]:
    now = round(time.time() * 1000)
    about = Envelope(now, topic=to.arn if isinstance(to, TopicArn) else "")
    return pack(batch.deliveries, now, history=about, most=most)


def _message(where: _Destination, batch: TargetBatch, one: Packed) -> Outgoing:
    if not where.fifo:
        return Outgoing(one.body)
    token = batch.deliveries[one.start].copy_id
    return Outgoing(one.body, group=where.to.arn, token=token)


def _events(body: str) -> list[Event]:
    """Return the events of a message, none if it is invalid."""
    try:
        return [each.event for each in unpack(body)[1]]
    except ValueError:
        return []
