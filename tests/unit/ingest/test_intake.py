"""The work of the ingress queue, as the engine sees it."""

from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from bucketcast.delivery.engine import Engine
from bucketcast.delivery.envelope import number_in
from bucketcast.delivery.messages import Message, Outcome
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
    """Rules by which every event goes to these targets."""

    def __init__(self, *targets: TargetArn) -> None:
        self._hits = [Hit(target, "rule") for target in targets]

    def match(self, *_: Any) -> list[Hit]:
        return self._hits


def routed(chunk_bytes: int, *targets: TargetArn) -> tuple[int, FakeQueue, Outcome]:
    """Four messages of an event each, for which there is no time left once one was routed."""
    looked_up: list[frozenset[str]] = []

    def rules(buckets: frozenset[str]) -> Any:
        looked_up.append(buckets)
        return dict.fromkeys(buckets, Everything(*targets))

    sqs: Any = Sqs()
    queue = FakeQueue()
    fanout = Fanout("https://sqs/123/Bucketcast-*", sqs, deployed=lambda _: True)
    engine = Engine(queue, Intake(rules, None, fanout), chunk_bytes=chunk_bytes)
    bodies = {name: samples.message(samples.record(name)) for name in "abcd"}
    messages = [Message(name, name, body, NOW, 1) for name, body in bodies.items()]
    outcome = engine(messages, Policy(), now=NOW, remaining=lambda: 4.0 if looked_up else 30.0)
    return len(looked_up), queue, outcome


def test_nothing_more_is_routed_when_there_is_no_time_to_send_it() -> None:
    """Each message stays as it is: sent again, it would be one for each of its targets."""
    looked_up, queue, outcome = routed(1, HOOK)
    assert (looked_up, len(queue.sent), outcome.stay) == (1, 1, ["b", "c", "d"])
    assert {*queue.pauses.values()} == {0}


@pytest.mark.parametrize(
    ("limit", "most", "targets"),
    [
        ("INGEST_COPIES", 1, [HOOK]),
        ("INGEST_MATCH_SECONDS", 1.5, [HOOK]),
        ("INGEST_MATCH_SECONDS", 1.5, []),
    ],
)
def test_nor_is_more_of_a_chunk_that_would_take_too_much_memory_or_time(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: float, targets: list[TargetArn]
) -> None:
    clock = SimpleNamespace(monotonic=count().__next__)  # a second an event
    monkeypatch.setattr(routing, "time", clock)
    monkeypatch.setattr(routing, "_LOOKS_AT_CLOCK", 1)
    monkeypatch.setattr(routing, limit, most)
    looked_up, queue, _ = routed(INGEST_CHUNK_BYTES, *targets)
    sent = {message.history.to: number_in(message.body) for message in queue.sent}
    assert (looked_up, sent) == (1, dict.fromkeys([each.arn for each in targets], 1) | {"": 3}), (
        "what was not routed is for all of its targets"
    )
