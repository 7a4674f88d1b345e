# ruff: noqa: S608 - names in these statements are the tests' own
"""Behaviour that only MySQL has: the join, tables, names, rights, the DSN, TLS and errors."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from typing import Any, cast

import pytest
import trustme

from bucketcast.errors import (
    DeliveryError,
    NotAuthorized,
    NotConnected,
    Rejected,
    Retryable,
    TimedOut,
)
from bucketcast.event import Event
from bucketcast.limits import LONGEST_LIFE_DAYS, TOMBSTONE_DAYS
from bucketcast.settings.options import read
from bucketcast.targets import base
from bucketcast.targets.base.tables import SWEEP_LIMIT
from bucketcast.targets.mysql import Target, client
from bucketcast.targets.mysql.settings import MysqlSettings
from tests.contract.case import HANGS_AFTER, bounded
from tests.contract.diagnoses import fault
from tests.contract.mirrors import rows
from tests.contract.oracle import Row
from tests.contract.tables import DELETE, OF_MINIO, PUT, TAGGING, bad_time, event, put
from tests.servers import Server
from tests.servers.mysql import DATABASE, PASSWORD, USER, MysqlServer


@pytest.fixture
def mysql(server: Callable[[str], Server]) -> MysqlServer:
    return cast("MysqlServer", server("mysql"))


def target(server: MysqlServer, **overrides: str) -> Target:
    return Target(read(MysqlSettings, server.settings(**overrides)))


def refusal(target: Target, events: list[Event]) -> Exception:
    """Return the single reason why none of these arrived."""
    try:
        failures = bounded(lambda: target.send(events))
    except DeliveryError as error:
        return error
    assert failures.keys() == set(range(len(events)))
    (reason,) = set(failures.values())
    return reason


@contextmanager
def global_variable(server: MysqlServer, variable: str, value: str) -> Iterator[None]:
    """Change a global variable of the server until the block ends."""
    with closing(server.connect()) as connection, connection.cursor() as admin:
        admin.execute(f"SELECT @@GLOBAL.{variable}")
        previous = admin.fetchone()
        admin.execute(f"SET GLOBAL {variable} = {value}")
        try:
            yield
        finally:
            admin.execute(f"SET GLOBAL {variable} = %s", previous)


def test_keys_are_compared_by_bytes(mysql: MysqlServer) -> None:
    keys = ["a", "A", "a ", "a  ", "ä", "a\u0308", "k" * 1024, "k" * 1023 + "K", "😀" * 256]
    with target(mysql) as mirror:
        assert mirror.send([put(key, at) for at, key in enumerate(keys, 1)]) == {}
        assert len(rows(mysql.received())) == len(keys)
        removals = [event(DELETE, key, 99) for key in ("A", "a ", "a\u0308")]
        assert mirror.send([*removals, put("a", 100)]) == {}
    assert set(rows(mysql.received())) == {f"b/{key}" for key in keys} - {
        f"b/{removal.key}" for removal in removals
    }


def test_a_table_that_minio_filled_is_used(mysql: MysqlServer) -> None:
    mysql.rows(
        "CREATE TABLE events (key_name VARCHAR(3072) NOT NULL, key_hash CHAR(64) GENERATED ALWAYS"
        " AS (SHA2(key_name, 256)) STORED UNIQUE, value JSON)"
        " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin ROW_FORMAT = Dynamic"
    )
    for key in ("a", "b", "c", "d"):
        mysql.rows(
            "INSERT INTO events (key_name, value) VALUES (%s, %s)",
            [f"b/{key}", json.dumps({"Records": [OF_MINIO]})],
        )
    with target(mysql) as mirror:
        assert mirror.send([put("d", 8, sequencer=0x147CE57C70B31930)]) == {}
        older_removal = event(DELETE, "a", 9, sequencer=0x147CE57C70B31930)
        newer_removal = event(DELETE, "b", 9, sequencer=0x147CE57C70B31932)
        assert (
            mirror.send([older_removal, newer_removal, put("c", 7, sequencer=0x147CE57C70B31932)])
            == {}
        )
    assert {key: row.size for key, row in rows(mysql.received()).items()} == {
        "b/a": 1,
        "b/c": 7,
        "b/d": 1,
    }


def test_tables_have_minios_columns(mysql: MysqlServer) -> None:
    for form in ("namespace", "access"):
        with target(mysql, table=form, format=form) as opened:
            opened.send([put("a", 1)])
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
    ],
)
def test_a_table_that_cannot_store_all_keys_is_refused_with_the_hint(
    mysql: MysqlServer, columns: str, hint: str
) -> None:
    mysql.rows(f"CREATE TABLE events ({columns})")
    with target(mysql) as mirror:
        with pytest.raises(Retryable, match=hint):
            raise refusal(mirror, [put("a", 1)])
        with pytest.raises(Retryable, match=hint):
            mirror.probe()


def test_a_foreign_table_is_not_used_as_the_guard(mysql: MysqlServer) -> None:
    mysql.rows("CREATE TABLE events_guard (id INT)")
    with target(mysql) as mirror, pytest.raises(Retryable, match=r"events_guard.*move it away"):
        raise refusal(mirror, [put("a", 1)])


def test_access_appends_every_event_in_whole_seconds_of_utc(mysql: MysqlServer) -> None:
    with global_variable(mysql, "time_zone", "'+05:30'"), target(mysql, format="access") as log:
        assert log.send([put("a\0\\'", 1_999), event(DELETE, "a", 2), put("a", 1)]) == {}
        assert log.send([put("b", 61_003)]) == {}
    arrivals = mysql.received()
    assert [item.time for item in arrivals] == [
        "2026-01-02T03:00:01+00:00",
        "2026-01-02T03:00:00+00:00",
        "2026-01-02T03:00:00+00:00",
        "2026-01-02T03:01:01+00:00",
    ]
    records = [json.loads(item.body)["Records"][0] for item in arrivals]
    assert [item["eventName"] for item in records] == [PUT, DELETE, PUT, PUT]
    assert records[0]["eventTime"] == "2026-01-02T03:00:01.999Z"


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("`Odd; name %s ' \\ \" é`", "Odd; name %s ' \\ \" é"),
        ("Kept", "Kept"),
        ("ünï$1", "ünï$1"),
        ("1a", "1a"),
        ("select", "select"),
        (f"{DATABASE}.events", "events"),
        (f"`{DATABASE}`.`a``b`", "a`b"),
        ("a" * 58, "a" * 58),
    ],
)
def test_any_table_name_that_the_server_accepts_works(
    mysql: MysqlServer, name: str, table: str
) -> None:
    settings = read(MysqlSettings, mysql.settings(table=name))
    assert not Target.check(settings)
    with Target(settings) as mirror:
        batch = [put("a", 1), event(DELETE, "b", 2), event(TAGGING, "a", 3, sequencer=0)]
        assert mirror.send(batch) == {}
        mirror.probe()
    name = "JSON_UNQUOTE(JSON_EXTRACT(value, '$.Records[0].eventName'))"
    stored = mysql.rows(f"SELECT key_name, {name} FROM `{table.replace('`', '``')}`")
    assert stored == [("b/a", TAGGING)]


@pytest.mark.parametrize(
    "name",
    ["a b", "a-b", "a;", "123", "x`y", "``", "`a`b`", "a.b.c", "`a `", ".a", "a.", "a\0", "a" * 59],
)
def test_other_names_are_refused(mysql: MysqlServer, name: str) -> None:
    (problem,) = Target.check(read(MysqlSettings, mysql.settings(table=name)))
    assert problem[0] == "table"


def test_a_row_that_the_database_refuses_is_rejected_alone(mysql: MysqlServer) -> None:
    with target(mysql) as mirror:
        mirror.send([put("first", 1)])
        mysql.rows("ALTER TABLE events ADD CHECK (key_name NOT LIKE '%bad%')")
        batch = [put(f"k{at}", at) for at in range(1, 50)]
        batch[7], batch[30], batch[31] = put("bad1", 8), put("x" * 4000, 31), put("bad2", 32)
        failures = mirror.send(batch)
        assert {index: type(error) for index, error in failures.items()} == dict.fromkeys(
            (7, 30, 31), Rejected
        )
        assert "CONSTRAINT" in str(failures[7])
        assert "too long" in str(failures[30])
        assert len(rows(mysql.received())) == 1 + 49 - 3
        assert type(refusal(mirror, [put("bad1", 9)])) is Rejected


def test_a_row_that_a_trigger_refuses_waits_alone(mysql: MysqlServer) -> None:
    with target(mysql) as mirror:
        mirror.send([put("first", 1)])
        mysql.rows(
            "CREATE TRIGGER no BEFORE INSERT ON events FOR EACH ROW IF NEW.key_name LIKE '%bad'"
            " THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not now'; END IF"
        )
        failures = mirror.send([put("a", 1), put("bad", 2), put("c", 3)])
    assert {index: type(error) for index, error in failures.items()} == {1: Retryable}
    assert set(rows(mysql.received())) == {"b/first", "b/a", "b/c"}


def test_a_bad_time_is_rejected_alone_from_the_log(mysql: MysqlServer) -> None:
    with target(mysql, format="access") as log:
        failures = log.send([put("a", 1), bad_time("b"), put("c", 3)])
    assert {index: type(error) for index, error in failures.items()} == {1: Rejected}
    assert len(mysql.received()) == 2


@pytest.mark.parametrize("form", ["namespace", "access"])
def test_an_event_over_max_allowed_packet_waits_alone(mysql: MysqlServer, form: str) -> None:
    batch = [put(f"k{at}", at, etag="e" * 400_000) for at in range(1, 7)]
    batch[2] = put("large", 3, etag="e" * 1_100_000)
    with (
        global_variable(mysql, "max_allowed_packet", "1048576"),
        target(mysql, format=form) as mirror,
    ):
        failures = mirror.send(batch)
    assert {index: type(error) for index, error in failures.items()} == {2: Retryable}
    assert "max_allowed_packet leaves 1044480: set a larger one" in str(failures[2])
    assert len(mysql.received()) == 5
    with target(mysql, format=form) as mirror:
        assert mirror.send(batch[2:3]) == {}


def test_the_dsn_may_allow_less_than_the_server(mysql: MysqlServer) -> None:
    dsn = mysql.dsn(parameters="?maxAllowedPacket=8192")
    with target(mysql, dsn_string=dsn) as mirror:
        failures = mirror.send([put("a", 1), put("b", 2, etag="e" * 5000)])
    assert {index: type(error) for index, error in failures.items()} == {1: Retryable}
    assert set(rows(mysql.received())) == {"b/a"}


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
    mysql: MysqlServer, isolation: str
) -> None:
    mysql.rows(f"SET GLOBAL TRANSACTION ISOLATION LEVEL {isolation}")
    try:
        with target(mysql) as first, target(mysql) as other, ThreadPoolExecutor(2) as pool:
            assert first.send([put("b", 1)]) == other.send([put("c", 1)]) == {}
            with locked(mysql, "SELECT * FROM events_guard FOR UPDATE"):
                removal = pool.submit(other.send, [event(DELETE, "a", 9)])
                wait_for_a_lock(mysql)
                older = pool.submit(first.send, [put("a", 5)])
                wait_for_a_lock(mysql, 2)
            assert removal.result() == older.result() == {}
    finally:
        mysql.rows("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    assert set(rows(mysql.received())) == {"b/b", "b/c"}


def test_a_batch_waits_while_a_lock_is_held(
    mysql: MysqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_second = client._SESSION.replace("lock_wait_timeout = 10", "lock_wait_timeout = 1")
    monkeypatch.setattr(client, "_SESSION", one_second)
    with target(mysql) as mirror:
        mirror.send([put("a", 1)])
        with locked(mysql, "SELECT * FROM events_guard FOR UPDATE"):
            reason = refusal(mirror, [put("a", 2), event(DELETE, "b", 2)])
        assert type(reason) is TimedOut
        assert "holds a lock" in str(reason)
        assert mirror.send([put("a", 2)]) == {}


def test_a_deadlock_retries_the_whole_batch(mysql: MysqlServer) -> None:
    with target(mysql) as mirror, ThreadPoolExecutor(1) as pool:
        mirror.send([put("a", 1)])
        mysql.rows("CREATE TABLE weight (id INT PRIMARY KEY)")
        many = ",".join(f"({number})" for number in range(1000))
        lock = "SELECT * FROM events WHERE key_name = 'b/a' FOR UPDATE"
        # The server aborts the transaction that wrote less.
        with locked(mysql, f"INSERT INTO weight VALUES {many}", lock) as admin:
            sending = pool.submit(refusal, mirror, [put("a", 2), put("b", 2)])
            wait_for_a_lock(mysql)
            admin.execute("SELECT * FROM events_guard FOR UPDATE")
            reason = sending.result()
        assert type(reason) is Retryable
        assert "Deadlock" in str(reason)
        assert {key: row.size for key, row in rows(mysql.received()).items()} == {"b/a": 1}
        assert mirror.send([put("a", 2), put("b", 2)]) == {}


def test_targets_that_start_together_create_the_tables_once(mysql: MysqlServer) -> None:
    targets = [target(mysql) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda mirror: mirror.send([put("a", 1)]), targets)) == [{}] * 8
    for mirror in targets:
        mirror.close()
    assert set(rows(mysql.received())) == {"b/a"}


def test_a_dropped_table_is_created_again(mysql: MysqlServer) -> None:
    with target(mysql) as mirror:
        mirror.send([put("a", 1)])
        mysql.rows("DROP TABLE events")
        assert type(refusal(mirror, [put("b", 2)])) is Retryable
        assert mirror.send([put("b", 2)]) == {}
    assert set(rows(mysql.received())) == {"b/b"}


def test_an_emptied_guard_still_has_locks(mysql: MysqlServer) -> None:
    with target(mysql) as mirror:
        mirror.send([put("a", 1), event(DELETE, "b", 2)])
        mysql.rows("DELETE FROM events_guard")
        assert mirror.send([put("a", 2), event(DELETE, "c", 2)]) == {}
    assert len(mysql.rows("SELECT id FROM events_guard")) == 64 + 1


def test_missing_rights_are_named(mysql: MysqlServer) -> None:
    with target(mysql) as mirror:
        mirror.send([put("a", 1)])
    mysql.rows("CREATE USER IF NOT EXISTS poor@'%' IDENTIFIED BY 'poor-s3cret'")
    mysql.rows("GRANT SELECT, INSERT, UPDATE ON bucketcast.* TO poor@'%'")
    with target(mysql, dsn_string=mysql.dsn("poor", "poor-s3cret")) as mirror:
        with pytest.raises(Retryable, match=r"DELETE command denied.*events.*grant it"):
            mirror.probe()
        with pytest.raises(Retryable, match=r"DELETE command denied.*grant it"):
            raise refusal(mirror, [event(DELETE, "a", 2)])
        finding = fault(mirror)
        assert ("DELETE command denied" in finding.found, "grant it" in finding.hint) == (
            True,
            True,
        )
    with (
        target(mysql, table="new", dsn_string=mysql.dsn("poor", "poor-s3cret")) as mirror,
        pytest.raises(Retryable, match=r"CREATE command denied.*grant it"),
    ):
        raise refusal(mirror, [put("a", 1)])


def test_a_log_needs_insert_only(mysql: MysqlServer) -> None:
    with target(mysql, format="access") as log:
        log.send([put("a", 1)])
    mysql.rows("CREATE USER IF NOT EXISTS scribe@'%' IDENTIFIED BY 'scribe-s3cret'")
    mysql.rows("GRANT INSERT ON bucketcast.events TO scribe@'%'")
    with target(mysql, format="access", dsn_string=mysql.dsn("scribe", "scribe-s3cret")) as log:
        log.probe()
        assert log.send([put("b", 2)]) == {}
    assert len(mysql.received()) == 2


def test_probe_leaves_nothing(mysql: MysqlServer) -> None:
    with target(mysql) as mirror:
        mirror.probe()
        assert mysql.rows("SHOW TABLES") == []
        mirror.send([put("a", 1)])
        mirror.probe()
    assert set(rows(mysql.received())) == {"b/a"}


def test_where_contains_no_secret(mysql: MysqlServer) -> None:
    assert target(mysql).where == f"127.0.0.1:{mysql.port}/bucketcast table events"
    broken = target(mysql, dsn_string="u:s3cret@tcp(h/d")
    assert "s3cret" not in broken.where
    reason = refusal(broken, [put("a", 1)])
    assert isinstance(reason, NotAuthorized)
    assert "the address is not tcp(host:port)" in str(reason)
    assert "s3cret" not in f"{reason}{broken.settings!r}"
    (problem,) = Target.check(broken.settings)
    assert problem[0] == "dsn_string"
    assert "s3cret" not in "".join(problem)


def test_a_reference_is_checked_when_it_is_resolved() -> None:
    assert not Target.check(read(MysqlSettings, {"dsn_string": "secret:x", "table": "t"}))


def deprecated_settings(mysql: MysqlServer, **overrides: str) -> MysqlSettings:
    login = {
        "host": "127.0.0.1",
        "port": str(mysql.port),
        "username": USER,
        "password": PASSWORD,
        "database": DATABASE,
        "table": "events",
    }
    return read(MysqlSettings, login | overrides)


def test_deprecated_keys_make_a_login_with_a_note(mysql: MysqlServer) -> None:
    settings = deprecated_settings(mysql)
    assert not Target.check(settings)
    (note,) = Target.notes(settings)
    assert note.startswith("host, port, username, password, database: deprecated, use dsn_string")
    with Target(settings) as mirror:
        assert mirror.where == f"127.0.0.1:{mysql.port}/bucketcast table events"
        assert mirror.send([put("a", 1)]) == {}
    assert set(rows(mysql.received())) == {"b/a"}


def test_a_dsn_wins_over_deprecated_keys(mysql: MysqlServer) -> None:
    settings = deprecated_settings(
        mysql, dsn_string=mysql.dsn(), host="nowhere.invalid", password="other"
    )
    assert not Target.check(settings)
    assert "do nothing" in Target.notes(settings)[0]
    with Target(settings) as mirror:
        assert mirror.send([put("a", 1)]) == {}


@pytest.mark.parametrize(
    ("login", "key"),
    [
        ({}, "dsn_string"),
        ({"username": "u"}, "dsn_string"),
        ({"host": "h"}, "username"),
        ({"host": "h", "username": "u", "port": "65536"}, "port"),
    ],
)
def test_an_incomplete_login_is_refused(login: dict[str, str], key: str) -> None:
    (problem,) = Target.check(read(MysqlSettings, {"table": "t", **login}))
    assert problem[0] == key


def is_encrypted(target: Target) -> bool:
    """Return True if the open connection uses TLS."""
    client_ = cast("Any", target)._open
    return bool(client_.query(b"SHOW SESSION STATUS LIKE 'Ssl_cipher'")[0][1])


@pytest.mark.parametrize(
    ("query", "encrypted"),
    [("", False), ("?tls=false", False), ("?tls=skip-verify", True), ("?tls=preferred", True)],
)
def test_tls_follows_the_dsn(mysql: MysqlServer, query: str, *, encrypted: bool) -> None:
    with target(mysql, dsn_string=mysql.dsn(parameters=query)) as mirror:
        assert mirror.send([put("a", 1)]) == {}
        assert is_encrypted(mirror) is encrypted


@pytest.mark.parametrize("query", ["", "?tls=false", "?tls=skip-verify", "?tls=preferred"])
def test_an_authority_is_never_ignored(mysql: MysqlServer, query: str) -> None:
    dsn = mysql.dsn(parameters=query)
    stranger = trustme.CA().cert_pem.bytes().decode()
    with (
        target(mysql, dsn_string=dsn, cert_authority=stranger) as mirror,
        pytest.raises(NotConnected, match="certificate"),
    ):
        mirror.probe()
    with target(mysql, dsn_string=dsn, cert_authority=mysql.tls.ca.read_text()) as mirror:
        assert mirror.send([put("a", 1)]) == {}
        assert is_encrypted(mirror)


def test_a_client_certificate_is_never_ignored(mysql: MysqlServer) -> None:
    pems = {
        "client_cert": mysql.tls.client_cert.read_text(),
        "client_key": mysql.tls.client_key.read_text(),
    }
    with target(mysql, **pems) as mirror, pytest.raises(NotConnected, match="certificate"):
        mirror.probe()
    login = mysql.mtls_settings()["dsn_string"].replace("tls=true", "tls=skip-verify")
    with target(mysql, dsn_string=login, **pems) as mirror:
        mirror.probe()


def test_a_server_that_takes_tls_only_is_reported(mysql: MysqlServer) -> None:
    with (
        global_variable(mysql, "require_secure_transport", "ON"),
        target(mysql) as mirror,
        pytest.raises(NotConnected, match="tls=true in dsn_string"),
    ):
        mirror.probe()


def test_a_read_only_server_is_not_connected(mysql: MysqlServer) -> None:
    with target(mysql) as mirror, global_variable(mysql, "read_only", "ON"):
        reason = refusal(mirror, [put("a", 1)])
    assert isinstance(reason, NotConnected)
    assert "takes no writes" in str(reason)


def test_a_missing_database_is_reported(mysql: MysqlServer) -> None:
    dsn = mysql.dsn("admin", "admin-s3cret").replace("/bucketcast", "/nope")
    with target(mysql, dsn_string=dsn) as mirror, pytest.raises(Retryable, match="make the data"):
        mirror.probe()
    with (
        target(mysql, dsn_string=dsn.replace("/nope", "/")) as mirror,
        pytest.raises(Retryable, match=r"database\.table"),
    ):
        mirror.probe()


def test_the_servers_own_sql_mode_changes_nothing(mysql: MysqlServer) -> None:
    modes = "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'"
    with global_variable(mysql, "sql_mode", modes), target(mysql) as mirror:
        assert mirror.send([put('it\'s \\ "so"', 1, etag="\\'")]) == {}
        assert type(refusal(mirror, [put("x" * 4000, 2)])) is Rejected
    assert rows(mysql.received()) == {'b/it\'s \\ "so"': Row(PUT, 1, "\\'", "1")}


@pytest.fixture
def odd_database(mysql: MysqlServer) -> Iterator[str]:
    """A database with a name that needs an escape."""
    mysql.rows("CREATE DATABASE `a/b ü`")
    mysql.rows("GRANT ALL ON `a/b ü`.* TO alice@'%'")
    yield "a/b ü"
    mysql.rows("DROP DATABASE `a/b ü`")


def test_a_databases_name_is_unescaped(mysql: MysqlServer, odd_database: str) -> None:
    dsn = mysql.dsn().replace("/bucketcast", "/a%2Fb%20%C3%BC")
    with target(mysql, dsn_string=dsn) as mirror:
        assert mirror.send([put("a", 1)]) == {}
    with target(mysql, table=f"`{odd_database}`.log", format="access") as log:
        assert log.send([put("a", 1)]) == {}
        log.probe()
    assert len(mysql.rows("SELECT * FROM `a/b ü`.events")) == 1
    assert len(mysql.rows("SELECT * FROM `a/b ü`.log")) == 1


def test_a_password_may_contain_any_character(mysql: MysqlServer) -> None:
    password = "s3cret p@ss:w/rd?é&(%zz)"
    mysql.rows("CREATE OR REPLACE USER odd@'%%' IDENTIFIED BY %s", [password])
    mysql.rows("GRANT ALL ON bucketcast.* TO odd@'%'")
    with target(mysql, dsn_string=mysql.dsn("odd", password)) as mirror:
        mirror.probe()


def test_the_server_sees_the_programs_name(mysql: MysqlServer) -> None:
    attributes = "SELECT attr_value FROM performance_schema.session_connect_attrs WHERE attr_name"
    with target(mysql) as mirror:
        mirror.probe()
        assert mysql.rows(f"{attributes} = 'program_name'") == [("bucketcast",)]


def test_a_password_is_sent_in_clear_text_only_if_allowed(mysql: MysqlServer) -> None:
    """The account does not exist: only the sending of the password matters."""
    mysql.rows("CREATE OR REPLACE USER pam@'%' IDENTIFIED VIA pam")
    for query, message in (
        ("", "allowCleartextPasswords=true"),
        ("?allowCleartextPasswords=true", "Access denied"),
    ):
        dsn = mysql.dsn("pam", "s3cret", query)
        with target(mysql, dsn_string=dsn) as mirror, pytest.raises(NotAuthorized, match=message):
            mirror.probe()


def test_another_kind_of_server_is_reported(mysql: MysqlServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, ThreadPoolExecutor(1) as pool:
        dsn = mysql.dsn().replace(mysql.address, f"127.0.0.1:{other.getsockname()[1]}")
        with target(mysql, dsn_string=dsn) as mirror:
            probing = pool.submit(mirror.probe)
            with other.accept()[0] as line:
                line.sendall(b"\x0c\0\0\0SSH-2.0-Open")
            assert isinstance(probing.exception(), NotConnected)


@pytest.fixture
def without_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the time-outs of the DSN end a wait."""
    monkeypatch.setattr(Target, "timeout", 100_000.0)
    monkeypatch.setattr(base, "CONNECT_SECONDS", 100_000.0)


