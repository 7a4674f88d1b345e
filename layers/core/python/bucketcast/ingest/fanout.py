"""The fan-out to the queues of targets, topics and listeners."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from bucketcast.delivery import tracing
from bucketcast.delivery.breaker import Breaker, BreakerState, LocalStore
from bucketcast.delivery.envelope import Packed, TooLarge, pack
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import SQS_ERRORS, Outgoing, Queue, code_of, together
from bucketcast.delivery.queue_names import queue_url
from bucketcast.destination import Destination, ListenerArn, TargetArn, TopicArn
from bucketcast.errors import BreakerOpen, DeliveryError, GivenUp, OutOfTime, Retryable
from bucketcast.event import Event
from bucketcast.ingest.routing import Routed
from bucketcast.limits import LISTENER_EVENTS, LISTENERS_TOGETHER, MAX_EVENTS, SPARE
from bucketcast.telemetry import logger, trace

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_NO_QUEUE: Final = (
    "AWS.SimpleQueueService.NonExistentQueue",
    "QueueDoesNotExist",
    "AccessDenied",
)
"""How SQS refuses a queue that is not there: by its name, or because the role has no right to it.
Codes may go on, as `AccessDeniedException` does."""


class Unsent(NamedTuple):
    """An event that its destination's queue did not take, and for how many seconds to wait."""

    to: Destination
    routed: Routed
    error: DeliveryError
    pause: int | None = None


class _Address(NamedTuple):
    """A destination's queue, if known; `certain` says that there is such a destination."""

    queue: Queue | None
    certain: bool


