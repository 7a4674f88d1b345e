"""The rows of targets that are made at run time: one function delivers to many of them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any
from unittest.mock import patch

from bucketcast.aws import function_clients
from bucketcast.delivery.breaker import LocalStore
from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.delivery.policy import visibility
from bucketcast.delivery.queue import Outgoing, Queue
from bucketcast.destination import TargetArn
from bucketcast.limits import TARGET_CONCURRENCY, TIMEOUT_SECONDS
from bucketcast.settings.environment import DynamicSettings
from bucketcast.state.items import DynamicTarget
from tests.unit.samples import event
from tests.unit.simulation.delivering import AHEAD, Scripted
from tests.unit.simulation.ingesting import Actions
from tests.unit.simulation.lambdas import Delays, Function, Handler, Simulation
from tests.unit.simulation.sqs import DAY, HOUR, MINUTE, SimulatedQueue
from tests.unit.simulation.troubles.cell import Bounds, Cell, Seen, price
from tests.unit.simulation.troubles.receivers import Answer, webhooks

TARGETS, TROUBLED = 100, 80
"""More than a function keeps connections to. Each has a queue and calls of its own: so do 500."""
PREFIX = "Bucketcast-dynamic-"
ENVIRONMENT = {
    "BUCKETCAST_KIND": "webhook",
    "BUCKETCAST_STATE_TABLE": "state",
    "BUCKETCAST_QUEUES": "sqs",
    "BUCKETCAST_QUEUE_PREFIX": PREFIX,
}
EVERY = MINUTE
DURATION = 4 * MINUTE
GRAIN = 0.1


class RunTime:
    """Many targets of one kind, each with a queue; the first of them answer in the same way.

    Without an `answer` they were removed.
    """

    def __init__(self, answer: Answer | None) -> None:
        self.simulation = Simulation(0)
        self.answer = answer
        self.log = Scripted(self.simulation.clock, (), 1_000)
        self.put_at: dict[str, float] = {}
        self.idle: list[Handler] = []
        self._breakers: defaultdict[str, LocalStore] = defaultdict(LocalStore)
        for number in range(TARGETS):
            name = f"sqs/{_queue(number)}"
            queue = self.simulation.sqs.add(
                SimulatedQueue(
                    name,
                    visibility=visibility(name, TIMEOUT_SECONDS),
                    dead=self.simulation.sqs.add(SimulatedQueue(f"{name}-dead")),
                )
            )
            self.simulation.functions.append(
                Function(
                    queue,
                    self.environment,
                    timeout=TIMEOUT_SECONDS,
                    max_concurrency=TARGET_CONCURRENCY,
                    grain=GRAIN,
                    idle=self.idle,
                )
            )

    def environment(self) -> Handler:
        kind = webhooks(self.log, self.behave)
        with (
            patch.dict("os.environ", ENVIRONMENT),
            patch.object(function_clients, "client", lambda *_: self.simulation.sqs),
        ):
            module: Any = import_module("functions.dispatch.dynamic")
            targets = module.DynamicTargets(DynamicSettings.from_environ(ENVIRONMENT), kind)
        targets._table = targets._breakers = targets._counters = self

        def handler(call: Mapping[str, Any], context: Any) -> dict[str, Any]:
            records = [
                each | {"eventSourceARN": each["eventSourceARN"].replace("sqs/", "")}
                for each in call["Records"]
            ]
            return dict(targets({"Records": records}, context))

        return handler

    def behave(self, number: str) -> Answer:
        return self.answer if self.answer and int(number) < TROUBLED else Answer.TAKEN

    # What the state table tells

    def get(self, key: str) -> DynamicTarget | None:
        number = int(key.partition(":")[2])
        if self.answer is None and number < TROUBLED:
            return None
        return DynamicTarget(
            arn=TargetArn(f"{number}", "webhook").arn,
            kind="webhook",
            id=f"{number}",
            queue=_queue(number),
            settings={"endpoint": f"http://there/{number}"},
            number=1,
        )

    def of(self, arn: str) -> LocalStore:
        return self._breakers[arn]

    def add(self, *_: Any) -> None: ...

    # What ingest does

    def put(self, number: int, at: float) -> None:
        key = f"{number}-{at:g}"
        self.put_at[f"{key} r"] = self.simulation.clock.now
        ((body, _, _),) = pack([Delivery("r", event(key, time=AHEAD))])
        client: Any = self.simulation.sqs
        Queue(f"sqs/{_queue(number)}", client).send([Outgoing(body)])


def _queue(number: int) -> str:
    return f"{PREFIX}webhook-{number}-abcdef"


def _number(name: str) -> int:
    return int(name.partition("-")[0])


def of_many(answer: Answer | None) -> Seen:
    """Play minutes in which most targets are in the same trouble at once."""
    one = RunTime(answer)
    todo: Actions = {}
    for number in range(TARGETS):
        for turn in range(round(DURATION / EVERY)):
            at = turn * EVERY + number * EVERY / TARGETS
            todo[at] = partial(one.put, number, at)
    one.simulation.run(days=(DURATION + MINUTE) / DAY, actions=todo)
    others = [name for name in one.put_at if _number(name) >= TROUBLED]
    taken = one.log.taken_at
    tried = [number for name, number in one.log.tried.items() if _number(name) < TROUBLED]
    hours = DURATION / HOUR
    return Seen(
        Delays.of(taken.get(name, float("inf")) - one.put_at[name] for name in others),
        tries=sum(tried) / TROUBLED / hours * 24,
        dollars=price(one.simulation) / hours,
        faults=tuple(_faults(one)),
    )


def _faults(one: RunTime) -> Sequence[str]:
    waiting = {
        f"{delivery.event.key} r"
        for queue in one.simulation.sqs.queues.values()
        for kept in queue.messages
        for delivery in unpack(kept.body)
    }
    lost = [name for name in one.put_at if not one.log.taken[name] and name not in waiting]
    again = [name for name in one.put_at if one.log.taken[name] > 1]
    found = {"events lost": len(lost), "events repeated": len(again)}
    return [f"{number} {what}" for what, number in found.items() if number]


def _cell(when: str, answer: Answer | None) -> Cell:
    return Cell("targets made at run time, 80 at once", when, partial(of_many, answer), Bounds())


CELLS = (
    _cell("they hang", Answer.SILENT),
    _cell("they refuse connections", Answer.DOWN),
    _cell("their logins are wrong", Answer.LOGIN),
    _cell("they were removed while events wait", None),
)
