"""The shared queue of topics that are tried once, and their endpoints, on the simulated clock."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
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
from bucketcast.limits import ONCE_CONCURRENCY_FACTOR, ONCE_RETENTION_DAYS, TARGET_CONCURRENCY
from bucketcast.state.items import DynamicTarget, Topic
from bucketcast.targets import base
from bucketcast.topics.endpoint import push_settings
from functions.dispatch.batch import Connect, answer, connector
from functions.dispatch.once import Once
from tests.unit.samples import event
from tests.unit.simulation.delivering import Scripted
from tests.unit.simulation.lambdas import Function, Handler, SideBySide, Simulation
from tests.unit.simulation.sqs import DAY, SimulatedQueue
from tests.unit.simulation.troubles.receivers import Answer, webhooks

SHARED = "sqs/Bucketcast-dynamic-webhook-once"
TIMEOUT = 60
TROUBLES = {"hangs": Answer.SILENT, "refuses": Answer.DOWN, "login": Answer.LOGIN}


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
        self._log = Scripted(self.simulation.clock, (), 1_000)
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

    @property
    def got(self) -> dict[str, float]:
        """When events came to their endpoints, by key."""
        return {name.removesuffix(" r"): at for name, at in self._log.taken_at.items()}

    def environment(self) -> Handler:
        table: Any = self
        queue = Queue(self.queue.name, table.simulation.sqs)
        once = Once(webhooks(self._log, self.behave), queue, table, _connect, table, table)

        def handler(call: Mapping[str, Any], context: Any) -> dict[str, Any]:
            return answer(once([*map(message, call["Records"])], context))

        return handler

    def behave(self, name: str) -> Answer:
        trouble = TROUBLES.get(name.rstrip("0123456789"), Answer.TAKEN)
        return Answer.TAKEN if self._is_over() else trouble

    def _is_over(self) -> bool:
        return self.simulation.clock.since_start >= self._trouble_ends

    # What the state table tells

    def topic(self, arn: TopicArn) -> Topic | None:
        if arn.name.startswith("deleted") and not self._is_over():
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
