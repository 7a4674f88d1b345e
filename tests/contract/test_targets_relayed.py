"""Records with JSON that not every product reads: such an event is dead-lettered alone."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from bucketcast import sources
from bucketcast.delivery.breaker import Breaker, LocalStore
from bucketcast.delivery.connection import Connection
from bucketcast.delivery.consumer import Consumer
from bucketcast.delivery.dead_letters import Dead
from bucketcast.delivery.engine import Engine
from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.delivery.heartbeat import Heartbeat
from bucketcast.delivery.messages import Message
from bucketcast.delivery.policy import Policy
from bucketcast.delivery.queue import Outgoing, Queue
from bucketcast.delivery.sender import Sender as Work
from bucketcast.event import Event
from bucketcast.shapes import minio
from tests.contract.case import Case, Sender, bounded, event, record_of

TAGGED = "s3:ObjectCreated:PutTagging"
ODD = {
    "a NUL": r'"\u0000"',
    "a number beyond all floats": "1e999",
    "a number of many digits": "1" * 400,
    "deep nesting": "[" * 300 + "]" * 300,
    "a text with brackets": r'"}]},\"source\":{\\"',
    "an escaped name": r'"", "eve\u006etName": "s3:ObjectCreated:Put"',
}


def relayed(event_: Event, odd: str = '""') -> Event:
    """Return the event parsed from MinIO's record; `odd` is in a part that is not parsed."""
    record = json.loads(minio.records(event_))["Records"][0]
    record["source"]["host"] = "mark"
    body = json.dumps({"EventName": event_.name, "Records": [record]}, separators=(",", ":"))
    (parsed,) = sources.events(body.replace('"mark"', odd))
    return parsed


def tagged(key: str, at: int) -> Event:
    """As MinIO reports it: with the object's sequencer."""
    return event(key, at, TAGGED, sequencer="5", size=5, etag="e5")


class DeadLetters(Consumer):
    """A consumer that accepts dead letters only."""

    def __init__(self) -> None:
        no_client: Any = None
        super().__init__(Queue("queue", no_client), self.record)
        self.dead: list[Dead] = []

    def record(self, dead: Sequence[Dead]) -> set[int]:
        self.dead += dead
        return set()

    def send(self, messages: Sequence[Outgoing]) -> set[int]:
        raise AssertionError(messages)

    def heartbeat(self, seconds: Mapping[str, int], first: float) -> Heartbeat:  # noqa: ARG002
        """A busy machine may work so long that messages were kept, but there is no SQS."""
        return super().heartbeat({}, first)


def dispatch(sender: Sender, events: Sequence[Event]) -> list[str]:
    """Dispatch the events in one batch; return the keys of the dead-lettered ones."""
    now = round(time.time() * 1000)
    messages = [
        Message("id", "receipt", letter.body, now, 1)
        for letter in pack([Delivery("rule", letter) for letter in events])
    ]
    queue = DeadLetters()
    work = Work(Connection(lambda _: sender.target), Breaker(LocalStore()), 1_000)
    engine = Engine(queue, work)
    outcome = bounded(lambda: engine(messages, Policy(), now=now, remaining=lambda: 600.0))
    assert (outcome.stay, outcome.retried, outcome.dead) == ([], 0, len(queue.dead))
    assert all(str(letter.reason) for letter in queue.dead)
    return [delivery.event.key for letter in queue.dead for delivery in unpack(letter.body)]


def test_events_that_the_target_refuses_are_dead_lettered_alone(formatted: Case) -> None:
    sender = formatted.sender()
    good = [relayed(event(f"good-{at:03}", at)) for at in range(1, 101)]
    for number in range(len(ODD)):
        good += [relayed(event(f"under-{number}", 5)), relayed(event(f"tagged-{number}", 5))]
    assert dispatch(sender, [good[0]]) == []
    batch = [*good]
    for number, odd in enumerate(ODD.values()):
        batch.insert(30, relayed(event(f"odd-{number}", 5), odd))
        batch.insert(60, relayed(event(f"under-{number}", 6), odd))
        batch.insert(90, relayed(tagged(f"tagged-{number}", 7), odd))
    rejected = dispatch(sender, batch)
    refused = [number for number in range(len(ODD)) if f"odd-{number}" in rejected]
    names = ("odd", "tagged", "under")
    assert sorted(rejected) == [f"{name}-{number}" for name in names for number in refused]
    arrived = [record_of(each.body)["s3"]["object"]["key"] for each in formatted.arrivals()]
    taken = {f"odd-{number}" for number in range(len(ODD)) if number not in refused}
    assert {put.key for put in good} | taken == {*arrived}
    if formatted.layout.mirrors:
        assert len(arrived) == len(set(arrived))
