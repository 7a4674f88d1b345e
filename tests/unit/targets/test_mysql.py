"""The MySQL target's settings, and `dsn_string` as it is parsed."""

import pytest

from bucketcast.settings import options
from bucketcast.targets.mysql import Target
from bucketcast.targets.mysql.address import Dsn, DsnError, parse
from bucketcast.targets.mysql.settings import MysqlSettings, dsn


def settings(**texts: str) -> MysqlSettings:
    return options.read(MysqlSettings, {"table": "t", **texts})


def read(dsn: str) -> tuple[str, str, str, int, str]:
    parsed = parse(dsn)
    return (parsed.user, parsed.password, parsed.host, parsed.port, parsed.database)


@pytest.mark.parametrize(
    ("dsn", "expected"),
    [
        ("u:p@tcp(db.example:3307)/d", ("u", "p", "db.example", 3307, "d")),
        ("u@tcp(h)/d", ("u", "", "h", 3306, "d")),
        ("u:p@tcp(h)/", ("u", "p", "h", 3306, "")),
        ("u:p@tcp([de:ad:be:ef::ca:fe]:80)/d", ("u", "p", "de:ad:be:ef::ca:fe", 80, "d")),
        ("u:p@tcp([::1])/d", ("u", "p", "::1", 3306, "d")),
        ("u:p@tcp(h)/a%2Fb%20c+d%C3%A9", ("u", "p", "h", 3306, "a/b c+dé")),
        ("u:p@ss@w:rd/with?all(of)&it=%zz@tcp(h)/d", None),
        ("é:pä😀@tcp(h)/d", ("é", "pä😀", "h", 3306, "d")),
        ("u:@tcp(h)/d", ("u", "", "h", 3306, "d")),
    ],
)
def test_a_dsn_is_parsed(dsn: str, expected: tuple[str, str, str, int, str] | None) -> None:
    password = "p@ss@w:rd/with?all(of)&it=%zz"
    assert read(dsn) == (expected or ("u", password, "h", 3306, "d"))


def test_every_parameter_is_parsed() -> None:
    assert parse(
        "u:p@tcp(h)/d?tls=true&timeout=1500ms&readTimeout=2s&writeTimeout=1m"
        "&allowCleartextPasswords=true"
    ) == Dsn(
        user="u",
        password="p",
        host="h",
        database="d",
        tls="true",
        cleartext=True,
        timeout=1.5,
        read_timeout=2.0,
        write_timeout=60.0,
    )


@pytest.mark.parametrize(
    ("dsn", "reason"),
    [
        ("", "the / before the database's name is missing"),
        ("u:s3cret@tcp(h)", "the / before the database's name is missing"),
        ("u:s3cret@tcp(h/d", r"not tcp\(host:port\)"),
        ("u:s3cret@udp(h)/d", r"not tcp\(host:port\)"),
        ("u:s3cret@unix(/s)/d", r"not tcp\(host:port\)"),
        ("u:s3cret/d", r"not tcp\(host:port\)"),
        ("u:s3cret@h:3306/d", r"not tcp\(host:port\)"),
        ("mysql://u:s3cret@h/d", r"not tcp\(host:port\)"),
        ("tcp(h)/d", "the user before"),
        (":s3cret@tcp(h)/d", "the user before"),
        ("u:s3cret@tcp()/d", "is not host:port"),
        ("u:s3cret@tcp(h:)/d", "is not host:port"),
        ("u:s3cret@tcp(h:x)/d", "is not host:port"),
        ("u:s3cret@tcp(h:0)/d", "is not host:port"),
        ("u:s3cret@tcp(h:65536)/d", "is not host:port"),
        ("u:s3cret@tcp(a b)/d", "is not host:port"),
        ("u:s3cret@tcp(::1)/d", "is not host:port"),
        ("u:s3cret@tcp(h)/d%zz", "the database's name is not percent-encoded"),
        ("u:s3cret@tcp(h)/d%ff", "the database's name is not percent-encoded"),
        ("u:s3cret@tcp(h)/d?tls=custom", "cert_authority"),
        ("u:s3cret@tcp(h)/d?timeout=5", "timeout is a duration"),
        ("u:s3cret@tcp(h)/d?allowCleartextPasswords=y", "allowCleartextPasswords is true or false"),
        ("u:s3cret@tcp(h)/d?allowFallbackToPlaintext=true", "use tls=preferred"),
        ("u:s3cret@tcp(h)/d?autocommit=true", "unknown parameter autocommit: .*allowed are tls, "),
        ("u:s3cret@tcp(h)/d?readtimeout=5s", "readtimeout: did you mean 'readTimeout'"),
        ("u:s3cret@tcp(h)/d?tls=true&flag", "unknown parameter flag"),
    ],
)
def test_an_error_is_named_without_the_secret(dsn: str, reason: str) -> None:
    with pytest.raises(DsnError, match=reason) as refused:
        parse(dsn)
    assert "s3cret" not in str(refused.value)


def test_the_password_is_not_shown() -> None:
    dsn = parse("u:s3cret@tcp([::1]:7)/d")
    assert "s3cret" not in repr(dsn)
    assert dsn.where == "[::1]:7/d"


@pytest.mark.parametrize(
    "name",
    ["a b", "a-b", "a;", "123", "x`y", "``", "`a`b`", "a.b.c", "`a `", ".a", "a.", "a\0", "a" * 59],
)
def test_a_table_name_that_the_server_refuses_is_refused(name: str) -> None:
    (problem,) = Target.check(settings(dsn_string="u@tcp(h)/d", table=name))
    assert problem[0] == "table"


def test_deprecated_keys_make_a_login_with_a_note() -> None:
    keys = {"host": "h", "port": "3307", "username": "u", "password": "p", "database": "d"}
    deprecated = settings(**keys)
    assert dsn(deprecated) == Dsn(user="u", password="p", host="h", port=3307, database="d")
    (note,) = Target.notes(deprecated)
    assert note.startswith("host, port, username, password, database: deprecated, use dsn_string")


def test_a_dsn_wins_over_deprecated_keys() -> None:
    both = settings(dsn_string="u@tcp(h)/d", host="nowhere.invalid", password="other")
    assert dsn(both) == Dsn(user="u", password="", host="h", database="d")
    assert "do nothing" in Target.notes(both)[0]
