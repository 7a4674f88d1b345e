"""FIFO queues drop what has a token they know: repeats, and never another rule's copy.

The model of it is one line: of each (event, rule) at least one copy, and no more than one for each
time that it was sent more than five minutes after the last.
"""

from collections import Counter
from random import Random
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bucketcast.delivery.envelope import Delivery, unpack
from bucketcast.delivery.messages import Item, Message
from bucketcast.destination import TopicArn
from bucketcast.ingest.fanout import Fanout
from tests.unit.samples import event
from tests.unit.simulation.delivering import Delivering, Phase
from tests.unit.simulation.sqs import DAY, DEDUPLICATION, SimulatedQueue, SimulatedSqs
from tests.unit.simulation.test_dispatch_weeks import EXAMPLES

RULES = st.sampled_from([("one", True), ("two", True), ("0123456789abcdef", False)])
SENDS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, DEDUPLICATION - 1, DEDUPLICATION, 3 * DAY]),
        st.lists(st.tuples(st.sampled_from("abc"), RULES), min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=10 * EXAMPLES)
@given(sends=SENDS)
def test_each_rule_gets_one_copy_within_five_minutes(
    sends: list[tuple[int, list[tuple[str, tuple[str, bool]]]]],
) -> None:
    one = Delivering([Phase(30, "up")], fifo=True)
    model: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], float] = {}
    for wait, copies in sends:
        one.simulation.clock.now += wait
        made = [Delivery(rule, event(key), named) for key, (rule, named) in copies]
        one.fan_out(made)
        for key, (rule, _) in copies:
            if one.simulation.clock.now - last.get((key, rule), -DAY) >= DEDUPLICATION:
                model[key, rule] += 1
                last[key, rule] = one.simulation.clock.now
    kept = Counter(
        (each.event.key, each.rule)
        for message in one.queue.arrived
        for each in unpack(message.body)
    )
    assert kept == model


@settings(max_examples=EXAMPLES)
@given(st.lists(st.sampled_from(["one", "two", "three"]), min_size=1, max_size=3, unique=True))
def test_each_copy_survives_its_dead_letter_and_a_redrive(rules: list[str]) -> None:
    one = Delivering([Phase(13.4, "down"), Phase(30, "up")], fifo=True, grain=60)
    made = [Delivery(rule, event("a"), named=True) for rule in rules]
    one.fan_out(made)
    one.simulation.run(days=15, actions={13.4 * DAY: one.redrive, 13.4 * DAY + 60: one.redrive})
    assert one.target.taken == Counter(f"a {rule}" for rule in rules)


def test_events_of_a_topic_with_the_longest_name_are_taken_in_order() -> None:
    """SQS refused all of them: their group was the topic's ARN, and longer than groups may be."""
    sqs: Any = SimulatedSqs(lambda: 0.0, Random(0))  # noqa: S311 - no secret
    queue = sqs.add(SimulatedQueue("sqs/topic.fifo"))
    fanout = Fanout("sqs/*", sqs, deployed=lambda _: False, dynamic_queue=lambda _: "topic.fifo")
    received: Any = SimpleNamespace(message=Message("m", "r", "", 0, 1))
    routed = [Item(received, Delivery("rule", event(key))) for key in "abc"]
    topic = TopicArn("eu-west-1", "tenant", "n" * 256)
    assert not [*fanout.send({topic: routed}, lambda: 60.0)]
    assert not sqs.refused
    assert len({kept.group for kept in queue.arrived}) == 1
    assert len(queue.arrived) == 3
