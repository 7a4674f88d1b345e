"""What all mirrors share: an age limit, and expired tombstones that are deleted after a batch."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from bucketcast.errors import NotConnected, Rejected, Retryable, TimedOut
from bucketcast.event import Event
from bucketcast.limits import LONGEST_LIFE_DAYS
from bucketcast.targets.base import Failures
from bucketcast.targets.base.mirror import SWEEP_EVERY, SWEEP_LIMIT, Mirror
from tests.unit.samples import event, kinds_of


def at(days: float) -> str:
    """The time so many days ago."""
    return f"{datetime.now(UTC) - timedelta(days=days):%Y-%m-%dT%H:%M:%S}.000Z"


YOUNG, OLD = at(LONGEST_LIFE_DAYS - 0.5), at(LONGEST_LIFE_DAYS + 0.01)
BATCH = [event("a", time=YOUNG), event("b", time=YOUNG)]


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


def test_what_happened_before_a_mirror_remembers_is_refused_whenever_it_comes(rows: Rows) -> None:
    """A removal after it may be forgotten: an archive that is sent again would bring rows back."""
    put, removal = "s3:ObjectCreated:Put", "s3:ObjectRemoved:Delete"
    batch = [
        event(f"{name} {time}", name=name, time=time)
        for name in (put, removal)
        for time in (OLD, YOUNG)
    ]
    rows.failures = {1: Retryable("busy")}
    failures = rows.send(batch)
    assert rows.calls[0] == [each.key for each in batch if each.time == YOUNG]
    assert kinds_of(failures) == {0: Rejected, 2: Rejected, 3: Retryable}
    assert str(failures[0]) == (
        f"it is of {OLD}, and a mirror takes nothing older than 90 days: bucketcast reconcile "
        "finds and repairs what is missing"
    )
    assert rows.send([batch[0]]).keys() == {0}
    assert rows.calls[1:] == [SWEEP_LIMIT], "nothing is sent"


def test_an_event_from_a_listing_is_as_old_as_that(rows: Rows) -> None:
    batch = [event("of old", time=OLD, listed=YOUNG), event("waited", time=YOUNG, listed=OLD)]
    assert rows.send(batch).keys() == {1}
    assert rows.calls[0] == ["of old"]


def test_what_changes_no_row_may_be_of_any_age(rows: Rows) -> None:
    assert rows.send([event("read", name="s3:ObjectAccessed:Get", time=OLD)]) == {}
    assert Rows(form="access").send([event("a", time=OLD)]) == {}
