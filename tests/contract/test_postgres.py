"""Behaviour that only PostgreSQL has: the join, tables, names, rights, TLS and errors."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from bucketcast.dynamic_targets.kvs import parse_line
from bucketcast.errors import NotConnected, Retryable, TimedOut
from bucketcast.event import padded
from bucketcast.mirror.rows import MergedState
from bucketcast.targets.postgres import Target
from tests.contract.case import DELETE, TAGGED, event, tagged
from tests.contract.diagnoses import fault
from tests.contract.endpoint import endpoint
from tests.contract.mirrors import rows
from tests.contract.target_factory import making, running
from tests.servers.postgres import PASSWORD, USER, PostgresServer
from tests.waiting import last_seen

Admin = psycopg.Connection[tuple[Any, ...]]
Make = Callable[..., Target]
postgres = running("postgres")
make = making(Target, "postgres")


@pytest.fixture
def admin(postgres: PostgresServer) -> Iterator[Admin]:
    with postgres.connect() as connection:
        yield connection


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_a_put_sees_the_newer_removal_that_it_waited_for(
    postgres: PostgresServer, make: Make, admin: Admin, isolation: str
) -> None:
    first, other = make(), make()
    admin.execute(f"alter role {USER} set default_transaction_isolation = '{isolation}'".encode())
    slots = "'events_guard'::regclass::oid::int, generate_series(0, 63)"
    try:
        with ThreadPoolExecutor(2) as pool:
            assert first.send([event("b", 1)]) == other.send([event("c", 1)]) == {}
            with admin.transaction():
                admin.execute(f"select pg_advisory_xact_lock({slots})".encode())
                removal = pool.submit(other.send, [event("a", 9, DELETE)])
                wait_for_locks(admin, 1)
                older = pool.submit(first.send, [event("a", 5)])
                wait_for_locks(admin, 2)
            assert removal.result() == older.result() == {}
    finally:
        admin.execute(f"alter role {USER} reset default_transaction_isolation".encode())
    assert set(rows(postgres.received())) == {"uploads/b", "uploads/c"}


def wait_for_locks(admin: Admin, count: int) -> None:
    """Wait until `count` sessions wait for a lock."""
    waiting = "select count(*) from pg_locks where not granted"
    assert last_seen(lambda: admin.execute(waiting).fetchone() == (count,))


def test_tables_have_minios_columns(make: Make, admin: Admin) -> None:
    for form in ("namespace", "access"):
        make(table=form, format=form).send([event("a", 1)])
    columns = admin.execute(
        "select table_name, column_name, data_type, is_nullable from information_schema.columns"
        " where table_schema = 'public' and table_name in ('namespace', 'access')"
        " order by 1, ordinal_position"
    ).fetchall()
    assert columns == [
        ("access", "event_time", "timestamp with time zone", "NO"),
        ("access", "event_data", "jsonb", "YES"),
        ("namespace", "key", "character varying", "NO"),
        ("namespace", "value", "jsonb", "YES"),
    ]
    assert admin.execute("select to_regclass('access_guard')").fetchone() == (None,)


@pytest.mark.parametrize("unique", ["length(key)", "(value->>'size')", "left(key, 1)"])
def test_a_table_with_another_unique_index_is_refused(
    make: Make, admin: Admin, unique: str
) -> None:
    assert make().send([event("a", 1)]) == {}
    admin.execute("alter table events add id serial unique")
    assert make().send([event("b", 2)]) == {}
    admin.execute("delete from events")
    admin.execute(f"create unique index single on events (({unique}))")
    with pytest.raises(Retryable, match="drop index single"):
        make().probe()


@pytest.mark.parametrize(
    "name", ['"Odd; name %s \'\\ $join$ é"', "Folded", "ünï$1", '"select"', "a" * 57]
)
def test_any_table_name_that_minio_accepts_works(
    postgres: PostgresServer, make: Make, name: str
) -> None:
    mirror = make(table=name)
    assert mirror.send([event("a", 1), event("b", 2, DELETE), tagged("a", 3)]) == {}
    mirror.probe()
    assert mirror.merged_states(["uploads/b"]) == {
        "uploads/b": MergedState(None, padded("2"), event("b", 2, DELETE).time)
    }
    (partition,) = mirror.partitions(1)
    assert [row.path for row in mirror.stored_rows(partition, "uploads/")] == ["uploads/a"]
    seen = name[1:-1] if name.startswith('"') else name.lower()
    assert {key: row.name for key, row in rows(postgres.received(seen)).items()} == {
        "uploads/a": TAGGED
    }


def test_a_reserved_word_of_sql_is_reported_to_need_quotes(make: Make) -> None:
    with pytest.raises(Retryable, match="quotes"):
        make(table="select").send([event("a", 1)])


def test_missing_rights_are_named(make: Make, admin: Admin) -> None:
    admin.execute("create table events (key varchar primary key, value jsonb)")
    mirror = make()
    with pytest.raises(Retryable, match=r'SELECT on "public".events.* grant it'):
        mirror.probe()
    with pytest.raises(Retryable, match=r"permission denied.* grant it"):
        mirror.send([event("a", 1)])
    finding = fault(mirror)
    assert 'lacks SELECT on "public".events' in finding.found
    assert f'GRANT SELECT, INSERT, UPDATE, DELETE ON "public".events TO {USER}' in finding.hint


def test_doctor_explains_a_missing_table(
    postgres: PostgresServer, make: Make, admin: Admin
) -> None:
    admin.execute("drop role if exists poor")
    admin.execute("create role poor login password 'poor-s3cret'")
    string = postgres.settings()["connection_string"]
    string = string.replace(USER, "poor", 1).replace(PASSWORD, "poor-s3cret")
    finding = fault(make(connection_string=string))
    assert "lacks CREATE on the schema for events" in finding.found
    assert "make the table" in finding.hint


def test_the_first_server_that_takes_writes_is_used(
    postgres: PostgresServer, make: Make, admin: Admin
) -> None:
    string = postgres.settings()["connection_string"]
    several = string.replace("127.0.0.1", "127.0.0.2,127.0.0.1,localhost")
    wanted = "target_session_attrs=read-write"
    assert make(connection_string=several).send([event("a", 1)]) == {}
    admin.execute(f"alter role {USER} set default_transaction_read_only = on")
    try:
        with pytest.raises(NotConnected, match="no server of connection_string takes writes"):
            make(connection_string=f"{several} {wanted}").send([event("b", 1)])
    finally:
        admin.execute(f"alter role {USER} reset default_transaction_read_only")


def test_a_setting_of_the_session_is_the_servers(
    postgres: PostgresServer, make: Make, admin: Admin
) -> None:
    admin.execute("create schema if not exists other authorization alice")
    string = postgres.settings()["connection_string"]
    assert make(connection_string=f"{string} search_path=other").send([event("a", 1)]) == {}
    assert admin.execute("select count(*) from other.events").fetchone() == (1,)
    admin.execute("drop schema other cascade")
    for setting, said in (
        ("keepalives=1", '"keepalives".* leave it out of connection_string'),
        ("statement_timeout=x", 'invalid value for parameter "statement_timeout"'),
    ):
        with pytest.raises(NotConnected, match=said):
            make(connection_string=f"{string} {setting}").send([event("a", 1)])


MINIOS = (
    "fallback_application_name=minio binary_parameters=yes disable_prepared_binary_result=yes"
    " sslsni=0 channel_binding=disable connect_timeout=9"
)
"""What only the driver that MinIO uses reads: a server refuses it as an unknown setting."""


def test_parameters_of_minios_driver_are_not_sent(
    postgres: PostgresServer, make: Make, admin: Admin
) -> None:
    string = postgres.settings()["connection_string"]
    assert make(connection_string=f"{string} {MINIOS}").send([event("a", 1)]) == {}
    assert sessions(admin, "minio") == 1


def test_a_line_of_mc_keeps_the_parameters_of_its_connection_string(
    postgres: PostgresServer, make: Make, admin: Admin
) -> None:
    settings = postgres.settings(queue_limit="9")
    string = f"{settings.pop('connection_string')} application_name=from-mc"
    given = "".join(f" {key}={text}" for key, text in settings.items())
    line = parse_line(f"notify_postgres:1 connection_string={string}{given}")
    assert make(line.values).send([event("a", 1)]) == {}
    assert sessions(admin, "from-mc") == 1


def sessions(admin: Admin, application: str) -> int:
    """Return how many sessions have this name."""
    count = "select count(*) from pg_stat_activity where application_name = %s"
    (found,) = admin.execute(count, [application]).fetchall()
    return int(found[0])


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"+OK\r\n", b"R\0\0\0\x08"]
)
def test_another_protocol_is_reported(make: Make, answer: bytes) -> None:
    with endpoint(answer) as (address, _):
        string = f"postgres://u@{address}/d?sslmode=disable"
        with pytest.raises(NotConnected, match=r"not PostgreSQL|closed the connection"):
            make(connection_string=string).send([event("a", 1)])


def test_an_authority_is_never_ignored(make: Make) -> None:
    """The server's own string says sslmode=disable."""
    with pytest.raises(NotConnected, match="certificate"):
        make(cert_authority=trustme.CA().cert_pem.bytes().decode()).send([event("a", 1)])