class Fanout:
    """Sends batches; `queues` is the URL of every target's queue, with a `*` for kind and id.

    `deployed` returns whether the target of an ARN is deployed. `dynamic_queue` returns the queue
    name of a dynamic target or topic, `listener_queue` that of a listener. `is_full` returns
    whether the queue of an ARN, of this URL, takes no more events.
    """

    def __init__(
        self,
        queues: str,
        client: "SQSClient",
        *,
        deployed: Callable[[str], bool],
        dynamic_queue: Callable[[Destination], str | None] = lambda _: None,
        listener_queue: Callable[[ListenerArn], str | None] = lambda _: None,
        is_full: Callable[[str, str], bool] = lambda _arn, _url: False,
    ) -> None:
        self._queues = queues
        self._client = client
        self._deployed = deployed
        self._dynamic_queue = dynamic_queue
        self._listener_queue = listener_queue
        self._is_full = is_full
        self._breakers: dict[Destination, Breaker] = {}
        self._discarded: dict[str, list[Event]] = {}
        self._skipped: Counter[str] = Counter()
        self._pool: ThreadPoolExecutor | None = None

    def send(
        self, batches: Mapping[Destination, Sequence[Routed]], remaining: Callable[[], float]
    ) -> Iterator[Unsent]:
        """Send all batches, the listeners' in parallel; yield what the queues did not take.

        If a rule names a target that is not deployed any more, its events are dropped, as in MinIO,
        and logged with their trace ids. What is for a full queue is discarded, if the target is
        configured so.
        """
        listeners = [to for to in batches if isinstance(to, ListenerArn)]
        for to, batch in batches.items():
            if isinstance(to, ListenerArn):
                continue
            if remaining() < SPARE:
                yield from (Unsent(to, one, OutOfTime("no time to send it")) for one in batch)
            else:
                for part in _by_limits(to, batch):
                    yield from self._send_to(to, part)
        if listeners:
            self._pool = self._pool or ThreadPoolExecutor(LISTENERS_TOGETHER)
            unsent = self._pool.map(lambda to: self._send_to(to, batches[to]), listeners)
            yield from chain.from_iterable(unsent)

    def take_skipped(self) -> Mapping[str, int]:
        """Return how many events were dropped since the last call, by target ARN."""
        skipped, self._skipped = self._skipped, Counter()
        return skipped

    def take_discarded(self) -> Mapping[str, Sequence[Event]]:
        """Return the events that full queues did not get since the last call, by target ARN."""
        discarded, self._discarded = self._discarded, {}
        return discarded

    def _send_to(self, to: Destination, batch: Sequence[Routed]) -> list[Unsent]:
        breaker = self._breakers.get(to)
        if breaker and breaker.begin_batch(lambda: 0) is BreakerState.OPEN:
            why = breaker.outage.reason if breaker.outage else ""
            pause = breaker.pause()
            return [Unsent(to, one, BreakerOpen(why, pause, "Retryable"), pause) for one in batch]
        where = self._address(to)
        if where.queue and where.certain and self._is_full(to.arn, where.queue.url):
            gone = self._discarded.setdefault(to.arn, [])
            gone.extend(one.delivery.event for one in batch)
            return []
        packed, unsent = self._packed(to, batch, where)
        refused = self._send(to, where, [_message(to, batch, one) for one in packed])
        if refused is None:
            self._drop(to, batch)
            return unsent
        for index, reason in refused.items():
            part = batch[packed[index].start : packed[index].stop]
            unsent += [Unsent(to, one, Retryable(reason)) for one in part]
        self._note(to, next(iter(refused.values()), "") if len(refused) == len(packed) else "")
        return unsent

    def _packed(
        self, to: Destination, batch: Sequence[Routed], where: _Address, start: int = 0
    ) -> tuple[list[Packed], list[Unsent]]:
        """Return the messages of a batch, and the events that fit in none."""
        most = LISTENER_EVENTS if isinstance(to, ListenerArn) else MAX_EVENTS
        if where.queue:
            most = together(where.queue.url, most)
        deliveries = [one.delivery for one in batch]
        try:
            found = [
                one._replace(start=one.start + start, stop=one.stop + start)
                for one in pack(deliveries, most)
            ]
        except Exception as error:  # noqa: BLE001 - one event must not stop its neighbours
            if len(batch) == 1:
                logger.error("an event cannot be sent", target=to.arn, reason=str(error))
                return [], [Unsent(to, batch[0], _translated(error))]
            middle = len(batch) // 2
            first, lost = self._packed(to, batch[:middle], where, start)
            second, more = self._packed(to, batch[middle:], where, start + middle)
            return [*first, *second], [*lost, *more]
        return found, []

    def _send(
        self, to: Destination, where: _Address, messages: Sequence[Outgoing]
    ) -> dict[int, str] | None:
        """Return what SQS did not take, by index; None if the queue does not exist."""
        everything = range(len(messages))
        if where.queue is None:
            return (
                dict.fromkeys(everything, "its queue is not known now") if where.certain else None
            )
        try:
            refused = where.queue.send(messages)
        except SQS_ERRORS as error:
            if code_of(error).startswith(_NO_QUEUE) and not where.certain:
                return None
            refused = dict.fromkeys(everything, str(error))
        for index, reason in refused.items():
            logger.error("SQS did not take a message", target=to.arn, reason=reason, index=index)
        return refused

    def _note(self, to: Destination, refusal: str) -> None:
        """Remember that a queue refused everything, so it is asked less often; or forget it."""
        if refusal:
            self._breakers.setdefault(to, Breaker(LocalStore())).record_failure(Retryable(refusal))
        elif to in self._breakers:
            del self._breakers[to]

    def _drop(self, to: Destination, batch: Sequence[Routed]) -> None:
        """Drop events for a target that is not deployed; a listener's client just went away."""
        if isinstance(to, ListenerArn):
            return
        logger.warning("a rule names a target that is not deployed", target=to.arn)
        self._skipped[to.arn] += len(batch)
        trace(tracing.dropped(to.arn, [one.delivery.event for one in batch]))

    def _address(self, to: Destination) -> _Address:
        try:
            name = self._name(to)
        except Exception:  # noqa: BLE001 - only this destination waits for it
            logger.exception("dynamic targets or listeners cannot be read", target=to.arn)
            return _Address(None, certain=True)
        if name:
            return _Address(self._queue(f"{self._queues.rpartition('/')[0]}/{name}"), certain=True)
        if not isinstance(to, TargetArn):
            return _Address(None, certain=False)
        certain = self._deployed(to.arn)
        try:
            return _Address(self._queue(queue_url(self._queues, to)), certain)
        except ValueError:
            return _Address(None, certain)
        except ImportError:  # raised further, it would repeat what other targets were sent
            logger.exception("the kinds of targets cannot be read", target=to.arn)
            return _Address(None, certain=True)

    def _name(self, to: Destination) -> str | None:
        """Return the name of the queue of what is not deployed, None if there is none."""
        if isinstance(to, ListenerArn):
            return self._listener_queue(to)
        return None if self._deployed(to.arn) else self._dynamic_queue(to)

    def _queue(self, url: str) -> Queue:
        return Queue(url, self._client)


def _translated(error: Exception) -> DeliveryError:
    name = type(error).__name__
    if isinstance(error, TooLarge):
        return GivenUp(str(error), name)
    return Retryable(f"unexpected {name}: {error}")


def _message(to: Destination, batch: Sequence[Routed], one: Packed) -> Outgoing:
    first = batch[one.start]
    history = History()
    if isinstance(to, TopicArn):
        history = History(topic=to.arn, redriven=_is_redriven(first))
    return Outgoing(one.body, history=history, token=first.delivery.copy_id)


def _by_limits(to: Destination, batch: Sequence[Routed]) -> Sequence[Sequence[Routed]]:
    """Return what may share messages: a redrive lifts a topic's limits; targets have none."""
    if not isinstance(to, TopicArn):
        return [batch]
    parts = [[one for one in batch if _is_redriven(one) is mark] for mark in (False, True)]
    return [part for part in parts if part]


def _is_redriven(one: Routed) -> bool:
    return one.item.received.message.history.redriven
