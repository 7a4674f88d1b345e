"""The work of the ingress queue, as the engine sees it."""

from typing import Any

from bucketcast.delivery.engine import Engine
from bucketcast.delivery.messages import Message
from bucketcast.delivery.policy import Policy
from bucketcast.destination import TargetArn
from bucketcast.ingest.fanout import Fanout
from bucketcast.ingest.intake import Intake
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


def test_nothing_more_is_routed_when_there_is_no_time_to_send_it() -> None:
    """Each message stays as it is: sent again, it would be one for each of its targets."""
    looked_up: list[frozenset[str]] = []

    def rules(buckets: frozenset[str]) -> Any:
        looked_up.append(buckets)
        return dict.fromkeys(buckets, Everything())

    sqs: Any = Sqs()
    queue = FakeQueue()
    fanout = Fanout("https://sqs/123/Bucketcast-*", sqs, deployed=lambda _: True)
    engine = Engine(queue, Intake(rules, None, fanout), chunk_bytes=1)
    messages = [Message(name, name, samples.message(), NOW, 1) for name in "abcd"]
    outcome = engine(messages, Policy(), now=NOW, remaining=lambda: 4.0 if looked_up else 30.0)
    assert (len(looked_up), len(queue.sent), outcome.stay) == (1, 1, ["b", "c", "d"])
    assert {*queue.pauses.values()} == {0}
