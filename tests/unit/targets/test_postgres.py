"""PostgreSQL's settings: errors, notes, and the login that they make."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from pg8000 import DatabaseError

from bucketcast.config import load
from bucketcast.errors import ConfigErrors, NotAuthorized, NotConnected
from bucketcast.settings.options import read
from bucketcast.targets.postgres import Target
from bucketcast.targets.postgres.address import Login
from bucketcast.targets.postgres.settings import PostgresSettings, login

DEPRECATED = {"host": "[::1]", "port": "2832", "username": "me", "password": "p q"}
DEPRECATED["database"] = "d"


def settings(**options: str) -> PostgresSettings:
    return read(PostgresSettings, {"table": "events", **options})


def notes(tmp_path: Path, toml: str) -> tuple[str, ...]:
    path = tmp_path / "bucketcast.toml"
    path.write_text(f'[notify_postgres.db]\ntable = "events"\n{toml}')
    return load(path, {}, local=True).notes


@pytest.mark.parametrize(
    "options",
    [
        {"connection_string": "host=h user=u"},
        {"connection_string": "secret:db"},
        {"connection_string": "sslmode=disable", "host": "secret:db", "username": "secret:db"},
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
    (note,) = notes(tmp_path, 'host = "h"\nconnection_string = "user=u sslmode=disable"')
    assert note.endswith("which wins where both say the same")
    assert notes(tmp_path, 'connection_string = "host=h user=u"') == ()


def made(**given: Any) -> Login:
    """Return a login with these parts, and defaults."""
    parts: dict[str, Any] = {
        "servers": (("h", 5432),),
        "user": "u",
        "password": "",
        "database": "u",
        "mode": "require",
        "binding": "prefer",
        "read_write": False,
        "session": {},
    }
    return Login(**{**parts, **given})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (DEPRECATED, made(servers=(("::1", 2832),), user="me", password="p q", database="d")),
        (
            {"host": "h", "username": "u", "connection_string": "sslmode=disable port=1"},
            made(servers=(("h", 1),), mode="disable"),
        ),
        (
            DEPRECATED | {"connection_string": "postgresql://a:b%40%20@h:7/d?sslmode=verify-ca"},
            made(servers=(("h", 7),), user="a", password="b@ ", database="d", mode="verify-ca"),
        ),
        (
            {"connection_string": "host=h username=u database=d password='username=it\\'s x'"},
            made(database="d", password="username=it's x"),
        ),
        (
            {"connection_string": "host = h\tuser=u password=a\\ b'c\\\\ dbname= d"},
            made(database="d", password="a b'c\\"),
        ),
        (
            {"connection_string": "user=u host=a,b port=1,2 target_session_attrs=read-write"},
            made(servers=(("a", 1), ("b", 2)), read_write=True),
        ),
        (
            {"connection_string": "postgres://u@[::1]:7,b?search_path=x&application_name=me"},
            made(
                servers=(("::1", 7), ("b", 5432)),
                session={"search_path": "x", "application_name": "me"},
            ),
        ),
        (
            {"connection_string": "user=u options='-c geqo=off'"},
            made(servers=(("localhost", 5432),), session={"options": "-c geqo=off"}),
        ),
    ],
)
def test_the_login_of_a_connection_string(options: dict[str, str], expected: Login) -> None:
    assert login(settings(**options)) == expected


@pytest.mark.parametrize(
    ("string", "said"),
    [
        ("host=h s3cret", "no list of name=value: values with spaces need 'quotes'"),
        ("host=h password='s3cret", "no list of name=value"),
        ("postgres://u:s3cret@h@i/d", "the URL is malformed: what is special in it needs %XX"),
        ("postgres://u:s3cret@a:b:1/d", "an address in the URL is not host:port"),
        ("host=h password=s3cret", "user is missing"),
        ("host=h user=u port=s3cret", "port is not a number from 1 to 65535"),
        ("host=h user=u port=65536", "port is not a number from 1 to 65535"),
        ("host=a,b,c user=u port=1,2", "port has 2 values for 3 hosts"),
        ("host=/var/run user=u", "host is a socket of this machine: use a host name"),
        ("host=h user=u sslmode=prefer", "sslmode: found 'prefer', allowed are require, disable,"),
        ("host=h user=u target_session_attrs=primary", "allowed are any, read-write"),
        ("host=h user=u sslkey=/k", "sslkey is not supported: use the option client_key"),
        ("host=h user=u sslrootcert=system", "without it, the system's CAs count"),
        ("host=h user=u service=s3cret", "service is not supported"),
        ("host=h user=u sslinline=true", "use the options cert_authority"),
        ("host=h user=u krbspn=s3cret", "log in with a password or a certificate"),
        ("host=h user=u channel_binding=1", "allowed are prefer, require, disable"),
        ("nonsense", "no list of name=value"),
    ],
)
def test_a_connection_string_that_cannot_be_used_is_explained(string: str, said: str) -> None:
    (problem,) = Target.check(settings(connection_string=string))
    assert problem[0] == "connection_string"
    assert said in problem[2]
    with pytest.raises(NotAuthorized) as refused:
        login(settings(connection_string=string))
    assert str(refused.value).startswith("connection_string: ")
    assert said in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_where_contains_deprecated_keys_too() -> None:
    assert Target(settings(**DEPRECATED)).where == "::1:2832/d table events"


def test_an_empty_login_is_reported_when_it_is_used() -> None:
    with pytest.raises(NotAuthorized, match="connection_string is empty"):
        login(settings())
    assert "connection_string is empty" in Target(settings()).where


def test_a_login_needs_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pooler takes logins while it has no server behind it."""

    class Pooled:
        def __init__(self, *_: Any) -> None:
            pass

        def close_after(self, _: float) -> AbstractContextManager[None]:
            return nullcontext()

        def execute(self, _: str) -> None:
            raise DatabaseError({"C": "08P01", "M": "server login has been failing"})

        def close(self) -> None:
            pass

    monkeypatch.setattr("bucketcast.targets.postgres.connect", Pooled)
    with (
        Target(settings(connection_string="host=h user=u")) as target,
        pytest.raises(NotConnected, match="server login has been failing"),
    ):
        target.login()


@pytest.mark.parametrize("name", ["a.b", "1a", 'x"y', '"a"b"', '""', "a b", "a-b", "a;", "a" * 58])
def test_a_table_name_that_minio_refuses_is_refused(name: str) -> None:
    (problem,) = Target.check(settings(connection_string="user=u", table=name))
    assert problem[0] == "table"


def test_where_contains_no_secret() -> None:
    url = "postgresql://u:s3cret@[::1]:5432,h2:7/d?sslmode=disable"
    assert Target(settings(connection_string=url)).where == "::1:5432,h2:7/d table events"
