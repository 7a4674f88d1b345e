"""The grammar of Go's MySQL driver, read for the MySQL target."""

import pytest

from bucketcast.targets.mysql.address import Dsn, DsnError, parse


def read(text: str) -> tuple[str, str, str, int, str, str]:
    found = parse(text)
    return (found.user, found.password, found.host, found.port, found.socket, found.database)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("u:p@tcp(db.example:3307)/d", ("u", "p", "db.example", 3307, "", "d")),
        ("u:p@tcp(localhost)/d", ("u", "p", "localhost", 3306, "", "d")),
        ("u:p@tcp/d", ("u", "p", "127.0.0.1", 3306, "", "d")),
        ("u:p@tcp()/d", ("u", "p", "127.0.0.1", 3306, "", "d")),
        ("u:p@(h:1)/d", ("u", "p", "h", 1, "", "d")),
        ("u@/d", ("u", "", "127.0.0.1", 3306, "", "d")),
        ("u:p@/", ("u", "p", "127.0.0.1", 3306, "", "")),
        ("u:p@tcp(10.0.0.1:3306)/d", ("u", "p", "10.0.0.1", 3306, "", "d")),
        ("u:p@tcp([de:ad:be:ef::ca:fe]:80)/d", ("u", "p", "de:ad:be:ef::ca:fe", 80, "", "d")),
        ("u:p@tcp([::1])/d", ("u", "p", "::1", 3306, "", "d")),
        ("u:p@tcp(::1)/d", ("u", "p", "::1", 3306, "", "d")),
        (
            "u:p@unix(/run/mysqld/m.sock)/d",
            ("u", "p", "localhost", 3306, "/run/mysqld/m.sock", "d"),
        ),
        ("u:p@unix/d", ("u", "p", "localhost", 3306, "/tmp/mysql.sock", "d")),  # noqa: S108
        ("u:p@tcp(h)/a%2Fb%20c+d%C3%A9", ("u", "p", "h", 3306, "", "a/b c+dé")),
        ("u:p@ss@w:rd/with?all(of)&it=%zz@tcp(h)/d", None),
        ("é:pä😀@tcp(h)/d", ("é", "pä😀", "h", 3306, "", "d")),
        ("u:@tcp(h)/d", ("u", "", "h", 3306, "", "d")),
    ],
)
def test_what_a_dsn_says(text: str, found: tuple[str, str, str, int, str, str] | None) -> None:
    password = "p@ss@w:rd/with?all(of)&it=%zz"
    assert read(text) == (found or ("u", password, "h", 3306, "", "d"))


def test_nothing_is_assumed_that_is_not_said() -> None:
    assert parse("u:p@tcp(h)/d") == Dsn(user="u", password="p", host="h", database="d")


def test_each_parameter_that_works() -> None:
    assert parse(
        "u:p@tcp(h)/d?tls=true&timeout=1500ms&readTimeout=2s&writeTimeout=1m&maxAllowedPacket=4096"
        "&allowCleartextPasswords=true&connectionAttributes=program_name%3Aaudit"
        "&innodb_lock_wait_timeout=3&wsrep_trx_fragment_unit=%27bytes%27&net.x=ON"
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
        packet=4096,
        program="audit",
        variables=(
            ("innodb_lock_wait_timeout", "3"),
            ("net.x", "ON"),
            ("wsrep_trx_fragment_unit", "'bytes'"),
        ),
    )


@pytest.mark.parametrize(
    ("dsn", "meant"),
    [
        ("tls=true", "true"),
        ("tls=1", "true"),
        ("tls=False", "false"),
        ("tls=skip-verify", "skip-verify"),
        ("tls=Preferred", "preferred"),
        ("tls=skip-verify&allowFallbackToPlaintext=true", "preferred"),
        ("allowFallbackToPlaintext=true", "false"),
        ("", "false"),
    ],
)
def test_the_ways_of_tls(dsn: str, meant: str) -> None:
    assert parse(f"u:p@tcp(h)/d?{dsn}").tls == meant


