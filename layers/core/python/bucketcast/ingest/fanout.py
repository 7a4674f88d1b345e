"""The fan-out to the queues of targets, topics and listeners."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, NamedTuple

from bucketcast.delivery import tracing
from bucketcast.delivery.breaker import Breaker, BreakerState, LocalStore
from bucketcast.delivery.envelope import Packed, Texts, TooLarge, pack
from bucketcast.delivery.messages import Failed, Item
from bucketcast.delivery.policy import History
from bucketcast.delivery.queue import NO_QUEUE, SQS_ERRORS, Outgoing, Queue, code_of, together
from bucketcast.delivery.queue_names import ONCE, queue_url
from bucketcast.destination import Destination, ListenerArn, TargetArn, TopicArn
from bucketcast.errors import BreakerOpen, DeliveryError, GivenUp, OutOfTime, Retryable, Unavailable
from bucketcast.limits import (
    LISTENER_MESSAGE_EVENTS,
    MESSAGE_EVENTS,
    SENDS_AT_ONCE,
    SETTLE_SECONDS,
)
from bucketcast.telemetry import logger, trace

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_NO_QUEUE: Final = (*NO_QUEUE, "AccessDenied")
"""The codes of SQS for a missing queue: it does not exist, or the role has no right to it.
They may go on, as `AccessDeniedException` does."""


class _Address(NamedTuple):
    """A destination's queue, if known; `certain` if there is such a destination."""

    queue: Queue | None
    certain: bool


_Ready = tuple[Destination, Sequence[Item], Sequence[Packed], _Address]
"""A batch that is packed for its queue."""


