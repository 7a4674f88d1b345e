"""The common part of the databases: how the splitting of a batch with refused rows ends."""

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from pymysql import OperationalError

from bucketcast.errors import DeliveryError, NotConnected, Rejected, Retryable, TimedOut
from bucketcast.event import Event
from bucketcast.settings.options import read
from bucketcast.targets.base.answers import TooLargeError
from bucketcast.targets.base.sockets import LibraryConnection
from bucketcast.targets.base.tables import TableTarget
from bucketcast.targets.mysql import Target as Mysql
from tests.unit.samples import LATELY, event, kinds_of

BATCH = ["bad", "b", "c", "bad too"]


class Connection(LibraryConnection):
    def __init__(self) -> None:
        self._client, self._server = socket.socketpair()
        super().__init__(self._client)

    def close(self) -> None:
        super().close()
        self._server.close()


class Table(TableTarget[Connection]):
    """A table that refuses keys with "bad" in them, and waits for those with "locked"."""

    def __init__(self) -> None:
        settings = SimpleNamespace(shape="minio", opaque_data="", table="t", format="namespace")
        super().__init__(settings)
        self.now = 0.0
        self.seconds = 0.0
        self.is_lost = False
        self.tells_locked = True
        self.written: list[list[str]] = []

    def probe(self) -> None:
        raise NotImplementedError

    def _find(self, connection: Any) -> None:
        raise NotImplementedError

    _prepare = _find

    def _execute(self, *_: Any) -> None:
        raise NotImplementedError

    def _connect(self) -> Connection:
        return Connection()

    def _address(self) -> str:
        return "nowhere"

    def _locked_keys(self, keys: Sequence[str]) -> list[str]:
        return [key for key in keys if self.tells_locked and "locked" in key]

    def _sweep(self, limit: int) -> int:  # noqa: ARG002
        return 0

    def _write(self, events: Sequence[Event]) -> DeliveryError | None:
        with self._session():
            self.now += self.seconds
            keys = [event_.key for event_ in events]
            self.written.append(keys)
            if self.is_lost and len(keys) < len(BATCH):
                raise NotConnected("the server hung up")
            if any("locked" in key for key in keys):
                return TimedOut("waited for a lock")
            return Rejected("no") if any("bad" in key for key in keys) else None


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    with Table() as opened:
        monkeypatch.setattr(time, "monotonic", lambda: opened.now)
        yield opened


def test_no_transaction_begins_after_the_time_for_the_batch(table: Table) -> None:
    """Events that were not tried are retried; the failures found before stay."""
    table.seconds = table.timeout / 3 + 1  # to connect, and until the rows are refused
    failures = table.send([event(key, time=LATELY) for key in BATCH])
    assert kinds_of(failures) == {0: Rejected, 1: Retryable, 2: Retryable, 3: Retryable}
    assert table.written == [BATCH, BATCH[:2], BATCH[:1]]
    assert table.now <= table.max_send_seconds


def test_a_connection_lost_while_a_batch_is_split_ends_the_attempts(table: Table) -> None:
    table.is_lost = True
    failures = table.send([event(key, time=LATELY) for key in BATCH])
    assert [type(error) for error in failures.values()] == [NotConnected] * 4
    assert table.written == [BATCH, BATCH[:2]]


def test_events_whose_rows_are_locked_fail_alone(table: Table) -> None:
    batch = ["a", "locked", "bad", "b", "locked too"]
    failures = table.send([event(key, time=LATELY) for key in batch])
    assert kinds_of(failures) == {1: Retryable, 2: Rejected, 4: Retryable}
    assert str(failures[1]) == "another session has locked its row for 3 s"
    assert table.written[:2] == [batch, ["a", "bad", "b"]], "the others are written at once"
    table.written.clear()
    assert table.send([event("locked", time=LATELY)]).keys() == {0}
    assert table.written == [["locked"]]


def test_where_no_row_is_known_to_be_locked_the_batch_timed_out(table: Table) -> None:
    table.tells_locked = False
    with pytest.raises(TimedOut, match="waited for a lock"):
        table.send([event(key, time=LATELY) for key in ("a", "locked")])
    table.settings.format = "access"
    table.tells_locked = True
    with pytest.raises(TimedOut, match="waited for a lock"):
        table.send([event("locked", time=LATELY)])


def test_a_refusal_that_ends_the_connection_stays_the_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = Mysql(read(Mysql.Settings, {"dsn_string": "u@tcp(h)/d", "table": "t"}))
    lost, large = OperationalError(2013, "Lost"), OperationalError(1153, "Got a packet bigger")
    client = Mock(**{"rollback.side_effect": lost, "close_after.return_value": nullcontext()})
    monkeypatch.setattr(table, "_connect", lambda: client)
    monkeypatch.setattr(table, "_execute", Mock(side_effect=large))
    monkeypatch.setattr(table, "_prepare", Mock())
    failures = table.send([event(key, time=LATELY) for key in "ab"])
    assert [type(error) for error in failures.values()] == [TooLargeError] * 2
