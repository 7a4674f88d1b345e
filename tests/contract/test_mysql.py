# ruff: noqa: S608 - names in these statements are the tests' own
"""Behaviour that only MySQL has: the join, tables, names, packets, locks and errors."""

import json
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any

import pytest

from bucketcast.errors import NotConnected, Retryable, TimedOut
from bucketcast.targets.base.answers import TooLargeError
from bucketcast.targets.mysql import Target, client, sql
from tests.contract.case import DAY, DELETE, HANGS_AFTER, PUT, event
from tests.contract.mirrors import rows
from tests.contract.mysql_target import global_variable, refusal
from tests.contract.oracle import Row
from tests.contract.target_factory import making, running
from tests.servers.mysql import DATABASE, MysqlServer

Make = Callable[..., Target]
mysql = running("mysql")
make = making(Target, "mysql")


def test_keys_are_compared_by_bytes(mysql: MysqlServer, make: Make) -> None:
    keys = ["a", "A", "a ", "a  ", "ä", "a\u0308", "k" * 1024, "k" * 1023 + "K", "😀" * 256]
    mirror = make()
    assert mirror.send([event(key, at) for at, key in enumerate(keys, 1)]) == {}
    assert len(rows(mysql.received())) == len(keys)
    removals = [event(key, 99, DELETE) for key in ("A", "a ", "a\u0308")]
    assert mirror.send([*removals, event("a", 100)]) == {}
    assert set(rows(mysql.received())) == {f"uploads/{key}" for key in keys} - {
        f"uploads/{removal.key}" for removal in removals
    }


def test_tables_have_minios_columns(mysql: MysqlServer, make: Make) -> None:
    for form in ("namespace", "access"):
        make(table=form, format=form).send([event("a", 1)])
    columns = mysql.rows(
        "SELECT table_name, column_name, column_type, is_nullable, collation_name, column_key,"
        " extra FROM information_schema.columns WHERE table_schema = %s"
        " AND table_name IN ('namespace', 'access') ORDER BY 1, ordinal_position",
        [DATABASE],
    )
    utf8 = "utf8mb4_bin"
    assert columns == [
        ("access", "event_time", "datetime", "NO", None, "", ""),
        ("access", "event_data", "longtext", "YES", utf8, "", ""),
        ("namespace", "key_name", "varchar(3072)", "NO", utf8, "", ""),
        ("namespace", "key_hash", "char(64)", "YES", utf8, "UNI", "STORED GENERATED"),
        ("namespace", "value", "longtext", "YES", utf8, "", ""),
    ]
    assert mysql.rows("SHOW TABLES LIKE '%guard'") == [("namespace_guard",)]


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        ("key_name VARCHAR(700) PRIMARY KEY, value JSON", "the columns key_name, value, while"),
        (
            "key_name VARCHAR(3072) CHARACTER SET latin1, key_hash CHAR(64) UNIQUE, value JSON",
            "CONVERT TO CHARACTER SET utf8mb4",
        ),
        (
            "key_name VARCHAR(3072) CHARACTER SET utf8mb4, key_hash CHAR(64), value JSON",
            r"ADD UNIQUE \(key_hash\)",
        ),
        (
            (
                "id BIGINT PRIMARY KEY AUTO_INCREMENT, key_name VARCHAR(700) CHARACTER SET utf8mb4,"
                " key_hash CHAR(64) AS (SHA2(key_name, 256)) STORED UNIQUE, value LONGTEXT,"
                " size INT AS (JSON_VALUE(value, '$.size')) STORED, UNIQUE same_size (size)"
            ),
            "unique index same_size, by which several objects could be one row: DROP INDEX",
        ),
        (
            (
                "key_name VARCHAR(700) CHARACTER SET utf8mb4, value LONGTEXT,"
                " key_hash CHAR(64) AS (SHA2(key_name, 256)) STORED UNIQUE,"
                " UNIQUE part (key_hash(1))"
            ),
            "unique index part, by which several objects could be one row",
        ),
    ],
)
def test_a_table_that_cannot_store_all_keys_is_refused_with_the_hint(
    mysql: MysqlServer, make: Make, columns: str, hint: str
) -> None:
    mysql.rows(f"CREATE TABLE events ({columns})")
    mirror = make()
    with pytest.raises(Retryable, match=hint):
        raise refusal(mirror, [event("a", 1)])
    with pytest.raises(Retryable, match=hint):
        mirror.probe()


