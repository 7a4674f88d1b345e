"""How MySQL is reached: the DSN, logins, rights, TLS and time-outs."""

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest
import trustme

from bucketcast.errors import NotAuthorized, NotConnected, Retryable
from bucketcast.targets import base
from bucketcast.targets.mysql import Target
from tests.contract.case import DELETE, event
from tests.contract.diagnoses import fault
from tests.contract.mysql_target import global_variable, refusal
from tests.contract.target_factory import making, running
from tests.servers.mysql import MysqlServer

Make = Callable[..., Target]
mysql = running("mysql")
make = making(Target, "mysql")


def test_missing_rights_are_named(mysql: MysqlServer, make: Make) -> None:
    make().send([event("a", 1)])
    mysql.rows("CREATE USER IF NOT EXISTS poor@'%' IDENTIFIED BY 'poor-s3cret'")
    mysql.rows("GRANT SELECT, INSERT, UPDATE ON bucketcast.* TO poor@'%'")
    poor = mysql.dsn("poor", "poor-s3cret")
    mirror = make(dsn_string=poor)
    with pytest.raises(Retryable, match=r"DELETE command denied.*events.*grant it"):
        mirror.probe()
    with pytest.raises(Retryable, match=r"DELETE command denied.*grant it"):
        raise refusal(mirror, [event("a", 2, DELETE)])
    finding = fault(mirror)
    assert "DELETE command denied" in finding.found
    assert "grant it" in finding.hint
    with pytest.raises(Retryable, match=r"CREATE command denied.*grant it"):
        raise refusal(make(table="new", dsn_string=poor), [event("a", 1)])


def test_a_log_needs_insert_only(mysql: MysqlServer, make: Make) -> None:
    make(format="access").send([event("a", 1)])
    mysql.rows("CREATE USER IF NOT EXISTS scribe@'%' IDENTIFIED BY 'scribe-s3cret'")
    mysql.rows("GRANT INSERT ON bucketcast.events TO scribe@'%'")
    log = make(format="access", dsn_string=mysql.dsn("scribe", "scribe-s3cret"))
    log.probe()
    assert log.send([event("b", 2)]) == {}
    assert len(mysql.received()) == 2


def is_encrypted(target: Target) -> bool:
    """Return True if the open connection uses TLS."""
    client_ = cast("Any", target)._open
    return bool(client_.query(b"SHOW SESSION STATUS LIKE 'Ssl_cipher'")[0][1])


@pytest.mark.parametrize(
    ("query", "encrypted"),
    [("", False), ("?tls=false", False), ("?tls=skip-verify", True), ("?tls=preferred", True)],
)
def test_tls_follows_the_dsn(
    mysql: MysqlServer, make: Make, query: str, *, encrypted: bool
) -> None:
    mirror = make(dsn_string=mysql.dsn(parameters=query))
    assert mirror.send([event("a", 1)]) == {}
    assert is_encrypted(mirror) is encrypted


@pytest.mark.parametrize(
    "query",
    [
        "charset=utf8mb4&parseTime=True&loc=Local&maxAllowedPacket=4096",
        "loc=Asia%2FTokyo&interpolateParams=1&compress=F",
    ],
)
def test_what_go_applications_say_about_rows_and_size_has_no_effect(
    mysql: MysqlServer, make: Make, query: str
) -> None:
    string = mysql.dsn(parameters=f"?tls=True&{query}")
    mirror = make(dsn_string=string, cert_authority=mysql.tls.ca.read_text())
    assert mirror.send([event("a", 1, principal="p" * 9_000)]) == {}
    assert is_encrypted(mirror)


@pytest.mark.parametrize("query", ["", "?tls=false", "?tls=skip-verify", "?tls=preferred"])
def test_an_authority_is_never_ignored(mysql: MysqlServer, make: Make, query: str) -> None:
    dsn = mysql.dsn(parameters=query)
    with pytest.raises(NotConnected, match="certificate"):
        make(dsn_string=dsn, cert_authority=trustme.CA().cert_pem.bytes().decode()).probe()
    mirror = make(dsn_string=dsn, cert_authority=mysql.tls.ca.read_text())
    assert mirror.send([event("a", 1)]) == {}
    assert is_encrypted(mirror)