@pytest.mark.usefixtures("without_timeouts")
def test_a_login_waits_as_long_as_the_dsn_says(mysql: MysqlServer) -> None:
    mysql.pause()
    with target(mysql, dsn_string=mysql.dsn(parameters="?timeout=500ms")) as mirror:
        assert isinstance(refusal(mirror, [put("a", 1)]), NotConnected)
    mysql.resume()


@pytest.mark.usefixtures("without_timeouts")
@pytest.mark.parametrize("query", ["?readTimeout=500ms", "?writeTimeout=500ms"])
def test_a_batch_waits_as_long_as_the_dsn_says(mysql: MysqlServer, query: str) -> None:
    """Twelve megabytes exceed the buffers of a connection to a server that does not read."""
    large = 6_000_000 if "write" in query else 1
    with target(mysql, dsn_string=mysql.dsn(parameters=query), format="access") as log:
        assert log.send([put("a", 1)]) == {}
        mysql.pause()
        reason = refusal(log, [put("b", 2, principal="p" * large)])
        mysql.resume()
        assert isinstance(reason, NotConnected)
        assert log.send([put("b", 2)]) == {}


def test_a_server_killed_during_a_batch_leaves_no_partial_batch(mysql: MysqlServer) -> None:
    batch = [put("a", 2), put("b", 2), event(DELETE, "c", 2)]
    lock = "SELECT * FROM events WHERE key_name = 'b/c' FOR UPDATE"
    with target(mysql) as mirror, ThreadPoolExecutor(1) as pool:
        mirror.send([put("a", 1), put("c", 1)])
        with locked(mysql, lock):
            sending = pool.submit(refusal, mirror, batch)
            wait_for_a_lock(mysql)
            mysql.kill()
            assert isinstance(sending.result(), NotConnected)
        mysql.start_again()
        assert {key: row.size for key, row in rows(mysql.received()).items()} == {
            "b/a": 1,
            "b/c": 1,
        }
        assert mirror.send(batch) == {}
    assert {key: row.size for key, row in rows(mysql.received()).items()} == {"b/a": 2, "b/b": 2}