def test_a_foreign_table_is_not_used_as_the_guard(mysql: MysqlServer, make: Make) -> None:
    mysql.rows("CREATE TABLE events_guard (id INT)")
    with pytest.raises(Retryable, match=r"events_guard.*move it away"):
        raise refusal(make(), [event("a", 1)])


def test_access_appends_every_event_in_whole_seconds_of_utc(mysql: MysqlServer, make: Make) -> None:
    log = make(format="access")
    with global_variable(mysql, "time_zone", "'+05:30'"):
        assert log.send([event("a\0\\'", 1_999), event("a", 2, DELETE), event("a", 1)]) == {}
        assert log.send([event("b", 61_003)]) == {}
    arrivals = mysql.received()
    assert [item.time for item in arrivals] == [
        f"{DAY}T03:00:01+00:00",
        f"{DAY}T03:00:00+00:00",
        f"{DAY}T03:00:00+00:00",
        f"{DAY}T03:01:01+00:00",
    ]
    records = [json.loads(item.body)["Records"][0] for item in arrivals]
    assert [item["eventName"] for item in records] == [PUT, DELETE, PUT, PUT]
    assert records[0]["eventTime"] == f"{DAY}T03:00:01.999Z"


@pytest.mark.parametrize("form", ["namespace", "access"])
def test_an_event_over_max_allowed_packet_waits_alone(
    mysql: MysqlServer, make: Make, form: str
) -> None:
    batch = [event(f"k{at}", at, etag="e" * 400_000) for at in range(1, 7)]
    batch[2] = event("large", 3, etag="e" * 1_100_000)
    with global_variable(mysql, "max_allowed_packet", "1048576"):
        failures = make(format=form).send(batch)
    assert {index: type(error) for index, error in failures.items()} == {2: TooLargeError}
    assert "max_allowed_packet leaves 1044480: set a larger one" in str(failures[2])
    assert len(mysql.received()) == 5
    assert make(format=form).send(batch[2:3]) == {}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a lock as long as a busy machine takes to show that somebody waits."""
    wait_for_locks(monkeypatch, HANGS_AFTER)


def wait_for_locks(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    session = re.sub(
        r"lock_wait_timeout = \d+", f"lock_wait_timeout = {seconds:.0f}", client._SESSION
    )
    monkeypatch.setattr(client, "_SESSION", session)


@contextmanager
def locked(mysql: MysqlServer, *statements: str) -> Iterator[Any]:
    """Hold the locks of these statements in an open transaction."""
    with closing(mysql.connect()) as admin, admin.cursor() as cursor:
        cursor.execute("BEGIN")
        for statement in statements:
            cursor.execute(statement)
        yield cursor


def wait_for_a_lock(mysql: MysqlServer, count: int = 1) -> None:
    """Wait until `count` transactions wait for a lock."""
    state = "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
    deadline = time.monotonic() + HANGS_AFTER
    while len(mysql.rows(state)) < count:
        assert time.monotonic() < deadline
        # InnoDB refreshes the table only if it was not read for a tenth of a second.
        time.sleep(0.25)


@pytest.mark.parametrize("isolation", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_a_put_sees_the_newer_removal_that_it_waited_for(
    mysql: MysqlServer, make: Make, isolation: str
) -> None:
    first, other = make(), make()
    mysql.rows(f"SET GLOBAL TRANSACTION ISOLATION LEVEL {isolation}")
    try:
        with ThreadPoolExecutor(2) as pool:
            assert first.send([event("b", 1)]) == other.send([event("c", 1)]) == {}
            with locked(mysql, "SELECT * FROM events_guard FOR UPDATE"):
                removal = pool.submit(other.send, [event("a", 9, DELETE)])
                wait_for_a_lock(mysql)
                older = pool.submit(first.send, [event("a", 5)])
                wait_for_a_lock(mysql, 2)
            assert removal.result() == older.result() == {}
    finally:
        mysql.rows("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    assert set(rows(mysql.received())) == {"uploads/b", "uploads/c"}


def test_a_batch_waits_while_a_lock_is_held(
    mysql: MysqlServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_for_locks(monkeypatch, 1)
    mirror = make()
    mirror.send([event("a", 1)])
    with locked(mysql, "SELECT * FROM events_guard FOR UPDATE"):
        reason = refusal(mirror, [event("a", 2), event("b", 2, DELETE)])
    assert type(reason) is TimedOut
    assert "holds a lock" in str(reason)
    assert mirror.send([event("a", 2)]) == {}


def test_a_row_that_another_inserts_is_locked(
    mysql: MysqlServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_for_locks(monkeypatch, 1)
    mirror = make()
    mirror.send([event("a", 1)])
    with locked(mysql, "INSERT INTO events (key_name, value) VALUES ('uploads/new', NULL)"):
        failures = mirror.send([event("new", 2), event("b", 2)])
    assert {index: type(error) for index, error in failures.items()} == {0: Retryable}
    assert set(rows(mysql.received())) == {"uploads/a", "uploads/b"}


def test_a_server_that_cannot_tell_locked_rows_timed_out(
    mysql: MysqlServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_for_locks(monkeypatch, 1)
    monkeypatch.setattr(sql, "SKIP_LOCKED", " FOR UPDATE OF NO SUCH SYNTAX")
    mirror = make()
    mirror.send([event("a", 1)])
    with locked(mysql, "SELECT * FROM events FOR UPDATE"):
        assert type(refusal(mirror, [event("a", 2)])) is TimedOut
    assert mirror.send([event("a", 2)]) == {}


def test_a_deadlock_retries_the_whole_batch(mysql: MysqlServer, make: Make) -> None:
    mirror = make()
    with ThreadPoolExecutor(1) as pool:
        mirror.send([event("a", 1)])
        mysql.rows("CREATE TABLE weight (id INT PRIMARY KEY)")
        many = ",".join(f"({number})" for number in range(1000))
        lock = "SELECT * FROM events WHERE key_name = 'uploads/a' FOR UPDATE"
        # The server aborts the transaction that wrote less.
        with locked(mysql, f"INSERT INTO weight VALUES {many}", lock) as admin:
            sending = pool.submit(refusal, mirror, [event("a", 2), event("b", 2)])
            wait_for_a_lock(mysql)
            admin.execute("SELECT * FROM events_guard FOR UPDATE")
            reason = sending.result()
        assert type(reason) is Retryable
        assert "Deadlock" in str(reason)
        assert {key: row.size for key, row in rows(mysql.received()).items()} == {"uploads/a": 1}
        assert mirror.send([event("a", 2), event("b", 2)]) == {}


def test_an_emptied_guard_still_has_locks(mysql: MysqlServer, make: Make) -> None:
    mirror = make()
    mirror.send([event("a", 1), event("b", 2, DELETE)])
    mysql.rows("DELETE FROM events_guard")
    assert mirror.send([event("a", 2), event("c", 2, DELETE)]) == {}
    assert len(mysql.rows("SELECT id FROM events_guard")) == 64 + 1


def test_a_read_only_server_is_not_connected(mysql: MysqlServer, make: Make) -> None:
    with global_variable(mysql, "read_only", "ON"):
        reason = refusal(make(), [event("a", 1)])
    assert isinstance(reason, NotConnected)
    assert "takes no writes" in str(reason)


def test_the_servers_own_sql_mode_changes_nothing(mysql: MysqlServer, make: Make) -> None:
    mirror, modes = make(), "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'"
    with global_variable(mysql, "sql_mode", modes):
        assert mirror.send([event('it\'s \\ "so"', 1, etag="\\'")]) == {}
        assert "(1406)" in str(refusal(mirror, [event("x" * 4000, 2)]))
    assert rows(mysql.received()) == {'uploads/it\'s \\ "so"': Row(PUT, 1, "\\'", "1")}