def test_a_client_certificate_is_never_ignored(mysql: MysqlServer, make: Make) -> None:
    with pytest.raises(NotConnected, match="certificate"):
        make(**mysql.certificate).probe()
    login = mysql.mtls_settings()["dsn_string"].replace("tls=true", "tls=skip-verify")
    make(dsn_string=login, **mysql.certificate).probe()


def test_a_server_that_takes_tls_only_is_reported(mysql: MysqlServer, make: Make) -> None:
    with (
        global_variable(mysql, "require_secure_transport", "ON"),
        pytest.raises(NotConnected, match="tls=true in dsn_string"),
    ):
        make().probe()


def test_a_missing_database_is_reported(mysql: MysqlServer, make: Make) -> None:
    dsn = mysql.dsn("admin", "admin-s3cret")
    for name, said in (("nope", "make the data"), ("", r"database\.table")):
        with pytest.raises(Retryable, match=said):
            make(dsn_string=dsn.replace("/bucketcast", f"/{name}")).probe()


def test_the_server_sees_the_programs_name(mysql: MysqlServer, make: Make) -> None:
    attributes = "SELECT attr_value FROM performance_schema.session_connect_attrs WHERE attr_name"
    make().probe()
    # The server may still end the connections of other targets.
    assert set(mysql.rows(f"{attributes} = 'program_name'")) == {("bucketcast",)}


def test_a_password_is_sent_in_clear_text_only_if_allowed(mysql: MysqlServer, make: Make) -> None:
    """The account does not exist: only the sending of the password matters."""
    mysql.rows("CREATE OR REPLACE USER pam@'%' IDENTIFIED VIA pam")
    for query, message in (
        ("", "allowCleartextPasswords=true"),
        ("?allowCleartextPasswords=true", "Access denied"),
    ):
        with pytest.raises(NotAuthorized, match=message):
            make(dsn_string=mysql.dsn("pam", "s3cret", query)).probe()


def test_another_kind_of_server_is_reported(mysql: MysqlServer, make: Make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, ThreadPoolExecutor(1) as pool:
        dsn = mysql.dsn().replace(mysql.address, f"127.0.0.1:{other.getsockname()[1]}")
        probing = pool.submit(make(dsn_string=dsn).probe)
        with other.accept()[0] as line:
            line.sendall(b"\x0c\0\0\0SSH-2.0-Open")
        assert isinstance(probing.exception(), NotConnected)


@pytest.fixture
def without_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the time-outs of the DSN end a wait."""
    monkeypatch.setattr(Target, "timeout", 100_000.0)
    monkeypatch.setattr(base, "CONNECT_SECONDS", 100_000.0)


@pytest.mark.usefixtures("without_timeouts")
def test_a_login_waits_as_long_as_the_dsn_says(mysql: MysqlServer, make: Make) -> None:
    mysql.pause()
    mirror = make(dsn_string=mysql.dsn(parameters="?timeout=500ms"))
    assert isinstance(refusal(mirror, [event("a", 1)]), NotConnected)
    mysql.resume()


@pytest.mark.usefixtures("without_timeouts")
@pytest.mark.parametrize("query", ["?readTimeout=3s", "?writeTimeout=3s"])
def test_a_batch_waits_as_long_as_the_dsn_says(mysql: MysqlServer, make: Make, query: str) -> None:
    """Twelve megabytes exceed the buffers of a connection to a server that does not read."""
    large = 6_000_000 if "write" in query else 1
    log = make(dsn_string=mysql.dsn(parameters=query), format="access")
    assert log.send([event("a", 1)]) == {}
    mysql.pause()
    reason = refusal(log, [event("b", 2, principal="p" * large)])
    mysql.resume()
    assert isinstance(reason, NotConnected)
    assert log.send([event("b", 2)]) == {}
