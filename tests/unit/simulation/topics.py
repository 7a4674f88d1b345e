"""The shared queue of topics that are tried once, and their endpoints, on the simulated clock."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from bucketcast.delivery.breaker import LocalStore
from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.delivery.messages import message
from bucketcast.delivery.policy import History, visibility
from bucketcast.delivery.queue import Outgoing, Queue
from bucketcast.destination import TopicArn
from bucketcast.errors import NotAuthorized, NotConnected, TimedOut
from bucketcast.event import Event
from bucketcast.limits import ONCE_CONCURRENCY_FACTOR, ONCE_RETENTION_DAYS, TARGET_CONCURRENCY
from bucketcast.state.items import DynamicTarget, Topic
from bucketcast.targets import base
from bucketcast.targets.webhook.settings import WebhookSettings
from bucketcast.topics.endpoint import push_settings
from functions.dispatch.batch import Connect, answer, connector
from functions.dispatch.once import Once
from tests.unit.samples import event
from tests.unit.simulation.lambdas import Function, Handler, SideBySide, Simulation
from tests.unit.simulation.sqs import DAY, SimulatedQueue

SHARED = "sqs/Bucketcast-dynamic-webhook-once"
TIMEOUT = 60


class Topics:
    """The shared queue of all webhooks, its functions and their topics.

    A topic is in the trouble that its name begins with, until so many seconds have passed.
    """

    def __init__(self, trouble_ends: float = DAY) -> None:
        self.simulation = Simulation(0)
        self.queue = self.simulation.sqs.add(
            SimulatedQueue(
                SHARED,
                visibility=visibility(SHARED, TIMEOUT),
                retention=ONCE_RETENTION_DAYS * DAY,
            )
        )
        self.put: dict[str, float] = {}
        self.got: dict[str, float] = {}
        self.counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._trouble_ends = trouble_ends
        self._breakers: defaultdict[str, LocalStore] = defaultdict(LocalStore)
        self.function = Function(
            self.queue,
            self.environment,
            timeout=TIMEOUT,
            max_concurrency=ONCE_CONCURRENCY_FACTOR * TARGET_CONCURRENCY,
            grain=0.05,
        )

    def run(self, seconds: float, actions: Mapping[float, Callable[[], None]]) -> None:
        if not self.simulation.functions:
            self.simulation.functions.append(self.function)
        pool = partial(SideBySide, self.simulation)
        with patch("functions.dispatch.once.ThreadPoolExecutor", pool):
            self.simulation.run(days=seconds / DAY, actions=actions)

    def environment(self) -> Handler:
        table: Any = self
        queue = Queue(self.queue.name, table.simulation.sqs)
        once = Once(self.kind(), queue, table, _connect, table, table)

        def handler(call: Mapping[str, Any], context: Any) -> dict[str, Any]:
            return answer(once([*map(message, call["Records"])], context))

        return handler

    def is_in_trouble(self, name: str) -> bool:
        over = self.simulation.clock.since_start >= self._trouble_ends
        return not (over or name.startswith("well"))

    def kind(self) -> type[base.Target]:
        """A webhook whose endpoint answers within a moment, or is in trouble."""
        topics = self

        class Webhook(base.Target):
            arn_type = "webhook"
            Settings = WebhookSettings
            where = "there"

            @property
            def max_send_seconds(self) -> float:
                return 2 * float(self.settings.timeout)

            def send(self, events: Sequence[Event]) -> base.Failures:
                clock = topics.simulation.clock
                name = self.settings.endpoint.rpartition("/")[2]
                if topics.is_in_trouble(name):
                    fail(self, name)
                clock.now += 0.05
                topics.got |= {each.key: clock.now for each in events}
                return {}

            def probe(self) -> None: ...

            def close(self) -> None: ...

        def fail(self: base.Target, name: str) -> None:
            clock = topics.simulation.clock
            match name.rstrip("0123456789"):
                case "hangs":
                    clock.now += self.settings.timeout
                    raise TimedOut("no answer")
                case "refuses":
                    raise NotConnected("connection refused")
                case "login":
                    clock.now += 0.05
                    raise NotAuthorized("401")

        return Webhook

    # What the state table tells

    def topic(self, arn: TopicArn) -> Topic | None:
        if arn.name.startswith("deleted") and self.is_in_trouble(arn.name):
            return None
        attributes = {"push-endpoint": f"http://there/{arn.name}"}
        topic = Topic(arn=arn.arn, kind="webhook", id=arn.id, owner="o", attributes=attributes)
        return replace(topic, settings=push_settings(topic, {}))

    def of(self, arn: str) -> LocalStore:
        return self._breakers[arn]

    def add(self, arn: str, counts: Any, *_: Any) -> None:
        self.counted[arn].update(sent=counts.sent, lost=counts.dead)

    # What ingest does

    def send(self, to: TopicArn, *keys: str) -> None:
        ((body, _, _),) = pack([Delivery("r", event(key), named=True) for key in keys])
        self.put |= dict.fromkeys(keys, self.simulation.clock.now)
        client: Any = self.simulation.sqs
        Queue(self.queue.name, client).send([Outgoing(body, history=History(topic=to.arn))])


def _connect(kind: type[base.Target], topic: DynamicTarget) -> Connect:
    return connector(kind, lambda _: topic.settings)
