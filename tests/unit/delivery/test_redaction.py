"""Reasons have nothing of an event, however the server wrote it, and are short."""

import html
import json
from urllib.parse import quote

import pytest

from bucketcast import targets
from bucketcast.delivery.redaction import LONGEST, hide_data, redact, shorten
from bucketcast.errors import DeliveryError, NotConnected, Rejected, Throttled
from bucketcast.settings.options import read
from bucketcast.settings.secret_values import secret_values
from tests.unit.delivery.bench import Bench, message, only
from tests.unit.samples import event

KEY = "payroll/2026/ümlaut & co (final).pdf"


@pytest.mark.parametrize(
    "written",
    [
        f"document with id 'uploads/{KEY}' cannot be parsed",
        "POST /in?key=payroll/2026/%C3%BCmlaut%20%26%20co%20%28final%29.pdf is forbidden",
        "key payroll%2F2026%2F%C3%BCmlaut+%26+co+%28final%29.pdf",
        'got {"key": "payroll/2026/\\u00fcmlaut & co (final).pdf"}',
        f'got {{"key": "{KEY}"}}',
        "Data too long: 'payroll/2026/ümlaut & co (fin'",
    ],
)
def test_a_key_is_hidden_as_servers_write_it(written: str) -> None:
    redacted = hide_data(written, [event(KEY)])
    assert "***" in redacted
    assert "payroll" not in redacted
    assert "mlaut" not in redacted
    assert redacted.split("***")[0] == written.split("payroll", maxsplit=1)[0]


def test_all_that_is_of_an_event_is_hidden() -> None:
    made = event(
        "k.jpg",
        principal="AWS:AIDA1234567890",
        source_ip="203.0.113.7",
        etag="0cc175b9c0f1b6a831c399e269772661",
        version_id="3HL4kqtJlcpXroDTDmJ",
        request_id="C3D13FE58DE4C810",
        host_id="FMyUVURIY8/IgAtTv8xRjskZQpcIZ9KG4V5Wp6S7S/JRWeUWerMUE5JgHvANOjpD",
        metadata={"x-amz-meta-patient": "Jane Roe"},
        tags=[("class", "diagnosis-b20")],
    )
    values = (
        *(made.key, made.principal, made.source_ip, made.etag, made.version_id),
        *(made.request_id, made.host_id, "Jane Roe", "diagnosis-b20"),
    )
    redacted = hide_data("refused: " + " | ".join(map(str, values)), [made])
    assert redacted == "refused: " + " | ".join(["***"] * len(values))


@pytest.mark.parametrize(
    ("ip", "written", "redacted"),
    [
        ("10.0.0.7", "10.0.0.7:4150, topic t: refused", "10.0.0.7:4150, topic t: refused"),
        ("10.0.0.7", "no answer from http://10.0.0.7/hook", "no answer from http://10.0.0.7/hook"),
        ("::1", "[::1]:6379 closed the connection", "[::1]:6379 closed the connection"),
        ("10.0.0.7", '{"sourceIPAddress": "10.0.0.7"}', '{"sourceIPAddress": "***"}'),
        ("10.0.0.7", "bad value 10.0.0.7: too short", "bad value ***: too short"),
        ("10.0.0.7", "from:10.0.0.7.", "from:***."),
        ("10.0.0.7", "10.0.0.71 and 110.0.0.7", "10.0.0.71 and 110.0.0.7"),
    ],
)
def test_address_of_the_server_stays_visible(ip: str, written: str, redacted: str) -> None:
    """On one machine, or behind one gateway, it is the same."""
    assert hide_data(written, [event("k.jpg", source_ip=ip)]) == redacted


@pytest.mark.parametrize(
    ("key", "written", "redacted"),
    [
        ("a", "a table 'a' has a column", "a table '***' has a column"),
        ("able", "the table is unable", "the table is unable"),
        ("able", "id able, able_x", "id ***, ***_x"),
        ("", "nothing at all", "nothing at all"),
        ("k" * 900, "x" + "k" * 900, "x" + "k" * 900),
    ],
)
def test_similar_text_stays_visible(key: str, written: str, redacted: str) -> None:
    assert hide_data(written, [event(key, sequencer="")]) == redacted


def test_a_key_that_contains_the_source_address_is_redacted_whole() -> None:
    made = event("payroll/10.0.0.7/may.pdf", source_ip="10.0.0.7")
    redacted = hide_data("document 'payroll/10.0.0.7/may.pdf' of 10.0.0.7 exists", [made])
    assert redacted == "document '***' of *** exists"


def test_each_error_is_redacted_by_its_own_events() -> None:
    gone = NotConnected("hung up over one.jpg and two.jpg")
    slow = Throttled("too many: three.jpg", 9)
    failures: dict[int, DeliveryError] = {0: gone, 1: gone, 2: slow, 3: Rejected("fine")}
    redact([event(f"{name}.jpg") for name in ("one", "two", "three", "four")], failures)
    assert [str(error) for error in failures.values()] == [
        "hung up over *** and ***",
        "hung up over *** and ***",
        "too many: ***",
        "fine",
    ]
    assert failures[0] is gone
    assert slow.after == 9


