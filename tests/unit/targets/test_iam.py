"""The options of an IAM login: valid combinations, and the token of each service."""

import hashlib
import re
from base64 import urlsafe_b64decode
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from botocore.credentials import Credentials
from msgspec.structs import replace

from bucketcast import targets
from bucketcast.aws import iam_login
from bucketcast.dynamic_targets.validation import validate
from bucketcast.errors import ConfigErrors, NotAuthorized, NotConnected
from bucketcast.settings.options import read
from bucketcast.targets.base import database
from bucketcast.targets.elasticsearch.client import Client
from bucketcast.targets.kafka.configuration import TokenProvider
from bucketcast.targets.mqtt import address
from bucketcast.targets.mqtt.websocket import signed_path
from bucketcast.targets.redis.client import login
from tests.unit.moto_aws import DYNAMIC

HERE = "eu-west-1:111122223333"
BROKER = "wss://abc-ats.iot.eu-west-1.amazonaws.com/mqtt"


def by_iam(resource: str, **others: str) -> dict[str, str]:
    """Return settings of a login to a resource of AWS's."""
    return {"auth": "iam", "iam_resource": f"arn:aws:{resource}", **others}


RDS = by_iam(f"rds-db:{HERE}:dbuser:db-ABC/bucketcast", host="db.example", table="t")
RIGHT: dict[str, dict[str, str]] = {
    "postgres": RDS,
    "mysql": RDS,
    "redis": by_iam(
        f"elasticache:{HERE}:replicationgroup:events",
        address="cache.example",
        key="k",
        tls="on",
        user="bucketcast",
    ),
    "elasticsearch": by_iam(
        f"es:{HERE}:domain/events", url="https://search.example", index="events"
    ),
    "kafka": by_iam(
        f"kafka:{HERE}:cluster/events/0123-1", brokers="b-1.example:9098", topic="events", tls="on"
    ),
    "mqtt": by_iam(f"iot:{HERE}:topic/bucketevents", broker=BROKER, topic="bucketevents", qos="1"),
}


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> Credentials:
    credentials = Credentials("AKIAIOSFODNN7EXAMPLE", "key-s3cret", "session-s3cret")
    session = SimpleNamespace(get_credentials=lambda: credentials)
    monkeypatch.setattr(iam_login, "_session", lambda: session)
    return credentials


def verify(token: str, service: str, host: str, path: str = "/", *, session: bool = True) -> None:
    """Check that this is a URL without its scheme as the service expects it, signed just now."""
    parts = urlsplit(f"https://{token}")
    assert (parts.netloc, parts.path) == (host, path)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    assert re.fullmatch("[0-9a-f]{64}", query.pop("X-Amz-Signature"))
    date = query["X-Amz-Date"]
    verify_time(date)
    scope = f"{date[:8]}/eu-west-1/{service}/aws4_request"
    assert query["X-Amz-Algorithm"] == "AWS4-HMAC-SHA256"
    assert query["X-Amz-Credential"] == f"AKIAIOSFODNN7EXAMPLE/{scope}"
    assert (query["X-Amz-Expires"], query["X-Amz-SignedHeaders"]) == ("900", "host")
    assert query.get("X-Amz-Security-Token") == ("session-s3cret" if session else None)


def verify_time(date: str) -> None:
    signed_at = datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert abs(datetime.now(UTC) - signed_at) < timedelta(minutes=5)


def settings(kind: str, **changed: str) -> Any:
    """Return valid settings, but for what is changed; what is "" is left out."""
    options = {key: value for key, value in {**RIGHT[kind], **changed}.items() if value}
    return read(targets.load(kind).Settings, options)


def errors(kind: str, **changed: str) -> list[tuple[str, str]]:
    found = targets.load(kind).check(settings(kind, **changed))
    return [(key, problem) for key, problem, _ in found]


@pytest.mark.parametrize("kind", RIGHT)
def test_valid_options_have_no_errors(kind: str) -> None:
    assert errors(kind) == []


