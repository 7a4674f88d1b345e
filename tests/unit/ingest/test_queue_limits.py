"""A target whose queue may be full, by its limit and by SQS's count of messages."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from bucketcast import targets
from bucketcast.destination import Destination
from bucketcast.ingest.queue_limits import QueueLimits
from bucketcast.settings.options import read
from bucketcast.state.dynamic_targets import DynamicTarget
from bucketcast.targets.base.options import queue_limit_of
from bucketcast.topics.aws.destination_cache import DestinationCache

HOOK = "arn:minio:sqs::primary:webhook"
URL = "https://sqs/1/Bucketcast-webhook-primary"


class Queue:
    """A queue of so many messages; None if SQS does not answer."""

    def __init__(self, messages: int | None) -> None:
        self.messages = messages
        self.reads = 0

    def get_queue_attributes(self, **_: Any) -> Any:
        self.reads += 1
        if self.messages is None:
            raise EndpointConnectionError(endpoint_url="https://sqs")
        names = ("", "NotVisible", "Delayed")
        texts = map(str, (self.messages - 2, 1, 1))
        found = zip(names, texts, strict=True)
        return {"Attributes": {f"ApproximateNumberOfMessages{name}": text for name, text in found}}


def limits(queue: Any, limit: int | None = 10) -> QueueLimits:
    return QueueLimits(lambda _: limit, queue)


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
    assert queue_limit_of(settings) == limit


@pytest.mark.parametrize(("messages", "is_full"), [(9, False), (10, True), (11, True)])
def test_a_queue_is_full_of_as_many_messages_as_its_limit(messages: int, *, is_full: bool) -> None:
    assert limits(Queue(messages)).is_full(HOOK, URL) is is_full


def test_only_a_queue_with_a_limit_is_asked_for() -> None:
    queue = Queue(99)
    assert not limits(queue, limit=None).is_full(HOOK, URL)
    assert queue.reads == 0


def test_unknown_queue_is_not_full(caplog: pytest.LogCaptureFixture) -> None:
    assert not limits(Queue(None)).is_full(HOOK, URL)
    assert "what waits is unknown: all is kept" in caplog.text


def test_a_queue_that_does_not_answer_is_asked_once_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each batch waited for the answer."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    queue = Queue(None)
    found = limits(queue)
    for _ in range(120):
        assert not found.is_full(HOOK, URL)
        now[0] += 1
    assert queue.reads == 2


def test_depth_is_read_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    queue = Queue(3)
    found = limits(queue)
    assert (found.is_full(HOOK, URL), queue.reads) == (False, 1)
    queue.messages = 10
    assert (found.is_full(HOOK, URL), queue.reads) == (False, 1)
    assert (found.is_full(HOOK, f"{URL}-other"), queue.reads) == (True, 2)
    now[0] += 1.5
    assert (found.is_full(HOOK, URL), queue.reads) == (True, 3)


@pytest.mark.parametrize("key", ["queue_limit", "queue_overflow"])
def test_ingest_reads_no_secret(key: str) -> None:
    target = targets.load("webhook")
    settings = read(target.Settings, {"endpoint": "https://h", key: "secret:limit"})
    wrong = (key, "found a reference to a secret", "allowed is the text itself")
    assert target.check(settings) == [wrong]


def test_a_run_time_target_has_the_limit_of_its_settings() -> None:
    made = DynamicTarget(
        arn=HOOK,
        kind="webhook",
        id="primary",
        queue="q",
        settings={"queue_overflow": "discard", "queue_limit": "7"},
        number=1,
    )
    table: Any = SimpleNamespace(version=lambda: 1, target=lambda _: made)
    found = DestinationCache(table, table, "prefix")
    assert found.limit(HOOK) is None, "not asked for yet"
    assert (found.queue(Destination.of(HOOK)), found.limit(HOOK)) == ("q", 7)


def test_a_table_that_does_not_answer_is_asked_once_a_batch() -> None:
    """Each event of a batch waited for it, until the function was killed."""
    asked = []

    def version() -> int:
        asked.append(1)
        raise EndpointConnectionError(endpoint_url="https://dynamodb")

    table: Any = SimpleNamespace(version=version)
    found = DestinationCache(table, table, "prefix")
    for batches in (1, 2):
        found.begin()
        for _ in range(3):
            with pytest.raises(EndpointConnectionError):
                found.queue(Destination.of(HOOK))
        assert len(asked) == batches
