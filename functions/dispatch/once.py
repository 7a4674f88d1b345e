"""Topics that are not persistent: one attempt per event, at once; losses are counted.

All topics of a kind share one queue, so a message names its topic. The topic's settings are read
before each batch, and its connection is kept while they do not change. Failed events are gone; only
what was not tried stays in the queue.
"""

import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast import telemetry
from bucketcast.aws import secrets
from bucketcast.aws.topics.table import TopicTable
from bucketcast.delivery import tracing
from bucketcast.delivery.envelope import Delivery, seal
from bucketcast.delivery.latency import histogram
from bucketcast.destination import TopicArn
from bucketcast.dispatch import Message
from bucketcast.dispatch.opening import open_envelope
from bucketcast.dispatch.sender import Sender
from bucketcast.errors import DeliveryError, Retryable
from bucketcast.queues import Queue
from bucketcast.queues.target import TargetQueue
from bucketcast.state.counters import Counters, Counts
from bucketcast.targets.base import Target
from bucketcast.topics import endpoint
from bucketcast.topics.model import Topic
from functions.dispatch.batch import connector, message
from functions.dispatch.postponement import MOST_RECEIVES

KEPT: Final = 64
"""To how many topics connections are kept; the one not used for longest goes first."""
UNREAD_PAUSE: Final = 10
"""Seconds until messages are seen again whose topic could not be read."""


class _Part(NamedTuple):
    """Messages of one topic that are sent together, and their deliveries."""

    messages: list[Message]
    deliveries: list[Delivery]


_Opened = list[tuple[Message, list[Delivery]]]


class Once:
    """Sends batches of the shared queue of one kind, whose URL is `queue`."""

    def __init__(
        self, kind: type[Target], queue: Queue, items: TopicTable, counters: Counters
    ) -> None:
        self._kind = kind
        self._queue = TargetQueue(queue.url, queue, queue, fifo=False)
        self._items = items
        self._counters = counters
        self._senders: OrderedDict[str, tuple[int, Sender]] = OrderedDict()

    def __call__(self, event: Mapping[str, Any], context: Any) -> dict[str, Any]:
        """Try each event once; return the messages that there was no time to try."""
        late: list[Message] = []
        unread: list[Message] = []
        begun = False

        def remaining() -> float:
            return float(context.get_remaining_time_in_millis()) / 1000

        whole = remaining()
        for arn, opened in self._by_topic(map(message, event["Records"])).items():
            try:
                topic = self._items.topic(TopicArn.parse(arn))
            except (BotoCoreError, ClientError) as error:
                telemetry.logger.warning("the table does not answer", topic=arn, reason=str(error))
                unread += [one for one, _ in opened]
                continue
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
        stay = [*self._again(late), *self._again(unread, UNREAD_PAUSE)]
        return {"batchItemFailures": [{"itemIdentifier": each} for each in stay]}

    def _again(self, late: Sequence[Message], pause: int = 0) -> list[str]:
        """Requeue what was not tried, with a new count; return the ids of what SQS did not take."""
        refused = self._queue.send_again([one.body for one in late], pause) if late else ()
        return [late[index].id for index in sorted(refused)]

    def _by_topic(self, messages: Iterable[Message]) -> dict[str, _Opened]:
        """Return the open messages by topic; drop those that are not valid."""
        found: dict[str, _Opened] = {}
        for one in messages:
            try:
                envelope = seal(one.body)
                deliveries = open_envelope(envelope, one.sent)
                TopicArn.parse(envelope.topic)
            except ValueError as error:
                reason = str(error)
                telemetry.logger.error("a message for no topic is dropped", id=one.id, why=reason)
                continue
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
        """Count delivered and lost events, and log why."""
        lost, sent = len(failures), len(part.deliveries) - len(failures)
        if failures:
            why = next(iter(failures.values()))
            telemetry.logger.warning(
                "events are lost", topic=arn, error=type(why).__name__, reason=str(why), lost=lost
            )
        outcomes = tracing.Outcomes()
        for index, one in enumerate(part.deliveries):
            if index in failures:
                outcomes.dead.setdefault(str(failures[index]), []).append(one.event)
            else:
                outcomes.delivered.append(one.event)
        taken = histogram(outcomes.delivered, time.time())
        telemetry.measure(arn, EventsDelivered=sent, EventsLost=lost, DeliveryLatency=taken)
        telemetry.trace(tracing.dispatched(arn, outcomes))
        self._counters.add(arn, Counts(sent=sent, dead=lost))


def _parts(opened: _Opened, most: int) -> Iterator[_Part]:
    """Yield the messages in order, as many together as one batch of the target holds."""
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
