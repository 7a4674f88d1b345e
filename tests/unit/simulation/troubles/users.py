"""The rows of "a user": as many listeners and notifications of a bucket as are allowed."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from bucketcast.destination import ListenerArn, TopicArn
from bucketcast.ingest.fanout import Fanout
from bucketcast.limits import INGEST_CONCURRENCY, MOST_LISTENERS, MOST_TENANT_NOTIFICATIONS
from bucketcast.rules import Rule, RuleIndex
from tests.unit.simulation.ingesting import HOOK, Actions
from tests.unit.simulation.sqs import HOUR, MINUTE, SimulatedQueue
from tests.unit.simulation.troubles.buckets import OTHER, PUTS, TROUBLED, Buckets
from tests.unit.simulation.troubles.cell import Cell, Seen, price

SQS_SECONDS = 0.01
"""How long a call of SQS takes."""
DURATION = MINUTE


class Users(Buckets):
    """A bucket with many destinations beside one with a target; nobody reads their queues."""

    def __init__(self, arns: Iterable[str]) -> None:
        super().__init__(max_concurrency=INGEST_CONCURRENCY)
        self.rules = {
            TROUBLED: RuleIndex([Rule(bucket=TROUBLED, arn=arn, events=PUTS) for arn in arns]),
            OTHER: RuleIndex([Rule(bucket=OTHER, arn=HOOK, events=PUTS)]),
        }
        self._at_once = 1
        self.all = self.simulation.sqs.add(SimulatedQueue("sqs/all"))
        self.simulation.sqs.trouble = self._wait

    def fanout(self, client: Any) -> Fanout:
        return Fanout(
            "sqs/B-*",
            client,
            deployed={HOOK}.__contains__,
            listener_queue=lambda _: "all",
            dynamic_queue=lambda _: "all",
        )

    def _wait(self, operation: str) -> None:
        if self.simulation.clock.wait and operation == "SendMessageBatch":
            self.simulation.clock.now += SQS_SECONDS / self._at_once

    @contextmanager
    def side_by_side(self, most: int) -> Iterator[None]:
        self._at_once = most
        yield
        self._at_once = 1


class _Pool:
    """Threads that share the time of what they do."""

    def __init__(self, one: Users, most: int) -> None:
        self._one, self._most = one, most

    def map(self, work: Callable[[Any], Any], inputs: Iterable[Any]) -> list[Any]:
        with self._one.side_by_side(self._most):
            return [work(each) for each in inputs]


def of_a_user(arns: Iterable[str]) -> Seen:
    """Play minutes in which a user's bucket and another one get an event a second each."""
    one = Users(arns)
    todo: Actions = {}
    for second in range(DURATION):
        todo[second + 0.5] = partial(one.put_one, TROUBLED, second)
        todo[float(second)] = partial(one.put_one, OTHER, second)
    with patch("bucketcast.ingest.fanout.ThreadPoolExecutor", partial(_Pool, one)):
        one.run(DURATION + MINUTE, todo)
    missing = len(one.all.messages) < DURATION
    return Seen(
        one.delays(OTHER),
        dollars=price(one.simulation) / (DURATION / HOUR),
        faults=("events lost",) if missing else (),
    )


CELLS = (
    Cell(
        "a user",
        f"{MOST_LISTENERS} listeners hear every event of a bucket, and none reads",
        partial(of_a_user, [ListenerArn(f"l{n}").arn for n in range(MOST_LISTENERS)]),
    ),
    Cell(
        "a user",
        f"each event of a bucket goes to {MOST_TENANT_NOTIFICATIONS} topics",
        partial(
            of_a_user, [TopicArn("r", "t", f"t{n}").arn for n in range(MOST_TENANT_NOTIFICATIONS)]
        ),
    ),
)