def test_a_connection_closed_by_the_server_is_replaced(mysql: MysqlServer) -> None:
    with target(mysql) as mirror:
        mirror.send([put("a", 1)])
        for (process,) in mysql.rows(
            "SELECT id FROM information_schema.processlist WHERE user = %s", [USER]
        ):
            mysql.rows(f"KILL {process}")
        time.sleep(0.2)
        assert mirror.send([put("b", 1)]) == {}


def test_old_guard_rows_are_deleted(mysql: MysqlServer) -> None:
    ages = {"k1": LONGEST_LIFE_DAYS + 1, "k2": TOMBSTONE_DAYS + 1, "k3": TOMBSTONE_DAYS + 99}
    with target(mysql) as mirror:
        mirror.send([event(DELETE, key, 5) for key in ages])
        for key, days in ages.items():
            noted_at = f"UTC_TIMESTAMP() - INTERVAL {days} DAY"
            mysql.rows(f"UPDATE events_guard SET noted_at = {noted_at} WHERE key_name = 'b/{key}'")
    with target(mysql) as mirror:
        mirror.send([put("other", 1)])
        assert mirror.send([put("k1", 1)]) == {}
    assert set(rows(mysql.received())) == {"b/other"}
    kept = mysql.rows("SELECT key_name FROM events_guard WHERE key_name <> '' ORDER BY 1")
    assert kept == [("b/k1",)]


def test_many_old_guard_rows_are_all_deleted(mysql: MysqlServer) -> None:
    names = "id, key_name, version, put, removed, removed_at, overlay, overlay_time, noted_at"
    ids = (
        (f"UNHEX(SHA2({number}, 256))", f"'b/{number}'") for number in range(2 * SWEEP_LIMIT + 1)
    )
    rest = "'', '', '', '', NULL, '', UTC_TIMESTAMP() - INTERVAL 1 YEAR"
    with target(mysql) as mirror:
        mirror.send([put("a", 1)])
        values = ",".join(f"({identity}, {key}, {rest})" for identity, key in ids)
        mysql.rows(f"INSERT INTO events_guard ({names}) VALUES {values}")
    with target(mysql) as mirror:
        for number in range(1, 4):
            assert mirror.send([put("a", number)]) == {}
    assert mysql.rows("SELECT key_name FROM events_guard WHERE key_name <> ''") == []
