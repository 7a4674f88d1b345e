"""Topics that are not persistent: one attempt an event, at once, and counted when it is lost.

All topics of a kind share one queue, so a message says whose it is. A topic's settings are read
before each batch, and its connection is kept while they do not change. What has failed is gone;
only what nobody has tried stays in the queue.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import force_setattr

from bucketcast import telemetry, tracing
from bucketcast.dispatch import Message
from bucketcast.dispatch.sending import Sender
from bucketcast.envelope import Delivery, unpack
from bucketcast.errors import DeliveryError, Retryable
from bucketcast.queues import Queue
from bucketcast.queues.target import TargetQueue
from bucketcast.store import secrets
from bucketcast.store.counters import Counters, Counts
from bucketcast.store.topics.items import Items
from bucketcast.targets.base import Target
from bucketcast.topics import endpoint
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import Topic, TopicArn
from functions.dispatch.batch import connector, message

KEPT: Final = 64
"""To how many topics connections are kept; the one not used for longest goes first."""
MOST_RECEIVES: Final = 3
"""A message that was received more often is lost: no try of it came to an end."""


class _Part(NamedTuple):
    """Messages of one topic, to be sent together, and all that they hold."""

    messages: list[Message]
    deliveries: list[Delivery]


_Opened = list[tuple[Message, list[Delivery]]]


class Once:
    """Sends batches of the shared queue of one kind, whose URL is `queue`."""

    def __init__(self, kind: type[Target], queue: Queue, items: Items, counters: Counters) -> None:
        self._kind = kind
        self._way = TargetQueue(queue.url, queue, queue, fifo=False)
        self._items = items
        self._counters = counters
        self._senders: OrderedDict[str, tuple[int, Sender]] = OrderedDict()

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Try each event once, and answer with the messages that nobody had the time to try."""
        late: list[Message] = []
        begun = False

        def remaining() -> float:
            return float(context.get_remaining_time_in_millis()) / 1000

        whole = remaining()
        for arn, opened in self._by_topic(map(message, event["Records"])).items():
            topic = self._items.topic(TopicArn.parse(arn))
            if topic is None or topic.kind != self._kind.arn_type:
                for part in _parts(opened, self._kind.batch_size):
                    self._note(arn, part, _all(part, f"{arn} was deleted, or goes elsewhere now"))
                continue
            sender = self._sender(topic)
            for part in _parts(opened, self._kind.batch_size):
                events = [one.event for one in part.deliveries]
                failures = sender.once(events, remaining, float("inf") if begun else whole)
                begun = begun or failures is not None
                if failures is None:
                    late += part.messages
                else:
                    self._note(arn, part, failures)
        return {"batchItemFailures": [{"itemIdentifier": each} for each in self._again(late)]}

    def _again(self, late: Sequence[Message]) -> list[str]:
        """Send what had no turn as new messages, which are seen at once; the ids that stay."""
        refused = self._way.send_again([one.body for one in late]) if late else ()
        return [late[place].id for place in sorted(refused)]

    def _by_topic(self, messages: Iterable[Message]) -> dict[str, _Opened]:
        """What the messages hold, by its topic; what can be no message of ours is dropped."""
        found: dict[str, _Opened] = {}
        for one in messages:
            try:
                envelope, deliveries = unpack(one.body)
                TopicArn.parse(envelope.topic)
            except (ValueError, TopicError) as error:
                reason = str(error)
                telemetry.logger.error("a message for no topic is dropped", id=one.id, why=reason)
                continue
            for each in deliveries:
                force_setattr(each.event, "rule", each.rule)
                force_setattr(each.event, "named", each.named)
            if one.receives > MOST_RECEIVES:
                part = _Part([one], deliveries)
                self._note(envelope.topic, part, _all(part, "no try of it came to an end"))
                continue
            found.setdefault(envelope.topic, []).append((one, deliveries))
        return found

    def _sender(self, topic: Topic) -> Sender:
        number, sender = self._senders.pop(topic.arn, (0, None))
        if sender is None or number != topic.number:
            if sender:
                sender.close()
            sender = Sender(connector(self._kind, lambda fresh: _settings(topic, fresh)))
        self._senders[topic.arn] = (topic.number, sender)
        while len(self._senders) > KEPT:
            _, (_, oldest) = self._senders.popitem(last=False)
            oldest.close()
        return sender

    def _note(self, arn: str, part: _Part, failures: Mapping[int, DeliveryError]) -> None:
        """Count what arrived and what is lost, and say why."""
        lost, sent = len(failures), len(part.deliveries) - len(failures)
        if failures:
            why = next(iter(failures.values()))
            telemetry.logger.warning(
                "events are lost", topic=arn, error=type(why).__name__, reason=str(why), lost=lost
            )
        telemetry.count(arn, EventsDelivered=sent, EventsLost=lost)
        telemetry.flush()
        fates = tracing.Fates()
        for place, one in enumerate(part.deliveries):
            if place in failures:
                fates.dead.setdefault(str(failures[place]), []).append(one.event)
            else:
                fates.delivered.append(one.event)
        telemetry.trace(tracing.dispatched(arn, fates))
        self._counters.add(arn, Counts(sent=sent, dead=lost))


def _parts(opened: _Opened, most: int) -> Iterator[_Part]:
    """The messages in their order, as many together as one batch of a target holds."""
    part = _Part([], [])
    for one, deliveries in opened:
        if part.messages and len(part.deliveries) + len(deliveries) > most:
            yield part
            part = _Part([], [])
        part.messages.append(one)
        part.deliveries.extend(deliveries)
    yield part


def _all(part: _Part, reason: str) -> dict[int, DeliveryError]:
    return dict.fromkeys(range(len(part.deliveries)), Retryable(reason))


def _settings(topic: Topic, fresh: bool) -> Mapping[str, str]:  # noqa: FBT001 - as dispatch calls it
    hidden = secrets.resolve(topic.references, fresh=fresh)
    pushed = endpoint.target(topic, hidden)
    return pushed.settings if pushed else {}