def test_tls_is_required_unless_the_string_disables_it(
    postgres: PostgresServer, make: Make
) -> None:
    string = postgres.settings()["connection_string"].replace(" sslmode=disable", "")
    make(connection_string=string).probe()
    assert is_encrypted(postgres)


@pytest.mark.parametrize(
    ("binding", "refused"),
    [("", ""), (" channel_binding=disable", ""), (" channel_binding=require", "without it")],
)
def test_a_certificate_without_a_hash_cannot_bind_a_login(
    postgres: PostgresServer, make: Make, admin: Admin, binding: str, refused: str
) -> None:
    string = postgres.settings()["connection_string"].replace(" sslmode=disable", "")
    expected = pytest.raises(NotConnected, match=refused) if refused else nullcontext()
    with certificate_by_ed25519(postgres, admin), expected:
        assert make(connection_string=string + binding).send([event("a", 1)]) == {}


@pytest.mark.parametrize(
    ("binding", "refused"),
    [("require sslmode=require", ""), ("require sslmode=disable", "channel_binding=require")],
)
def test_a_login_may_have_to_be_bound(
    postgres: PostgresServer, make: Make, binding: str, refused: str
) -> None:
    string = postgres.settings()["connection_string"].replace(" sslmode=disable", "")
    expected = pytest.raises(NotConnected, match=refused) if refused else nullcontext()
    with expected:
        make(connection_string=f"{string} channel_binding={binding}").probe()


