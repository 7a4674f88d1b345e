"""Topics that are not persistent share a queue: what an endpoint that hangs does to the others."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from bucketcast.delivery.breaker import LocalStore
from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.delivery.messages import message
from bucketcast.delivery.policy import History, visibility
from bucketcast.delivery.queue import Outgoing, Queue
from bucketcast.destination import TopicArn
from bucketcast.errors import TimedOut
from bucketcast.event import Event
from bucketcast.targets import base
from bucketcast.targets.webhook.settings import WebhookSettings
from bucketcast.topics.model import Topic
from functions.dispatch.batch import answer
from functions.dispatch.once import Once
from tests.unit.samples import event
from tests.unit.simulation.lambdas import Delays, Function, Handler, Simulation
from tests.unit.simulation.sqs import DAY, HOUR, SimulatedQueue

SHARED = "sqs/Bucketcast-dynamic-webhook-once"
TIMEOUT = 60
HANGS, WELL = (TopicArn("r", "", name) for name in ("hangs", "well"))


class Topics:
    """The shared queue of all webhooks, its functions and their topics."""

    def __init__(self) -> None:
        self.simulation = Simulation(0)
        self.queue = self.simulation.sqs.add(
            SimulatedQueue(SHARED, visibility=visibility(SHARED, TIMEOUT))
        )
        self.put: dict[str, float] = {}
        self.got: dict[str, float] = {}
        self.counted: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._breakers: defaultdict[str, LocalStore] = defaultdict(LocalStore)
        self.simulation.functions.append(
            Function(self.queue, self.environment, timeout=TIMEOUT, max_concurrency=4, grain=0.05)
        )

    def environment(self) -> Handler:
        table: Any = self
        queue = Queue(self.queue.name, table.simulation.sqs)
        once = Once(self.kind(), queue, table, table, table)

        def handler(call: Mapping[str, Any], context: Any) -> dict[str, Any]:
            return answer(once([*map(message, call["Records"])], context))

        return handler

    def kind(self) -> type[base.Target]:
        """A webhook whose endpoint answers within a moment, or never, as it is called."""
        topics = self

        class Webhook(base.Target):
            arn_type = "webhook"
            Settings = WebhookSettings
            max_send_seconds = 20.0
            where = "there"

            def send(self, events: Sequence[Event]) -> base.Failures:
                clock = topics.simulation.clock
                if self.settings.endpoint.endswith("hangs"):
                    clock.now += 10
                    raise TimedOut("no answer within 10 s")
                clock.now += 0.05
                topics.got |= {each.key: clock.now for each in events}
                return {}

            def probe(self) -> None: ...

            def close(self) -> None: ...

        return Webhook

    # What the state table tells

    def topic(self, arn: TopicArn) -> Topic:
        attributes = {"push-endpoint": f"http://there/{arn.name}"}
        return Topic(tenant="", owner="o", name=arn.name, region="r", attributes=attributes)

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


def test_hanging_endpoint_delays_no_other_topic() -> None:
    """Ten events a second of it came before one of another topic: that waited ever longer."""
    one = Topics()
    todo: dict[float, Callable[[], None]] = {}
    for second in range(HOUR):
        todo[second] = partial(one.send, WELL, f"well{second}")
        for fifth in range(5):
            at = second + fifth / 5 + 0.01
            todo[at] = partial(one.send, HANGS, f"hangs{at}a", f"hangs{at}b")
    one.simulation.run(days=(HOUR + 60) / DAY, actions=todo)
    assert set(one.got) == {f"well{second}" for second in range(HOUR)}
    assert Delays.of(at - one.put[key] for key, at in one.got.items()).p99 <= 5
    assert one.counted[WELL.arn] == Counter(sent=HOUR)
    assert one.counted[HANGS.arn] == Counter(lost=10 * HOUR)
    assert not one.queue.messages


def test_messages_of_a_newer_release_wait_for_it() -> None:
    """As while an update goes on: it was dropped, and not counted."""
    one = Topics()
    client: Any = one.simulation.sqs
    told = History(topic=WELL.arn)
    Queue(one.queue.name, client).send([Outgoing('{"v":2,"all":"new"}', history=told)])
    one.simulation.run(days=1)
    assert [kept.body for kept in one.queue.messages] == ['{"v":2,"all":"new"}']
    assert not one.counted[WELL.arn].total()
