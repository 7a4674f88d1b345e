"""The work of the ingress queue, as the engine sees it."""

from typing import Any

import pytest

from bucketcast.delivery.engine import Engine
from bucketcast.delivery.envelope import number_in
from bucketcast.delivery.messages import Message
from bucketcast.delivery.policy import Policy
from bucketcast.destination import TargetArn
from bucketcast.ingest import routing
from bucketcast.ingest.fanout import Fanout
from bucketcast.ingest.intake import Intake
from bucketcast.limits import INGEST_CHUNK_BYTES
from bucketcast.rules import Hit
from tests.unit import samples
from tests.unit.delivery.bench import NOW, FakeQueue

HOOK = TargetArn("primary", "webhook")


class Sqs:
    """Takes everything."""

    def send_message_batch(self, **_: Any) -> dict[str, Any]:
        return {}


class Everything:
    """Rules by which every event goes to one target."""

    def match(self, *_: Any) -> list[Hit]:
        return [Hit(HOOK, "rule")]


class Bench:
    """Four messages of one event each, for which there is no time left once one was routed."""

    def __init__(self, chunk_bytes: int) -> None:
        self.looked_up = 0
        self.queue = FakeQueue()
        sqs: Any = Sqs()
        fanout = Fanout("https://sqs/123/Bucketcast-*", sqs, deployed=lambda _: True)
        engine = Engine(self.queue, Intake(self._rules, None, fanout), chunk_bytes=chunk_bytes)
        bodies = {name: samples.message(samples.record(name)) for name in "abcd"}
        messages = [Message(name, name, body, NOW, 1) for name, body in bodies.items()]
        self.outcome = engine(messages, Policy(), now=NOW, remaining=self._remaining)

    def _rules(self, buckets: frozenset[str]) -> Any:
        self.looked_up += 1
        return dict.fromkeys(buckets, Everything())

    def _remaining(self) -> float:
        return 4.0 if self.looked_up else 30.0


def test_nothing_more_is_routed_when_there_is_no_time_to_send_it() -> None:
    """Each message stays as it is: sent again, it would be one for each of its targets."""
    bench = Bench(chunk_bytes=1)
    assert (bench.looked_up, len(bench.queue.sent)) == (1, 1)
    assert bench.outcome.stay == ["b", "c", "d"]
    assert {*bench.queue.pauses.values()} == {0}


def test_nor_is_more_of_a_chunk_whose_copies_would_take_too_much_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(routing, "INGEST_COPIES", 1)
    bench = Bench(chunk_bytes=INGEST_CHUNK_BYTES)
    assert (bench.looked_up, bench.outcome.stay) == (1, [])
    sent = {message.history.to: number_in(message.body) for message in bench.queue.sent}
    assert sent == {HOOK.arn: 1, "": 3}, "these were not routed: they are for all of their targets"
