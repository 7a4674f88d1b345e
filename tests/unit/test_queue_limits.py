"""A target whose queue is full: what is discarded, what is counted, and what is never discarded."""

import time
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from bucketcast import targets
from bucketcast.aws.counters import HourCounts
from bucketcast.aws.queue_limits import QueueLimits
from bucketcast.aws.runtime.queue_cache import QueueCache
from bucketcast.delivery.envelope import Delivery
from bucketcast.delivery.queue_limit import limit_of
from bucketcast.ingest import TargetBatch
from bucketcast.queues.overflow import Came, Overflow
from bucketcast.runtime.model import RuntimeTarget
from bucketcast.settings.options import read
from tests.unit.made import event

HOOK = "arn:minio:sqs::primary:webhook"
HOUR = 3_600_000


class Counted:
    """Counters that say how many events are open."""

    def __init__(self, *opened: int) -> None:
        self.opened = list(opened)
        self.read = 0

    def hours(self, arn: str) -> Mapping[str, Mapping[int, HourCounts]]:
        self.read += 1
        if not self.opened:
            raise EndpointConnectionError(endpoint_url="https://dynamodb")
        number = self.opened.pop(0) if len(self.opened) > 1 else self.opened[0]
        return {arn: {7: HourCounts(received=number + 5, sent=4), 6: HourCounts(sent=1)}}


def limits(counted: Any, messages: int | None = 100, limit: int | None = 10) -> QueueLimits:
    return QueueLimits(lambda _: limit, lambda _: messages, counted)


def batch(*keys: str, created: int = 7 * HOUR) -> TargetBatch:
    made = [Delivery("rule", event(key), created=created) for key in keys]
    return TargetBatch(made, list(keys))


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        ({}, None),
        ({"queue_limit": "5"}, None),
        ({"queue_overflow": "keep", "queue_limit": "5"}, None),
        ({"queue_overflow": "discard"}, 100_000),
        ({"queue_overflow": "discard", "queue_limit": "0"}, 100_000),
        ({"queue_overflow": "DISCARD", "queue_limit": "5"}, 5),
    ],
)
def test_only_discard_makes_a_limit(settings: dict[str, str], limit: int | None) -> None:
    assert limit_of(settings) == limit


def test_room_is_what_the_limit_leaves() -> None:
    assert limits(Counted(7)).room(HOOK, 5) == 3
    assert limits(Counted(7)).room(HOOK, 2) == 2
    assert limits(Counted(10)).room(HOOK, 5) == 0
    assert limits(Counted(12), messages=1).room(HOOK, 5) == 0
    assert limits(Counted(7), limit=None).room(HOOK, 5) == 5
    assert limits(Counted(7)).limits(HOOK)
    assert not limits(Counted(7), limit=None).limits(HOOK)


@pytest.mark.parametrize(
    ("counted", "messages"),
    [(Counted(), 9), (Counted(10), 0), (Counted(10), None), (Counted(9), 0), (Counted(9), None)],
)
def test_what_is_not_certain_discards_nothing(counted: Counted, messages: int | None) -> None:
    assert limits(counted, messages).room(HOOK, 10) == 10


def test_what_fills_a_queue_within_a_second_is_confirmed_too() -> None:
    found = limits(Counted(9), messages=0)
    assert found.room(HOOK, 1) == 1
    found.sent(HOOK, 1)
    assert found.room(HOOK, 4) == 4, "by the counts it is full, and SQS has no message"
    found.sent(HOOK, 4)
    assert found.room(HOOK, 10) == 6, "the messages that this function sent itself are there"


def test_what_waits_is_read_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    counted = Counted(3, 9)
    found = limits(counted)
    assert found.room(HOOK, 9) == 7
    found.sent(HOOK, 4)
    assert (found.room(HOOK, 9), counted.read) == (3, 1)
    now[0] += 1.5
    assert (found.room(HOOK, 9), counted.read) == (1, 2)


def test_the_newest_events_are_discarded_and_all_are_counted() -> None:
    overflow = Overflow(limits(Counted(8)))
    left = overflow.fitting(HOOK, batch("a", "b", "c"))
    assert ([each.event.key for each in left.deliveries], left.origins) == (["a", "b"], ["a", "b"])
    overflow.sent(HOOK, left.deliveries)
    came, discarded = overflow.take()
    assert came == {HOOK: {7: Came(3, 1)}}
    assert [each.key for each in discarded[HOOK]] == ["c"]
    assert overflow.take() == ({}, {})
    again = overflow.fitting(HOOK, batch("d"))
    assert again.deliveries == [], "what this function sent itself fills the queue"


@pytest.mark.parametrize("key", ["queue_limit", "queue_overflow"])
def test_ingest_reads_no_secret(key: str) -> None:
    target = targets.load("webhook")
    settings = read(target.Settings, {"endpoint": "https://h", key: "secret:limit"})
    wrong = (key, "found a reference to a secret", "allowed is the text itself")
    assert target.check(settings) == [wrong]


def test_a_run_time_target_has_the_limit_of_its_settings() -> None:
    made = RuntimeTarget(
        arn=HOOK,
        kind="webhook",
        id="primary",
        queue="q",
        settings={"queue_overflow": "discard", "queue_limit": "7"},
        number=1,
    )
    table: Any = SimpleNamespace(version=lambda: 1, target=lambda _: made)
    found = QueueCache(table, table, "prefix")
    assert found.limit(HOOK) is None, "not asked for yet"
    assert (found.queue(HOOK), found.limit(HOOK)) == ("q", 7)
