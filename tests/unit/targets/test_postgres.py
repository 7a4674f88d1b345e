"""PostgreSQL's settings: errors, notes, and the parameters for libpq."""

import socket
from pathlib import Path
from typing import Any

import pytest
from psycopg import OperationalError

from bucketcast.config import load
from bucketcast.errors import ConfigErrors, NotAuthorized, NotConnected
from bucketcast.settings.options import read
from bucketcast.targets.postgres import Target, client
from bucketcast.targets.postgres.settings import PostgresSettings, parameters
from tests.unit.samples import event

DEPRECATED = {
    "host": "[::1]",
    "port": "2832",
    "username": "psqluser",
    "password": "psql pass",
    "database": "bucketevents",
}


def settings(**options: str) -> PostgresSettings:
    return read(PostgresSettings, {"table": "events", **options})


def notes(tmp_path: Path, toml: str) -> tuple[str, ...]:
    path = tmp_path / "bucketcast.toml"
    path.write_text(f'[notify_postgres.db]\ntable = "events"\n{toml}')
    return load(path, {}, local=True).notes


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({}, "connection_string"),
        ({"password": "x", "database": "d"}, "connection_string"),
        ({"host": "h"}, "username"),
        (DEPRECATED | {"port": "65536"}, "port"),
        (DEPRECATED | {"port": "0"}, "port"),
    ],
)
def test_an_invalid_login_is_refused_with_its_key(options: dict[str, str], key: str) -> None:
    assert [problem[0] for problem in Target.check(settings(**options))] == [key]


@pytest.mark.parametrize(
    "options",
    [
        {"connection_string": "host=h"},
        {"connection_string": "secret:db"},
        {"host": "h", "username": "u"},
        DEPRECATED,
        DEPRECATED | {"connection_string": "sslmode=disable"},
        {"host": "secret:db#host", "port": "secret:db#port", "username": "secret:db#user"},
    ],
)
def test_either_login_is_accepted(options: dict[str, str]) -> None:
    assert Target.check(settings(**options)) == []


def test_a_missing_login_is_reported_with_an_example(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors) as refused:
        notes(tmp_path, "")
    assert "notify_postgres.db.connection_string: missing; a secret is needed, for example" in str(
        refused.value
    )


def test_deprecated_keys_are_reported(tmp_path: Path) -> None:
    (note,) = notes(tmp_path, 'host = "h"\nusername = "u"\npassword = "hunter2"')
    assert note.startswith("host, username, password: deprecated, use connection_string")
    assert "hunter2" not in note
    (note,) = notes(tmp_path, 'host = "h"\nconnection_string = "sslmode=disable"')
    assert note.endswith("which wins where both say the same")
    assert notes(tmp_path, 'connection_string = "host=h"') == ()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            DEPRECATED,
            {
                "host": "::1",
                "port": "2832",
                "user": "psqluser",
                "password": "psql pass",
                "dbname": "bucketevents",
            },
        ),
        (
            {"host": "h", "username": "u", "connection_string": "sslmode=disable port=1"},
            {"host": "h", "user": "u", "sslmode": "disable", "port": "1"},
        ),
        (
            DEPRECATED | {"connection_string": "postgresql://a:b@h:7/d"},
            {"host": "h", "port": "7", "user": "a", "password": "b", "dbname": "d"},
        ),
        (
            {"connection_string": "host=h username=u database=d password='username=it\\'s x'"},
            {"host": "h", "user": "u", "dbname": "d", "password": "username=it's x"},
        ),
    ],
)
def test_the_parameters_for_libpq(options: dict[str, str], expected: dict[str, str]) -> None:
    assert parameters(settings(**options)) == expected


def test_where_contains_deprecated_keys_too() -> None:
    assert Target(settings(**DEPRECATED)).where == "::1:2832/bucketevents table events"


def test_an_empty_login_is_reported_when_it_is_used() -> None:
    with pytest.raises(NotAuthorized, match="connection_string is empty"):
        parameters(settings())
    assert "connection_string is empty" in Target(settings()).where


def test_a_login_needs_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pooler takes logins while it has no server behind it."""

    class Pooled:
        def __init__(self, *_: Any) -> None:
            self.line, self.pooler = socket.socketpair()

        def fileno(self) -> int:
            return self.line.fileno()

        def execute(self, _: bytes) -> None:
            raise OperationalError("server login has been failing")

        def close(self) -> None:
            self.line.close()
            self.pooler.close()

    monkeypatch.setattr(client, "connect", Pooled)
    with (
        Target(settings(connection_string="host=h")) as target,
        pytest.raises(NotConnected, match="server login has been failing"),
    ):
        target.login()


@pytest.mark.parametrize("name", ["a.b", "1a", 'x"y', '"a"b"', '""', "a b", "a-b", "a;", "a" * 58])
def test_a_table_name_that_minio_refuses_is_refused(name: str) -> None:
    (problem,) = Target.check(settings(connection_string="host=h", table=name))
    assert problem[0] == "table"


def test_certificate_and_key_go_together() -> None:
    pem = "-----BEGIN CERTIFICATE-----"
    (problem,) = Target.check(settings(connection_string="host=h", client_cert=pem))
    assert problem[0] == "client_key"


def test_where_contains_no_secret() -> None:
    url = "postgresql://u:s3cret@[::1]:5432,h2:7/d?sslmode=disable"
    assert Target(settings(connection_string=url)).where == "::1:5432,h2:7/d table events"
    broken = Target(settings(connection_string="host=a s3cret"))
    assert "s3cret" not in broken.where
    with pytest.raises(NotAuthorized) as refused:
        broken.send([event()])
    assert "s3cret" not in str(refused.value)
    assert "s3cret" not in repr(broken.settings)
