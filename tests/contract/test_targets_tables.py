# ruff: noqa: S608 - names in these statements are the tests' own
"""Every target that mirrors a bucket in a database: its table, rows and locks."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple, cast

import pytest

from bucketcast.errors import Rejected, Retryable
from bucketcast.event import Event
from bucketcast.limits import LONGEST_LIFE_DAYS, TOMBSTONE_DAYS
from bucketcast.targets.base.tables import LOCK_SECONDS, TableTarget
from tests.contract.case import DELETE, PUT, Case, event
from tests.contract.mirrors import rows
from tests.unit.samples import kinds_of

OF_MINIO = {
    "eventName": PUT,
    "eventTime": "2016-10-12T21:18:20Z",
    "s3": {"object": {"key": "a", "size": 1, "sequencer": "147CE57C70B31931"}},
}
"""A record as an early MinIO wrote it."""


class Database(NamedTuple):
    """What differs between databases: the key's column, and statements.

    `minios` makes a table as MinIO does, `trigger` refuses keys that end in bad, `ago` is the time
    so many days ago. The `odd` events fail as `of_odd`. `locks` are statements, each with how
    many rows it locks from the fiftieth on.
    """

    key: str
    minios: str
    trigger: str
    ago: str
    odd: tuple[Event, ...]
    locks: dict[str, int]
    of_odd: type = Rejected


_MANY = ", ".join(f"SHA2('uploads/k{number}', 256)" for number in range(50, 100))
_LOCK_MANY = f"SELECT * FROM events FORCE INDEX (key_hash) WHERE key_hash IN ({_MANY}) FOR UPDATE"
DATABASES = {
    "postgres": Database(
        key="key",
        minios=(
            "create table events (key varchar primary key, value jsonb);"
            " grant all on events to alice"
        ),
        trigger=(
            "create function no() returns trigger language plpgsql as"
            " $$begin if new.key like '%bad' then raise 'not now'; end if; return new; end$$;"
            " create trigger no before insert on events for each row execute function no()"
        ),
        ago="now() - {} * interval '1 day'",
        odd=(event("nul\0", 31), event("nul", 60, etag="e\0")),
        locks={
            "update events set value = value where key = 'uploads/k50'": 1,
            "delete from events where key = 'uploads/k50'": 1,
            "select from events where key >= 'uploads/k50' for update": 50,
        },
    ),
    "mysql": Database(
        key="key_name",
        minios=(
            "CREATE TABLE events (key_name VARCHAR(3072) NOT NULL, key_hash CHAR(64) GENERATED"
            " ALWAYS AS (SHA2(key_name, 256)) STORED UNIQUE, value JSON)"
            " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin ROW_FORMAT = Dynamic"
        ),
        trigger=(
            "CREATE TRIGGER no BEFORE INSERT ON events FOR EACH ROW IF NEW.key_name LIKE '%bad'"
            " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not now'; END IF"
        ),
        ago="UTC_TIMESTAMP() - INTERVAL {} DAY",
        odd=(event("x" * 4000, 31),),
        of_odd=Retryable,
        locks={
            "UPDATE events SET value = NULL WHERE key_hash = SHA2('uploads/k50', 256)": 1,
            _LOCK_MANY: 50,
        },
    ),
}


class Tables:
    """A database server, and an administrator of it."""

    def __init__(self, case: Case, admin: Any) -> None:
        self.case = case
        self.database = DATABASES[case.layout.kind]
        self._admin = admin

    def execute(self, statement: str, values: Any = None) -> Any:
        """Run a statement; return its cursor."""
        cursor = self._admin.cursor()
        cursor.execute(statement, values)
        return cursor

    def rows(self) -> dict[str, Any]:
        return dict(rows(self.case.arrivals()))

    def target(self) -> TableTarget[Any]:
        return cast("TableTarget[Any]", self.case.sender().target)


@pytest.fixture
def tables(table_mirror: Case) -> Iterator[Tables]:
    server: Any = table_mirror.server
    with closing(server.connect()) as admin:
        yield Tables(table_mirror, admin)


def test_a_table_that_minio_filled_is_used(tables: Tables) -> None:
    tables.execute(tables.database.minios)
    insert = f"INSERT INTO events ({tables.database.key}, value) VALUES (%s, %s)"
    for key in ("a", "b", "c", "d"):
        tables.execute(insert, [f"uploads/{key}", json.dumps({"Records": [OF_MINIO]})])
    sender = tables.case.sender()
    assert sender.send([event("d", 8, sequencer="147CE57C70B31930")]) == {}
    older = event("a", 9, DELETE, sequencer="147CE57C70B31930")
    newer = event("b", 9, DELETE, sequencer="147CE57C70B31932")
    assert sender.send([older, newer, event("c", 7, sequencer="147CE57C70B31932")]) == {}
    assert {key: row.size for key, row in tables.rows().items()} == {
        "uploads/a": 1,
        "uploads/c": 7,
        "uploads/d": 1,
    }


def test_a_row_that_the_table_refuses_waits_alone(tables: Tables) -> None:
    sender, odd = tables.case.sender(), tables.database.odd
    sender.send([event("first", 1)])
    tables.execute(f"ALTER TABLE events ADD CHECK ({tables.database.key} NOT LIKE '%bad%')")
    batch = [event(f"k{at}", at) for at in range(1, 50)]
    batch[7], batch[31] = event("bad1", 8), event("bad2", 32)
    batch += odd
    failures = sender.send(batch)
    kinds: dict[int, type] = {7: Retryable, 31: Retryable}
    kinds |= dict.fromkeys(range(49, len(batch)), tables.database.of_odd)
    assert kinds_of(failures) == kinds
    assert "constraint" in str(failures[7]).lower()
    assert len(tables.rows()) == 1 + 49 - 2
    tables.execute(tables.database.trigger)
    failures = sender.send([event("a", 1), event("very bad", 2), event("c", 3)])
    assert kinds_of(failures) == {1: Retryable}
    assert "not now" in str(failures[1])


def test_a_bad_time_is_rejected_alone_from_the_log(tables: Tables) -> None:
    log = tables.case.sender(format="access")
    assert kinds_of(
        log.send([event("a", 1), event("b", 2, time="2099-99-99T00:00:00.000Z"), event("c", 3)])
    ) == {1: Rejected}
    assert len(tables.case.arrivals()) == 2


def test_targets_that_start_together_create_the_tables_once(tables: Tables) -> None:
    senders = [tables.case.sender() for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda sender: sender.send_until_delivered([event("a", 1)]), senders))
    assert set(tables.rows()) == {"uploads/a"}


def test_a_dropped_table_is_created_again(tables: Tables) -> None:
    sender = tables.case.sender()
    sender.send([event("a", 1)])
    tables.execute("DROP TABLE events")
    assert kinds_of(sender.send([event("b", 2)])) == {0: Retryable}
    assert sender.send([event("b", 2)]) == {}
    assert set(tables.rows()) == {"uploads/b"}


def unwritten(tables: Tables, name: str, locks: str) -> list[str]:
    """Send a hundred events of this name while rows are locked; return the rows they left as is."""
    mirror, keys = tables.target(), [f"k{number:02}" for number in range(100)]
    # A server deletes a large part of a small table by reading all of it, locked rows too.
    assert mirror.send([event(f"other {number}", 3) for number in range(1_000)]) == {}
    assert mirror.send([event(key, 1) for key in keys]) == {}
    batch = [event(key, 2, name) for key in keys]
    tables.execute("BEGIN")
    tables.execute(locks)
    began = time.monotonic()
    failures = mirror.send(batch)
    assert time.monotonic() - began < 2 * LOCK_SECONDS
    left = sorted(key for key, row in tables.rows().items() if row.sequencer == "1")
    tables.execute("ROLLBACK")
    assert {type(error) for error in failures.values()} == {Retryable}
    assert {str(error) for error in failures.values()} == {
        "another session has locked its row for 3 s"
    }
    assert [f"uploads/{keys[index]}" for index in sorted(failures)] == left
    assert mirror.send([batch[index] for index in failures]) == {}
    return left


@pytest.mark.parametrize("name", [PUT, DELETE])
def test_beside_locked_rows_all_others_are_written_at_once(tables: Tables, name: str) -> None:
    for locks, count in tables.database.locks.items():
        left = unwritten(tables, name, locks)
        assert left == [f"uploads/k{number}" for number in range(50, 50 + count)]
        tables.case.server.clear()


def test_old_guard_rows_are_deleted(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bucketcast.targets.base.mirror.SWEEP_LIMIT", 1)  # one after each batch
    ages = {"k1": LONGEST_LIFE_DAYS + 1, "k2": TOMBSTONE_DAYS + 1, "k3": TOMBSTONE_DAYS + 99}
    column, ago = tables.database.key, tables.database.ago
    tables.case.sender().send([event(key, 5, DELETE) for key in ages])
    for key, days in ages.items():
        noted = f"UPDATE events_guard SET noted_at = {ago.format(days)} WHERE {column} = %s"
        tables.execute(noted, [f"uploads/{key}"])
    sender = tables.case.sender()
    sender.send([event("other", 1)])
    assert sender.send([event("k1", 1)]) == {}
    assert set(tables.rows()) == {"uploads/other"}
    kept = tables.execute(f"SELECT {column} FROM events_guard WHERE {column} <> ''").fetchall()
    assert [*kept] == [("uploads/k1",)]