@pytest.mark.parametrize("kind", RIGHT)
def test_the_resource_is_one_arn_of_the_service(kind: str) -> None:
    assert ("iam_resource", "missing") in errors(kind, iam_resource="")
    for wrong in (f"arn:aws:s3:{HERE}:bucket", "events", f"{RIGHT[kind]['iam_resource']}/*"):
        assert ("iam_resource", f"found {wrong!r}") in errors(kind, iam_resource=wrong)
    problems = errors(kind, iam_resource="secret:arn")
    assert ("iam_resource", "found a reference to a secret") in problems


@pytest.mark.parametrize(
    ("kind", "changed", "key", "problem"),
    [
        ("postgres", {"password": "x"}, "password", "given beside auth = iam"),
        ("mysql", {"password": "x"}, "password", "given beside auth = iam"),
        ("redis", {"password": "x"}, "password", "given beside auth = iam"),
        ("redis", {"tls": "off"}, "tls", "found off"),
        ("redis", {"tls_skip_verify": "on"}, "tls_skip_verify", "found on"),
        ("redis", {"user": ""}, "user", "missing"),
        ("elasticsearch", {"api_key": "x"}, "api_key", "given beside auth = iam"),
        ("elasticsearch", {"url": "http://s.example"}, "url", "found http://"),
        (
            "elasticsearch",
            {"url": "https://a:b@s.example"},
            "url",
            "found a login in it beside auth = iam",
        ),
        ("kafka", {"sasl": "on", "sasl_username": "x"}, "sasl", "given beside auth = iam"),
        ("kafka", {"tls": "off"}, "tls", "found off"),
        ("kafka", {"topic": "secret:topic"}, "topic", "found a reference to a secret"),
        ("kafka", {"auth": "secret:a"}, "auth", "found a reference to a secret"),
        ("mqtt", {"broker": "tls://abc.iot.example"}, "broker", "found tls://"),
        (
            "mqtt",
            {"broker": "wss://a:b@abc.example"},
            "broker",
            "found a login in it beside auth = iam",
        ),
        ("mqtt", {"username": "x"}, "username", "given beside auth = iam"),
        ("mqtt", {"qos": "2"}, "qos", "found '2' beside auth = iam"),
        ("mqtt", {"topic": "other"}, "topic", "found 'other'"),
        ("mqtt", {"tls_skip_verify": "on"}, "tls_skip_verify", "found on"),
    ],
)
def test_conflicting_options_are_refused(
    kind: str, changed: dict[str, str], key: str, problem: str
) -> None:
    assert (key, problem) in errors(kind, **changed)


@pytest.mark.parametrize("kind", ["redis", "kafka"])
def test_a_run_time_target_has_no_role_of_its_own(kind: str) -> None:
    functions = {**DYNAMIC.functions, kind: "f"}
    setup = replace(DYNAMIC, functions=functions)
    with pytest.raises(ConfigErrors, match=f"notify_{kind}.audit.auth: found 'iam'"):
        validate(setup, kind, "audit", RIGHT[kind])


def test_a_database_login_is_for_one_user_at_one_address() -> None:
    rds = settings("postgres")
    token = database.password(rds, "db.example", 5432, "bucketcast")
    verify(token, "rds-db", "db.example:5432")
    query = dict(parse_qsl(urlsplit(f"https://{token}").query))
    assert (query["Action"], query["DBUser"]) == ("connect", "bucketcast")
    with pytest.raises(NotAuthorized, match="user is not the one of iam_resource, bucketcast"):
        database.password(rds, "db.example", 5432, "root")


@pytest.mark.parametrize(
    ("kind", "key", "login", "without"),
    [
        ("postgres", "connection_string", "host=127.0.0.1 password=s3cret", "host=127.0.0.1"),
        (
            "mysql",
            "dsn_string",
            "bucketcast:s3cret@tcp(127.0.0.1)/d",
            "bucketcast@tcp(127.0.0.1)/d",
        ),
    ],
)
def test_a_whole_login_with_a_password_is_refused(
    kind: str, key: str, login: str, without: str
) -> None:
    target = targets.load(kind)
    with (
        target(settings(kind, host="", port="1", **{key: login})) as opened,
        pytest.raises(NotAuthorized, match=f"{key} holds a password beside auth = iam") as refused,
    ):
        opened.login()
    assert "s3cret" not in str(refused.value)
    alone = settings(kind, host="", **{key: without})
    with target(alone) as opened, pytest.raises(NotConnected):  # there is no server
        opened.login()