def test_a_long_text_keeps_its_beginning_and_its_hint() -> None:
    text = "the server said: " + "x" * 5_000 + "; see endpoint"
    redacted = shorten(text)
    assert len(redacted) == LONGEST
    assert redacted.startswith("the server said: ")
    assert redacted.endswith("; see endpoint")
    assert shorten("x" * LONGEST) == "x" * LONGEST


def test_unexpected_error_is_logged_without_the_key(caplog: pytest.LogCaptureFixture) -> None:
    def answer(keys: list[str]) -> dict[int, DeliveryError]:
        raise KeyError(keys[0])

    bench = Bench(answer)
    bench(message("1", ["payroll.pdf"]))
    assert "a target raised what it should have translated" in caplog.text
    assert "payroll" not in str([vars(each) for each in caplog.records])
    (back,) = bench.queue.sent
    assert (back.history.reason, back.history.error) == (
        "unexpected KeyError: '***'",
        "Retryable",
    )


JWT = f"eyJ0eXAi.{'a1-_' * 20}"
CREDS = f"-----BEGIN NATS USER JWT-----\n{JWT}\n------END NATS USER JWT------\n\nSU{'A' * 56}\n"
SEARCH = {"url": "https://es", "index": "i"}
TABLE, LOGIN = {"table": "t"}, "connection_string"
BROKERS = {"brokers": "b:9092", "topic": "t"}
SECRETS = [
    ("amqp", {"url": "amqp://me:p%40ss-word@mq"}, ["p@ss-word", "p%40ss-word"]),
    ("kafka", {**BROKERS, "sasl": "on", "sasl_username": "me", "sasl_password": "o/n3"}, ["o/n3"]),
    ("mqtt", {"broker": "wss://mq/mqtt?token=a/b+c", "topic": "t"}, ["token=a/b+c"]),
    ("mqtt", {"broker": "tcp://mq", "topic": "t", "username": "me", "password": 'o"e/'}, ['o"e/']),
    ("mysql", {"dsn_string": "me:se:cr@et@tcp(db:3306)/x", "table": "t"}, ["se:cr@et"]),
    ("nats", {"address": "n", "subject": "s", "token": "<t0ken>"}, ["<t0ken>"]),
    ("nats", {"address": "n", "subject": "s", "user_credentials": CREDS}, [JWT, f"SU{'A' * 56}"]),
    ("nsq", {"nsqd_address": "q:4150", "topic": "t", "auth_secret": "a&b/c"}, ["a&b/c"]),
    ("redis", {"address": "r", "key": "k", "user": "me", "password": "ö/ö/"}, ["ö/ö/"]),
    ("webhook", {"endpoint": "https://h/", "auth_token": "Bearer t0/k3n+"}, ["t0/k3n+"]),
    ("elasticsearch", {**SEARCH, "url": "https://me:p%40ss-word@es"}, ["p@ss-word", "p%40ss-word"]),
    ("elasticsearch", {**SEARCH, "url": "https://me:p%40ss-word@es"}, ["bWU6cEBzcy13b3Jk"]),
    ("elasticsearch", {**SEARCH, "username": "me", "password": "pass1"}, ["pass1", "bWU6cGFzczE="]),
    ("elasticsearch", {**SEARCH, "api_key": "id:?>~key"}, ["id:?>~key", "aWQ6Pz5+a2V5"]),
    ("postgres", {**TABLE, LOGIN: r"host=db password='it\'s one' user=me"}, ["it's one"]),
    ("postgres", {**TABLE, LOGIN: r"host=db password=it\'s\ two user=me"}, ["it's two"]),
    ("postgres", {**TABLE, LOGIN: "postgres://db/x?password=s%20cret"}, ["s cret", "s%20cret"]),
    ("postgres", {**TABLE, LOGIN: "postgresql://me:s%20cret@db/x"}, ["s cret", "s%20cret"]),
]


@pytest.mark.parametrize(("kind", "texts", "parts"), SECRETS)
def test_a_secret_that_a_server_repeats_is_hidden(
    kind: str, texts: dict[str, str], parts: list[str]
) -> None:
    secrets = secret_values(read(targets.load(kind).Settings, texts))
    for part in parts:
        as_json = json.dumps(part)[1:-1]
        for written in (part, quote(part), html.escape(part), as_json, as_json.replace("/", r"\/")):
            error = Rejected(f"no user with '{written}', sorry")
            redact([event("a.jpg")], {0: error}, secrets)
            assert str(error) == "no user with '***', sorry"


def test_the_secrets_of_each_kind_are_looked_at() -> None:
    assert {kind for kind, _, _ in SECRETS} == set(targets.kinds())


def test_a_url_without_a_login_is_shown() -> None:
    settings = read(targets.load("elasticsearch").Settings, SEARCH)
    assert secret_values(settings) == frozenset()


def test_a_dead_letter_has_neither_key_nor_secret() -> None:
    error = Rejected("who is Bearer s3cret-token with 'payroll.pdf'?")
    error.answer = str(error)
    bench = Bench(only({"payroll.pdf": error}))
    login = {"endpoint": "https://hooks.example/", "auth_token": "s3cret-token"}
    bench.target.settings = read(targets.load("webhook").Settings, login)
    outcome = bench(message("1", ["payroll.pdf", "fine.pdf"]))
    (dead,) = bench.queue.dead
    assert {dead.reason, dead.answer, str(outcome.reason)} == {"who is Bearer *** with '***'?"}