class Fanout:
    """Sends batches; `queues` is the URL of every target's queue, with a `*` for kind and id.

    `deployed` returns True if the target of an ARN is deployed. `dynamic_queue` returns the queue
    name of a dynamic target or topic, `listener_queue` that of a listener.
    """

    def __init__(
        self,
        queues: str,
        client: "SQSClient",
        *,
        deployed: Callable[[str], bool],
        dynamic_queue: Callable[[Destination], str | None] = lambda _: None,
        listener_queue: Callable[[ListenerArn], str | None] = lambda _: None,
    ) -> None:
        self._queues = queues
        self._client = client
        self._deployed = deployed
        self._dynamic_queue = dynamic_queue
        self._listener_queue = listener_queue
        self._breakers: dict[Destination, Breaker] = {}
        self._skipped: Counter[str] = Counter()
        self._texts: Texts = {}
        self._pool: ThreadPoolExecutor | None = None

    def send(
        self, batches: Mapping[Destination, Sequence[Item]], remaining: Callable[[], float]
    ) -> Iterator[Failed]:
        """Send all batches, several at a time, listeners' last; yield what queues did not take.

        If a rule names a target that is not deployed any more, its events are dropped, as in MinIO,
        and logged with their trace ids.
        """
        parts = [(to, part) for to in batches for part in _split_by_limits(to, batches[to])]
        parts.sort(key=lambda part: isinstance(part[0], ListenerArn))
        for start in range(0, len(parts), SENDS_AT_ONCE):
            group = parts[start : start + SENDS_AT_ONCE]
            if remaining() < SETTLE_SECONDS:
                error = OutOfTime("no time to send it")
                yield from (item.fail(error, to=to.arn) for to, part in group for item in part)
            else:
                yield from self._send_group(group)
        self._texts.clear()

    def take_skipped(self) -> Mapping[str, int]:
        """Return the number of events dropped since the last call, by target ARN."""
        skipped, self._skipped = self._skipped, Counter()
        return skipped

    def _send_group(self, group: Sequence[tuple[Destination, Sequence[Item]]]) -> Iterator[Failed]:
        """Send to some queues at the same time; only the calls of SQS run beside each other."""
        ready = []
        for to, batch in group:
            breaker = self._breakers.get(to)
            if breaker and breaker.begin_batch(lambda: 0) is BreakerState.OPEN:
                reason = breaker.outage.reason if breaker.outage else ""
                error = BreakerOpen(reason, breaker.pause(), "Retryable")
                yield from (item.fail(error, to=to.arn) for item in batch)
                continue
            address = self._address(to)
            packed, unsent = self._pack(to, batch, address)
            yield from unsent
            ready.append((to, batch, packed, address))
        if len(ready) > 1:
            self._pool = self._pool or ThreadPoolExecutor(SENDS_AT_ONCE)
        sending = self._pool.map if self._pool else map
        for (to, batch, packed, _), refused in zip(ready, sending(self._send, ready), strict=True):
            if refused is None:
                self._drop(to, batch)
                continue
            for index, reason in refused.items():
                part = batch[packed[index].start : packed[index].stop]
                yield from (item.fail(Unavailable(reason), to=to.arn) for item in part)
            everything = len(refused) == len(packed)
            self._record(to, next(iter(refused.values()), "") if everything else "")

    def _pack(
        self, to: Destination, batch: Sequence[Item], address: _Address, start: int = 0
    ) -> tuple[list[Packed], list[Failed]]:
        """Return the messages of a batch, and the events that fit in none."""
        max_events = LISTENER_MESSAGE_EVENTS if isinstance(to, ListenerArn) else MESSAGE_EVENTS
        if address.queue:
            max_events = together(address.queue.url, max_events)
        deliveries = [item.delivery for item in batch]
        try:
            packed = [
                part._replace(start=part.start + start, stop=part.stop + start)
                for part in pack(deliveries, max_events, self._texts)
            ]
        except Exception as error:  # noqa: BLE001 - one event must not stop its neighbours
            if len(batch) == 1:
                logger.error("an event cannot be sent", target=to.arn, reason=str(error))
                return [], [batch[0].fail(_delivery_error(error), to=to.arn)]
            middle = len(batch) // 2
            first, first_unsent = self._pack(to, batch[:middle], address, start)
            second, second_unsent = self._pack(to, batch[middle:], address, start + middle)
            return [*first, *second], [*first_unsent, *second_unsent]
        return packed, []

    def _send(self, ready: _Ready) -> Mapping[int, str] | None:
        """Return the reasons of refused messages, by index; None if the queue does not exist."""
        to, batch, packed, address = ready
        messages = [_message(to, batch, part) for part in packed]
        everything = range(len(messages))
        if address.queue is None:
            if not address.certain:
                return None
            return dict.fromkeys(everything, "its queue is not known now")
        try:
            refused = address.queue.send(messages)
        except SQS_ERRORS as error:
            if code_of(error).startswith(_NO_QUEUE) and not address.certain:
                return None
            refused = dict.fromkeys(everything, str(error))
        for index, reason in refused.items():
            logger.error("SQS did not take a message", target=to.arn, reason=reason, index=index)
        return refused

    def _record(self, to: Destination, refusal: str) -> None:
        """Record that a queue refused everything, so it is tried less often; or clear that."""
        if refusal:
            self._breakers.setdefault(to, Breaker(LocalStore())).record_failure(Retryable(refusal))
        elif to in self._breakers:
            del self._breakers[to]

    def _drop(self, to: Destination, batch: Sequence[Item]) -> None:
        """Drop events for a target that is not deployed, or for a listener without a client."""
        if isinstance(to, ListenerArn):
            return
        logger.warning("a rule names a target that is not deployed", target=to.arn)
        self._skipped[to.arn] += len(batch)
        events = [item.delivery.event for item in batch]
        trace(tracing.dropped(to.arn, events, round(time.time() * 1_000)))

    def _address(self, to: Destination) -> _Address:
        try:
            name = self._name(to)
        except Exception:  # noqa: BLE001 - only this destination waits for it
            logger.exception("dynamic targets or listeners cannot be read", target=to.arn)
            return _Address(None, certain=True)
        if name:
            # A deploy may have removed the queue that the topics of a kind share.
            shared = name.endswith(f"-{ONCE}")
            queue = Queue(f"{self._queues.rpartition('/')[0]}/{name}", self._client)
            return _Address(queue, certain=not shared)
        if not isinstance(to, TargetArn):
            return _Address(None, certain=False)
        certain = self._deployed(to.arn)
        try:
            return _Address(Queue(queue_url(self._queues, to), self._client), certain)
        except ValueError:
            return _Address(None, certain)
        except ImportError:  # raised further, it would repeat events that other targets were sent
            logger.exception("the kinds of targets cannot be read", target=to.arn)
            return _Address(None, certain=True)

    def _name(self, to: Destination) -> str | None:
        """Return the name of the queue of a dynamic destination, None if there is none."""
        if isinstance(to, ListenerArn):
            return self._listener_queue(to)
        return None if self._deployed(to.arn) else self._dynamic_queue(to)


def _delivery_error(error: Exception) -> DeliveryError:
    name = type(error).__name__
    if isinstance(error, TooLarge):
        return GivenUp(str(error), name)
    return Retryable(f"unexpected {name}: {error}")


def _message(to: Destination, batch: Sequence[Item], packed: Packed) -> Outgoing:
    first = batch[packed.start]
    history = History()
    if isinstance(to, TopicArn):
        history = History(topic=to.arn, redriven=_is_redriven(first))
    return Outgoing(packed.body, history=history, token=first.delivery.copy_id)


def _split_by_limits(to: Destination, batch: Sequence[Item]) -> Sequence[Sequence[Item]]:
    """Return the parts that may share messages: a redrive lifts a topic's limits."""
    if not isinstance(to, TopicArn):
        return [batch]
    parts = [
        [item for item in batch if _is_redriven(item) is redriven] for redriven in (False, True)
    ]
    return [part for part in parts if part]


def _is_redriven(item: Item) -> bool:
    return item.received.message.history.redriven