@pytest.mark.parametrize("string", ["dbname=d", "host=a,b", "host=a port=1,2"])
def test_a_database_login_is_for_one_host(string: str) -> None:
    opened = targets.load("postgres")(settings("postgres", connection_string=string, host=""))
    with opened, pytest.raises(NotAuthorized, match="auth = iam signs the name of one host"):
        opened.login()


@pytest.mark.parametrize(
    ("resource", "service", "more"),
    [
        (f"arn:aws:elasticache:{HERE}:replicationgroup:events", "elasticache", {}),
        (
            f"arn:aws:elasticache:{HERE}:serverlesscache:events",
            "elasticache",
            {"ResourceType": "ServerlessCache"},
        ),
        (f"arn:aws:memorydb:{HERE}:cluster/events", "memorydb", {}),
    ],
)
def test_a_cache_login_is_for_its_name(resource: str, service: str, more: dict[str, str]) -> None:
    user, token = login(settings("redis", iam_resource=resource)).values()
    assert token
    verify(token, service, "events")
    query = dict(parse_qsl(urlsplit(f"https://{token}").query))
    own = {key: value for key, value in query.items() if not key.startswith("X-Amz-")}
    assert user == "bucketcast"
    assert own == {"Action": "connect", "User": "bucketcast", **more}


def test_a_cluster_login_is_a_signed_url_followed_by_the_clients_name() -> None:
    token, _ = TokenProvider(settings("kafka"))()
    url = urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    signed_url, agent, _ = url.partition("&User-Agent=")
    assert "=" not in token
    assert agent
    verify(signed_url.removeprefix("https://"), "kafka-cluster", "kafka.eu-west-1.amazonaws.com")
    assert "Action=kafka-cluster%3AConnect" in signed_url


def test_a_websockets_signature_does_not_cover_the_session_token() -> None:
    host = "abc-ats.iot.eu-west-1.amazonaws.com"
    path = signed_path(settings("mqtt"), address.parse(BROKER))
    signed_part, session, token = path.partition("&X-Amz-Security-Token=")
    assert session
    assert token == "session-s3cret"
    verify(f"{host}{signed_part}", "iotdevicegateway", host, "/mqtt", session=False)


@pytest.mark.parametrize("body", [None, b'{"index":{}}\n'])
def test_a_request_to_a_domain_is_signed_with_its_body(body: bytes | None) -> None:
    headers = Client(settings("elasticsearch"), 1.0).headers(
        "POST", "/_bulk?filter_path=items", body
    )
    assert headers
    lower = {name.lower(): to_sign for name, to_sign in headers.items()}
    verify_time(lower["x-amz-date"])
    assert lower["x-amz-security-token"] == "session-s3cret"
    assert lower["x-amz-content-sha256"] == hashlib.sha256(body or b"").hexdigest()
    match = re.fullmatch(
        rf"AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/{lower['x-amz-date'][:8]}/eu-west-1/es/"
        r"aws4_request, SignedHeaders=(?P<names>[a-z0-9;-]+), "
        r"Signature=[0-9a-f]{64}",
        lower["authorization"],
    )
    assert match
    names = match["names"].split(";")
    assert {"host", "x-amz-date", "x-amz-security-token"} <= set(names)


def test_without_credentials_no_login_is_attempted(monkeypatch: pytest.MonkeyPatch) -> None:
    session = SimpleNamespace(get_credentials=lambda: None)
    monkeypatch.setattr(iam_login, "_session", lambda: session)
    with pytest.raises(NotAuthorized, match="no AWS credentials to sign the login with"):
        database.password(settings("postgres"), "db.example", 5432, "bucketcast")


def test_a_token_expires_with_the_credentials_that_signed_it(credentials: Any) -> None:
    tokens = TokenProvider(settings("kafka"))
    assert tokens.expired
    tokens()
    assert not tokens.expired

    ends = datetime.now(UTC) + timedelta(minutes=3)
    credentials._expiry_time = ends
    assert tokens()[1] == ends.timestamp()

    credentials._expiry_time = datetime.now(UTC) - timedelta(seconds=1)
    tokens()
    assert tokens.expired


def test_a_token_does_not_show_itself() -> None:
    assert "s3cret" not in repr(iam_login.token("rds-db", "eu-west-1", "host:1", {}))