@pytest.mark.parametrize(
    "dsn",
    [
        "parseTime=true",
        "loc=UTC",
        "charset=utf8mb4,utf8",
        "charset=utf8",
        "collation=utf8mb4_unicode_ci",
        "allowNativePasswords=true",
        "allowOldPasswords=false",
        "allowAllFiles=true",
        "checkConnLiveness=false",
        "clientFoundRows=true",
        "columnsWithAlias=true",
        "compress=false",
        "interpolateParams=true",
        "multiStatements=true",
        "rejectReadOnly=true",
        "timeTruncate=1s",
        "tinyInt1IsBool=false",
        "connectionAttributes=",
        "flag",
        "",
    ],
)
def test_what_changes_nothing_is_accepted(dsn: str) -> None:
    assert parse(f"u:p@tcp(h)/d?{dsn}") == parse("u:p@tcp(h)/d")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the / before the database's name is missing"),
        ("u:s3cret@tcp(h)", "the / before the database's name is missing"),
        ("u:s3cret@tcp(h/d", r"the \) after the address is missing"),
        ("u:s3cret@tcp(h)/d?loc=US/Pacific", "written %2F"),
        ("u:s3cret@udp(h)/d", r"neither tcp\(host:port\) nor unix"),
        ("u:s3cret/d", r"neither tcp\(host:port\) nor unix"),
        ("u:s3cret@h:3306/d", r"neither tcp\(host:port\) nor unix"),
        ("mysql://u:s3cret@h/d", r"neither tcp\(host:port\) nor unix"),
        ("tcp(h)/d", "the user before"),
        (":s3cret@tcp(h)/d", "the user before"),
        ("u:s3cret@tcp(h:)/d", "is not host:port"),
        ("u:s3cret@tcp(h:x)/d", "is not host:port"),
        ("u:s3cret@tcp(h:0)/d", "is not host:port"),
        ("u:s3cret@tcp(h:65536)/d", "is not host:port"),
        ("u:s3cret@tcp(a b)/d", "is not host:port"),
        ("u:s3cret@tcp(h)/d%zz", "the database's name is not percent-encoded"),
        ("u:s3cret@tcp(h)/d%ff", "the database's name is not percent-encoded"),
        ("u:s3cret@tcp(h)/d?tls=custom", "cert_authority"),
        ("u:s3cret@tcp(h)/d?tls=true&allowFallbackToPlaintext=true", "tls=preferred"),
        ("u:s3cret@tcp(h)/d?parseTime=yes", "parseTime is true or false"),
        ("u:s3cret@tcp(h)/d?timeout=5", "timeout is a duration"),
        ("u:s3cret@tcp(h)/d?timeTruncate=x", "timeTruncate is a duration"),
        ("u:s3cret@tcp(h)/d?maxAllowedPacket=-1", "maxAllowedPacket is a number"),
        ("u:s3cret@tcp(h)/d?charset=latin1", "charset allows only utf8mb4"),
        ("u:s3cret@tcp(h)/d?collation=latin1_bin", "collation allows only"),
        ("u:s3cret@tcp(h)/d?loc=Local", "loc allows only UTC"),
        ("u:s3cret@tcp(h)/d?compress=true", "compress is always false"),
        ("u:s3cret@tcp(h)/d?allowOldPasswords=true", "allowOldPasswords is always false"),
        ("u:s3cret@tcp(h)/d?allowNativePasswords=false", "allowNativePasswords is always true"),
        ("u:s3cret@tcp(h)/d?serverPubKey=key", "serverPubKey does not go here"),
        ("u:s3cret@tcp(h)/d?strict=true", "strict does not go here"),
        ("u:s3cret@tcp(h)/d?connectionAttributes=a%3Ab", "only program_name"),
        ("u:s3cret@tcp(h)/d?readtimeout=5s", "did you mean 'readTimeout'"),
        ("u:s3cret@tcp(h)/d?sql_mode=%27ANSI%27", "sql_mode is set by the target itself"),
        ("u:s3cret@tcp(h)/d?time_zone=%27SYSTEM%27", "time_zone is set by the target itself"),
        ("u:s3cret@tcp(h)/d?a=1;drop", "a is a system variable"),
        ("u:s3cret@tcp(h)/d?a=%27it%27s%27", "a is a system variable"),
        ("u:s3cret@tcp(h)/d?a=%zz", "a system variable's value is not percent-encoded"),
        ("u:s3cret@tcp(h)/d?a b=1", "no parameter and no variable"),
    ],
)
def test_what_is_wrong_is_named_without_the_secret(text: str, why: str) -> None:
    with pytest.raises(DsnError, match=why) as refused:
        parse(text)
    assert "s3cret" not in str(refused.value)


def test_the_password_is_not_shown() -> None:
    found = parse("u:s3cret@tcp([::1]:7)/d")
    assert "s3cret" not in repr(found)
    assert found.where == "[::1]:7/d"
    assert parse("u:s3cret@unix(/s)/d").where == "/s/d"
