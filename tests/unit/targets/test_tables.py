"""The common part of the databases: a batch is split until refused rows are alone."""

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace

import pytest

from bucketcast.errors import DeliveryError, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.mirror.rows import MergedState, StoredRow
from bucketcast.targets.base.tables import TableTarget
from tests.unit.samples import event


class Connection:
    def close(self) -> None:
        pass


class Table(TableTarget[Connection]):
    """A table that refuses keys with "bad" in them."""

    where = "nowhere"

    def __init__(self) -> None:
        settings = SimpleNamespace(shape="minio", opaque_data="", table="t", format="namespace")
        super().__init__(settings)
        self.now = 0.0
        self.seconds = 0.0
        self.written: list[list[str]] = []

    def probe(self) -> None:
        raise NotImplementedError

    def partitions(self, count: int) -> list[str]:
        raise NotImplementedError

    def stored_rows(self, partition: str, prefix: str) -> Iterator[StoredRow]:
        raise NotImplementedError

    def merged_states(self, paths: Sequence[str]) -> dict[str, MergedState]:
        raise NotImplementedError

    def _connect(self) -> Connection:
        return Connection()

    def _watch(self, _connection: Connection, _seconds: float) -> AbstractContextManager[None]:
        return nullcontext()

    def _write(self, events: Sequence[Event]) -> DeliveryError | None:
        with self._session():
            self.now += self.seconds
            keys = [event_.key for event_ in events]
            self.written.append(keys)
            return Rejected("no") if any("bad" in key for key in keys) else None


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    opened = Table()
    monkeypatch.setattr(time, "monotonic", lambda: opened.now)
    return opened


def test_a_refused_row_is_found_by_halving(table: Table) -> None:
    failures = table.send([event(key) for key in ("a", "bad", "c")])
    assert {index: type(error) for index, error in failures.items()} == {1: Rejected}
    assert table.written == [["a", "bad", "c"], ["a"], ["bad", "c"], ["bad"], ["c"]]


def test_no_transaction_begins_after_the_time_for_the_batch(table: Table) -> None:
    table.seconds = table.timeout + 1  # to connect, and until the row is refused
    failures = table.send([event("a"), event("bad")])
    assert [type(error) for error in failures.values()] == [Retryable, Retryable]
    assert table.written == [["a", "bad"]]
    assert table.now <= table.max_send_seconds
