"""What all mirrors share: expired tombstones are deleted after a batch, and cost it nothing."""

import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from bucketcast.errors import NotConnected, Retryable, TimedOut
from bucketcast.event import Event
from bucketcast.targets.base import Failures
from bucketcast.targets.base.mirror import SWEEP_EVERY, SWEEP_LIMIT, Mirror
from tests.unit.samples import event

BATCH = [event("a"), event("b")]


class Rows(Mirror):
    """A mirror with so many expired tombstones; `calls` are what it did, in order."""

    where = "somewhere"

    def __init__(self, expired: int = 0, form: str = "namespace") -> None:
        super().__init__(SimpleNamespace(shape="minio", opaque_data="", format=form))
        self.expired = expired
        self.now = 1.0
        self.failures: Failures = {}
        self.error: Exception | None = None
        self.calls: list[Any] = []

    def _deliver(self, events: Sequence[Event]) -> Failures:
        self.calls.append([event.key for event in events])
        return self.failures

    def _sweep(self, limit: int) -> int:
        self.calls.append(limit)
        if self.error:
            raise self.error
        deleted = min(limit, self.expired)
        self.expired -= deleted
        return deleted

    def probe(self) -> None: ...
    def close(self) -> None: ...
    def partitions(self, count: int) -> list[str]:
        raise NotImplementedError

    stored_rows = merged_states = partitions  # type: ignore[assignment]


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> Rows:
    opened = Rows()
    monkeypatch.setattr(time, "monotonic", lambda: opened.now)
    return opened


def test_a_batch_is_written_before_tombstones_are_deleted_hourly(rows: Rows) -> None:
    for _ in range(2):
        assert rows.send(BATCH) == {}
    assert rows.calls == [["a", "b"], SWEEP_LIMIT, ["a", "b"]]
    rows.now += SWEEP_EVERY + 1
    rows.send(BATCH)
    assert rows.calls[3:] == [["a", "b"], SWEEP_LIMIT]


def test_while_there_are_many_some_are_deleted_after_each_batch(rows: Rows) -> None:
    rows.expired = 2 * SWEEP_LIMIT + 1
    for _ in range(4):
        rows.send(BATCH)
    assert rows.expired == 0
    assert rows.calls.count(SWEEP_LIMIT) == 3


def test_a_deletion_that_fails_is_a_log_line_and_smaller_next_time(
    rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    rows.error = TimedOut("no answer within 2 s")
    for number in range(3):
        assert rows.send(BATCH) == {}
        assert rows.calls[-1] == SWEEP_LIMIT // 2**number
        assert rows.send(BATCH) == {}  # not with each batch
        assert rows.calls[-1] == ["a", "b"]
        rows.now += SWEEP_EVERY + 1
    assert [vars(record)["reason"] for record in caplog.records] == ["no answer within 2 s"] * 3
    rows.error = None
    rows.send(BATCH)
    rows.now += SWEEP_EVERY + 1
    rows.send(BATCH)
    assert [call for call in rows.calls if isinstance(call, int)][-2:] == [
        SWEEP_LIMIT // 8,
        SWEEP_LIMIT // 4,
    ]


def test_nothing_is_deleted_after_a_batch_that_failed_as_a_whole(rows: Rows) -> None:
    rows.failures = dict.fromkeys(range(2), NotConnected("gone"))
    assert rows.send(BATCH) == rows.failures
    assert rows.calls == [["a", "b"]]
    rows.failures = {0: Retryable("locked")}
    rows.send(BATCH)
    assert rows.calls[1:] == [["a", "b"], SWEEP_LIMIT]


def test_a_log_of_events_has_no_tombstones() -> None:
    log = Rows(form="access")
    log.send(BATCH)
    assert log.calls == [["a", "b"]]