@contextmanager
def certificate_by_ed25519(postgres: PostgresServer, admin: Admin) -> Iterator[None]:
    """Let the server show a certificate whose signature names no hash."""
    key = ed25519.Ed25519PrivateKey.generate()
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1)
    now = datetime.now(UTC)
    builder = builder.not_valid_before(now).not_valid_after(now + timedelta(days=1))
    shown = builder.sign(key, None).public_bytes(Encoding.PEM)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    kept = {}
    try:
        for setting, text in (("ssl_cert_file", shown), ("ssl_key_file", private)):
            (path,) = map(Path, admin.execute(f"show {setting}").fetchone() or ())
            kept[path] = path.read_bytes()
            path.write_bytes(text)
        reload(postgres, admin)
        yield
    finally:
        for path, text in kept.items():
            path.write_bytes(text)
        reload(postgres, admin)


def reload(postgres: PostgresServer, admin: Admin) -> None:
    """Let the server read its files again, and wait until it has."""

    def loaded() -> object:
        string = postgres.settings()["connection_string"]
        with psycopg.connect(string, autocommit=True) as connection:
            return connection.execute("select pg_conf_load_time()").fetchone()

    before = loaded()
    admin.execute("select pg_reload_conf()")
    last_seen(loaded, lambda time: time != before)


def is_encrypted(postgres: PostgresServer) -> bool:
    """Return whether the newest connection of a target has TLS; the server may still end others."""
    with postgres.connect() as connection:
        (answer,) = connection.execute(
            "select ssl from pg_stat_ssl join pg_stat_activity using (pid)"
            " where application_name = 'bucketcast' order by backend_start desc limit 1"
        ).fetchall()
    return answer == (True,)


def test_a_missing_database_is_reported(postgres: PostgresServer, make: Make) -> None:
    string = postgres.settings()["connection_string"].replace("dbname=bucketcast", "dbname=nope")
    with pytest.raises(NotConnected, match='"nope" does not exist'):
        make(connection_string=string).send([event("a", 1)])


def test_a_locked_table_or_a_slow_statement_is_timed_out(
    postgres: PostgresServer, make: Make, admin: Admin
) -> None:
    limited = f"{postgres.settings()['connection_string']} options='-c statement_timeout=200ms'"
    held = "another session holds a lock"
    for mode, mirror, said, *together in (
        ("share", make(), held, event("b", 2)),
        ("access exclusive", make(), held, event("b", 2)),
        ("exclusive", make(connection_string=limited), f"statement timeout .* {held}"),
    ):
        mirror.send([event("a", 1)])
        admin.execute("begin")
        admin.execute(f"lock table events in {mode} mode".encode())
        with pytest.raises(TimedOut, match=said):
            mirror.send([event("a", 2), *together])
        admin.execute("rollback")
        assert mirror.send([event("a", 2)]) == {}
