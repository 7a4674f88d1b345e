"""Records as relays write them: the same JSON with blanks, and JSON that not every product reads.

An event that a product's script or statement trips over is buried alone, whatever comes with it.
"""

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest

from bucketcast import sources
from bucketcast.delivery.breaker import Breaker, LocalStore
from bucketcast.delivery.connection import Connection
from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.dead_letters import Dead
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.delivery.messages import Message
from bucketcast.delivery.policy import Policy
from bucketcast.delivery.queue import Outgoing, Queue
from bucketcast.delivery.sender import Sender as Work
from bucketcast.event import Event
from bucketcast.shapes import minio
from tests.contract.mirrors import rows
from tests.contract.oracle import visible
from tests.contract.trial import DELETE, Sender, Trial, bounded, event, recorded

TAGGED = "s3:ObjectCreated:PutTagging"
COMPACT, BLANKS = (",", ":"), (" ,\n  ", "\t: ")
ODD = {
    "a NUL": r'"\u0000"',
    "a number beyond all floats": "1e999",
    "a number of many digits": "1" * 400,
    "deep nesting": "[" * 300 + "]" * 300,
    "a text with brackets": r'"}]},\"source\":{\\"',
    "an escaped name": r'"", "eve\u006etName": "s3:ObjectCreated:Put"',
}


def relayed(one: Event, separators: tuple[str, str] = COMPACT, odd: str = '""') -> Event:
    """The event as it is read from MinIO's record of it; `odd` is in a part that is not read."""
    record = json.loads(minio.records(one))["Records"][0]
    record["source"]["host"] = "mark"
    body = json.dumps({"EventName": one.name, "Records": [record]}, separators=separators)
    (read,) = sources.events(body.replace('"mark"', odd))
    return read


def tagged(key: str, at: int) -> Event:
    """As MinIO reports it: with the object's sequencer."""
    return event(key, at, TAGGED, sequencer="5", size=5, etag="e5")


@pytest.mark.parametrize("separators", [COMPACT, BLANKS], ids=["compact", "blanks"])
@pytest.mark.parametrize("size", [1, 20], ids=["one by one", "at once"])
def test_blanks_in_a_record_change_nothing(
    mirror: Trial, separators: tuple[str, str], size: int
) -> None:
    sent = []
    for key in ("a", "b"):
        sent += [event(key, 5), tagged(key, 7), tagged(key, 6), event(key, 4, DELETE)]
    sent += [event("b", 9, DELETE), event("b", 8)]
    read = [relayed(each, separators) for each in sent]
    sender = mirror.sender()
    for start in range(0, len(read), size):
        assert sender.send(read[start : start + size]) == {}
    assert rows(mirror.arrivals()) == visible(sent)


class Buried(Consumer):
    """A way out of the queue that takes what is dead, and nothing else."""

    def __init__(self) -> None:
        nobody: Any = None
        super().__init__(Queue("queue", nobody), self.take)
        self.dead: list[Dead] = []

    def take(self, dead: Sequence[Dead]) -> set[int]:
        self.dead += dead
        return set()

    def send(self, messages: Sequence[Outgoing]) -> set[int]:
        raise AssertionError(messages)


def dispatched(sender: Sender, events: Sequence[Event]) -> list[str]:
    """Dispatch the events in one batch; the keys of those that were buried."""
    now = round(time.time() * 1000)
    messages = [
        Message("id", "receipt", each.body, now, 1)
        for each in pack([Delivery("rule", each) for each in events])
    ]
    queue = Buried()
    work = Work(Connection(lambda _: sender.target), Breaker(LocalStore()), 1_000)
    engine = Engine(queue, work)
    outcome = bounded(lambda: engine(messages, Policy(), now=now, remaining=lambda: 600.0))
    assert (outcome.stay, outcome.retried, outcome.dead) == ([], 0, len(queue.dead))
    assert all(str(each.reason) for each in queue.dead)
    return [one.event.key for each in queue.dead for one in unpack(each.body)]


@pytest.mark.parametrize("what", ODD)
def test_what_the_target_cannot_accept_is_dead_lettered_alone(formatted: Trial, what: str) -> None:
    sender = formatted.sender()
    good = [relayed(event(f"good-{at:03}", at)) for at in range(1, 101)]
    good += [relayed(event("under", 5)), relayed(event("tagged", 5))]
    assert dispatched(sender, [good[0]]) == []
    batch = [*good]
    batch.insert(30, relayed(event("odd", 5), odd=ODD[what]))
    batch.insert(60, relayed(event("under", 6), odd=ODD[what]))
    batch.insert(90, relayed(tagged("tagged", 7), odd=ODD[what]))
    buried = dispatched(sender, batch)
    assert sorted(buried) in ([], ["odd", "tagged", "under"])
    arrived = [recorded(each.body)["s3"]["object"]["key"] for each in formatted.arrivals()]
    if formatted.layout.mirrors:
        assert set(arrived) == {each.key for each in good} | ({"odd"} - {*buried})
        assert len(arrived) == len(set(arrived))
    else:
        assert {each.key for each in good} <= {*arrived}
        assert len(arrived) >= len(good)
