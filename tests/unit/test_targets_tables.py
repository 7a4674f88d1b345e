"""What the databases share: claims, and a batch that is split until refused rows are alone."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace

import pytest

from bucketcast.errors import DeliveryError, Foreign, Rejected, Retryable
from bucketcast.event import Event
from bucketcast.namespace.rows import MergedState, StoredRow
from bucketcast.targets import base
from bucketcast.targets.base.tables import TableTarget
from tests.unit.made import event


class Connection:
    def close(self) -> None:
        pass


class Table(TableTarget[Connection]):
    """A table that refuses keys with "bad" in them, and whose bucket is `owner`'s."""

    where = "nowhere"

    def __init__(self) -> None:
        settings = SimpleNamespace(shape="minio", opaque_data="", table="t", format="namespace")
        super().__init__(settings, "a row")
        self.owner = "aws:s3"
        self.now = 0.0
        self.takes = 0.0
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

    def _watched(self, _connection: Connection, _seconds: float) -> AbstractContextManager[None]:
        return nullcontext()

    def _claim(self, wanted: Mapping[str, str]) -> Mapping[str, str]:
        with self._session():
            self.now += self.takes
            return dict.fromkeys(wanted, self.owner)

    def _write(self, events: Sequence[Event]) -> DeliveryError | None:
        with self._session():
            self.now += self.takes
            keys = [each.key for each in events]
            self.written.append(keys)
            return Rejected("no") if any("bad" in key for key in keys) else None


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Table:
    made = Table()
    monkeypatch.setattr(time, "monotonic", lambda: made.now)
    return made


def test_a_refused_row_is_found_by_halving(table: Table) -> None:
    failures = table.send([event(key) for key in ("a", "bad", "c")])
    assert {index: type(error) for index, error in failures.items()} == {1: Rejected}
    assert table.written == [["a", "bad", "c"], ["a"], ["bad", "c"], ["bad"], ["c"]]


def test_claims_are_made_anew_where_the_connection_was_idle(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert table.send([event("a")]) == {}
    table.owner = "minio:s3"  # somebody gave the claim away
    later = time.time() + base.IDLE_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: later)
    assert [type(error) for error in table.send([event("b")]).values()] == [Foreign]
    assert table.written == [["a"]]


def test_no_transaction_begins_when_the_time_for_the_batch_is_over(table: Table) -> None:
    table.takes = table.timeout + 1  # to connect, and for the claims
    assert [type(error) for error in table.send([event("a")]).values()] == [Retryable]
    assert table.written == []
    assert table.now <= table.max_send_seconds
