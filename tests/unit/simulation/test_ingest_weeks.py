"""Ingest while something of ours, or of AWS', is broken for days: nothing is lost or repeated."""

from collections import Counter
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bucketcast import sources
from bucketcast.delivery.envelope import is_envelope, unpack
from bucketcast.delivery.policy import ATTRIBUTE, History
from bucketcast.event import Event
from bucketcast.rules import Rule, RuleIndex
from tests.unit.simulation.ingesting import GONE, HOOK, TABLE, Actions, Ingesting
from tests.unit.simulation.lambdas import CrashError
from tests.unit.simulation.sqs import DAY, HOUR, SimulatedQueue
from tests.unit.simulation.test_dispatch_weeks import EXAMPLES

RULES = {
    "uploads": RuleIndex(
        Rule(bucket="uploads", arn=arn, events=("s3:ObjectCreated:*",))
        for arn in (HOOK, TABLE, GONE)
    )
}


class Outage(Ingesting):
    """Ingest in which DynamoDB may be down, and a message may crash the function."""

    rules = RULES

    def __init__(self, *, seed: int = 0, grain: float = 10.0, fifo: bool = False) -> None:
        super().__init__(seed=seed, grain=grain, end=".fifo" if fifo else "")
        self.dynamodb_down = False
        self.crashes_on = ""
        self.put_keys: list[str] = []
        self._is_bomb = False

    def look_up(self, buckets: frozenset[str]) -> Mapping[str, RuleIndex]:
        if self._is_bomb and buckets:
            self._is_bomb = False
            raise CrashError
        if self.dynamodb_down:
            raise ConnectionError("DynamoDB does not answer")
        return super().look_up(buckets)

    def on_call(self, bodies: list[str]) -> None:
        if self.crashes_on:
            self._is_bomb = any(self.crashes_on in body for body in bodies)

    def put(self, *keys: str) -> None:
        self.send(*keys)
        self.put_keys += keys

    def got(self, queue: SimulatedQueue) -> Counter[str]:
        return Counter(one.event.key for kept in queue.arrived for one in unpack(kept.body))

    def letters(self) -> Counter[str]:
        return Counter(event.key for kept in self.dead.arrived for event in _events(kept.body))

    def check(self) -> None:
        self.simulation.sqs.check(self.ingress)


def _events(body: str) -> list[Event]:
    """The events of a dead letter: as their source sent them, or in an envelope."""
    if is_envelope(body):
        return [each.event for each in unpack(body)]
    return sources.events(body)


@pytest.mark.parametrize("fifo", [False, True])
@pytest.mark.parametrize("code", ["AccessDenied", "InternalError"])
def test_a_queue_that_refuses_for_a_day_gives_its_neighbours_nothing_again(
    code: str, *, fifo: bool
) -> None:
    """While one was read again for another's sake, neighbours got their events 100 times."""
    one = Outage(fifo=fifo)
    one.table.refuses = code
    one.put("a", "b", "c")
    one.simulation.run(days=1.1, actions={DAY: lambda: setattr(one.table, "refuses", "")})
    one.check()
    assert one.got(one.hook) == one.got(one.table) == Counter("abc")
    assert not one.dead.arrived


def test_events_of_a_refusing_queue_are_dead_and_can_be_redriven() -> None:
    one = Outage(grain=60)
    one.table.refuses = "AccessDenied"
    one.put("a", "b")
    again: Actions = {
        15 * DAY: lambda: setattr(one.table, "refuses", ""),
        15 * DAY + 1: lambda: one.simulation.sqs.redrive(one.dead, one.ingress),
    }
    one.simulation.run(days=16, actions=again)
    one.check()
    assert one.got(one.hook) == one.got(one.table) == Counter("ab")
    reasons = {kept.attributes["reason"]["StringValue"] for kept in one.dead.arrived}
    assert all("(given up after 13" in each for each in reasons)
    first = min(kept.sent for kept in one.ingress.arrived)
    arrived = {each.created for kept in one.dead.arrived for each in unpack(kept.body)}
    assert arrived == {round(first * 1_000)}


@settings(max_examples=EXAMPLES)
@given(
    outages=st.lists(
        st.tuples(
            st.sampled_from(["dynamodb", "denied", "broken", "poison"]),
            st.integers(0, 10 * 24),
            st.sampled_from([1, 30, 24 * 3, 24 * 14]),
        ),
        max_size=3,
    ),
    puts=st.lists(st.integers(0, 12 * 24), min_size=1, max_size=4),
    redrive=st.booleans(),
    seed=st.integers(0, 9),
)
def test_every_message_reaches_every_target_or_is_dead_with_a_reason(
    *, outages: list[tuple[str, int, int]], puts: list[int], redrive: bool, seed: int
) -> None:
    one = Outage(seed=seed, grain=60)
    switches: dict[str, Callable[[bool], None]] = {
        "dynamodb": lambda on: setattr(one, "dynamodb_down", on),
        "denied": lambda on: setattr(one.table, "refuses", "AccessDenied" * on),
        "broken": lambda on: setattr(one.hook, "refuses", "InternalError" * on),
        "poison": lambda on: setattr(one, "crashes_on", "k0" if on else ""),
    }
    todo: Actions = {}
    for n, (what, hour, hours) in enumerate(outages):
        switch = switches[what]
        todo[hour * HOUR + n / 10] = lambda switch=switch: switch(True)  # type: ignore[misc]  # noqa: FBT003
        todo[(hour + hours) * HOUR + n / 10] = lambda switch=switch: switch(False)  # type: ignore[misc]  # noqa: FBT003
    for n, hour in enumerate(puts):
        todo[hour * HOUR + 1 + n] = lambda n=n: one.put(f"k{n}")  # type: ignore[misc]
    if redrive:
        todo[40 * DAY] = lambda: one.simulation.sqs.redrive(one.dead, one.ingress)
    one.simulation.run(days=60, actions=todo)
    one.check()
    addressed = Counter[tuple[str, str]]()
    plain = Counter[str]()
    for kept in one.dead.arrived:
        told = kept.attributes.get(ATTRIBUTE, {"StringValue": ""})
        to = History.read(told["StringValue"]).to
        if to:
            addressed.update((to, event.key) for event in _events(kept.body))
        else:
            plain.update(event.key for event in _events(kept.body))
    for key in one.put_keys:
        for arn, queue in ((HOOK, one.hook), (TABLE, one.table)):
            assert one.got(queue)[key] or plain[key] or addressed[arn, key], (arn, key)
