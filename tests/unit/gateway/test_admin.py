"""The admin calls: who may ask, what is sealed, what is shown, what is changed."""

import json
import time
from dataclasses import replace as changed
from functools import cache
from typing import Any

import pytest
from botocore.awsrequest import AWSRequest
from minio import crypto
from starlette.applications import Starlette

from bucketcast.dynamic_targets.kvs import REDACTED
from bucketcast.gateway.admin.encryption import decrypt, encrypt
from bucketcast.gateway.admin.routes import PREFIX, Admin
from bucketcast.gateway.app import build
from bucketcast.state.counters import Counts, Last
from bucketcast.state.dynamic_targets import Table
from bucketcast.users import Account
from bucketcast.web.authentication import AUDITED
from bucketcast.web.errors import S3Error
from tests.unit.conftest import Deploy
from tests.unit.dynamic_targets.account import add_dynamic_targets, put_topic
from tests.unit.gateway.test_admin_metrics import token
from tests.unit.moto_aws import WEBHOOK, MotoAws, configure
from tests.unit.web import requests
from tests.unit.web.requests import ACCESS, ANNA, HOST, SECRET, answer, ready, scope_of, signed


class Server:
    """The application, and an administrator who calls it."""

    def __init__(self, aws: MotoAws, *, admin: bool = True) -> None:
        user = changed(ANNA, admin=admin)

        async def find(access_key: str) -> Account | None:
            return Account(user, SECRET) if access_key == ACCESS else None

        self.aws = aws
        self.app: Starlette = build(
            _nothing,
            Admin(requests.authenticator(find), find, "Bucketcast", aws).routes(),
            is_ready=ready,
        )

    def __call__(
        self, method: str, path: str, body: bytes = b"", *, region: str = ""
    ) -> tuple[int, dict[str, str], bytes]:
        self.audited: dict[str, Any] = {"changed": []}
        scope = scope_of(signed(method, PREFIX + path, body, region=region))
        scope[AUDITED] = self.audited
        response = answer(self.app, scope, body)
        return response.status, response.headers, response.body

    def text(self, method: str, path: str) -> str:
        status, _, body = self(method, path)
        assert status == 200, body
        return decrypt(body, SECRET)

    def put(self, path: str, line: str, method: str = "PUT") -> tuple[int, str]:
        status, headers, body = self(method, path, encrypt(line, SECRET))
        assert (headers.get("x-minio-config-applied") == "true") == (status == 200)
        return status, body.decode()


async def _nothing(*_: Any) -> None:
    raise AssertionError("this is S3's")


KEY = cache(crypto._generate_key)
"""A key takes most of a call here: who decrypts has the one with which the other encrypted."""


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crypto, "_generate_key", KEY)


@pytest.fixture
def aws(deploy: Deploy) -> MotoAws:
    made = deploy(("webhook", "webhook", "primary"))
    add_dynamic_targets(made)
    configure("Bucketcast-webhook-primary", endpoint="http://h")
    made.answers["Bucketcast-dynamic-redis"] = {"online": False, "why": "x", "where": ""}
    return made


@pytest.fixture
def server(aws: MotoAws) -> Server:
    return Server(aws)


SET = "notify_redis:1 address=cache.example.org:6379 key=events format=access password=hunter2"


def test_set_creates_a_target_and_get_shows_it(server: Server, aws: MotoAws) -> None:
    """A topic is a target, too, but none that MinIO's clients may name."""
    topic = put_topic(aws, "t", {"push-endpoint": "http://h", "persistent": "true"})
    assert server.put("/set-config-kv", SET) == (200, "")
    assert server.audited["action"] == "PUT /set-config-kv"
    assert (server.audited["bucket"], server.audited["resource"]) == ("", "notify_redis:1")
    assert sorted(server.audited["changed"]) == ["address", "format", "key", "password"]
    printed = server.text("GET", "/get-config-kv?key=notify_redis%3A1")
    assert printed.startswith('notify_redis:1 address="cache.example.org:6379" key="events" ')
    assert f'password="{REDACTED}"' in printed
    config = server.text("GET", "/config")
    assert "hunter2" not in config
    assert topic.id not in config
    status, _, body = server("GET", "/info")
    put = json.loads(body)
    assert (status, put["sqsARN"]) == (
        200,
        ["arn:minio:sqs::1:redis", WEBHOOK],
    )
    assert put["services"]["notifications"] == [
        {"redis": [{"1": {"status": "offline"}}]},
        {"webhook": [{"primary": {"status": "online"}}]},
    ]


def test_info_tells_a_target_that_takes_nothing(server: Server, aws: MotoAws) -> None:
    aws.counters.add(WEBHOOK, Counts(dead=9), Last(failure=1))
    _, _, body = server("GET", "/info")
    (webhook,) = json.loads(body)["services"]["notifications"]
    assert webhook == {"webhook": [{"primary": {"status": "offline"}}]}


def test_who_meets_another_call_is_to_try_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Table, "renew", lambda *_: False)
    assert server.put("/set-config-kv", SET)[0] == 503


def test_set_keeps_other_settings(server: Server) -> None:
    server.put("/set-config-kv", SET)
    assert server.put("/set-config-kv", f"notify_redis:1 key=x password={REDACTED}")[0] == 200
    printed = server.text("GET", "/get-config-kv?key=notify_redis")
    assert 'key="x"' in printed
    assert 'format="access"' in printed
    assert f'password="{REDACTED}"' in printed


def test_an_export_can_be_imported(server: Server) -> None:
    server.put("/set-config-kv", SET)
    exported = server.text("GET", "/config")
    assert server.put("/config", exported)[0] == 200
    assert server.text("GET", "/config") == exported
    changed_line = exported.replace('key="events"', 'key="others"')
    assert server.put("/config", changed_line)[0] == 200
    assert 'key="others"' in server.text("GET", "/config")


def test_import_with_an_invalid_line_changes_nothing(server: Server) -> None:
    lines = f'{SET}\nnotify_webhook:primary endpoint="http://elsewhere"\n'
    status, body = server.put("/config", lines)
    assert (status, "is in bucketcast.toml: change it there" in body) == (400, True)
    assert "notify_redis:1" not in server.text("GET", "/config")


def test_reset_removes_the_target(server: Server) -> None:
    server.put("/set-config-kv", SET)
    assert server.put("/del-config-kv", "notify_redis:1", "DELETE")[0] == 200
    assert "notify_redis:1" not in server.text("GET", "/config")
    status, body = server.put("/del-config-kv", "notify_redis:1", "DELETE")
    assert (status, "no dynamic target" in body) == (400, True)


@pytest.mark.parametrize(
    ("method", "path", "line", "expected"),
    [
        ("PUT", "/set-config-kv", "notify_redis:1 password=hunter2 nokey=x", "nokey: unknown key"),
        ("PUT", "/set-config-kv", "notify_rediss:1 key=x", "did you mean 'notify_redis'?"),
        ("PUT", "/set-config-kv", "api sync_events=on", "is set by a deploy"),
        ("DELETE", "/del-config-kv", "notify_redis:1:2", "no dynamic target"),
    ],
)
def test_invalid_lines_are_refused_with_a_message(
    server: Server, method: str, path: str, line: str, expected: str
) -> None:
    status, body = server.put(path, line, method)
    assert (status, expected in body.replace("&apos;", "'")) == (400, True), body
    assert "hunter2" not in body


def test_get_shows_unset_and_deployed_targets(server: Server) -> None:
    assert server.text("GET", "/get-config-kv?key=notify_nats").startswith(
        '# notify_nats enable="off" address="" subject="" '
    )
    assert 'endpoint="http://h"' in server.text("GET", "/get-config-kv?key=notify_webhook")
    assert server.text("GET", "/get-config-kv?key=api") == 'api sync_events="off"\n'


def test_help_lists_the_kinds_and_their_keys(server: Server) -> None:
    every = json.loads(server("GET", "/help-config-kv?subSys=&key=")[2])
    assert [each["key"] for each in every["keysHelp"]][-1] == "notify_webhook"
    keys = json.loads(server("GET", "/help-config-kv?subSys=notify_redis&key=")[2])
    assert keys["subSys"] == "notify_redis"
    assert [each["key"] for each in keys["keysHelp"] if not each["optional"]] == ["address", "key"]


def test_restart_is_accepted_and_stop_is_refused(server: Server) -> None:
    status, _, body = server("POST", "/service?action=restart&dry-run=false&type=2")
    assert (status, json.loads(body)["action"]) == (200, "restart")
    assert server("POST", "/service?action=stop&type=2")[0] == 501


def test_other_admin_calls_are_refused_with_a_list(server: Server) -> None:
    status, _, body = server("GET", "/list-users")
    assert (status, b"is not among the admin calls" in body) == (501, True)


def test_admin_calls_need_an_administrator(aws: MotoAws) -> None:
    status, _, body = Server(aws, admin=False)("GET", "/info")
    assert (status, b"is not an administrator" in body) == (403, True)


def test_metrics_are_for_administrators(aws: MotoAws) -> None:
    def scrape(*, admin: bool, authorization: str) -> tuple[int, bytes]:
        request = AWSRequest("GET", f"http://{HOST}/minio/v2/metrics/cluster")
        scope = scope_of(request, authorization=authorization)
        response = answer(Server(aws, admin=admin).app, scope)
        return response.status, response.body

    by_token = token(exp=time.time() + 60)
    status, body = scrape(admin=True, authorization=by_token)
    assert status == 200
    assert f'minio_notify_events_sent_total{{server="{HOST}"}} 0\n'.encode() in body
    status, body = scrape(admin=False, authorization=by_token)
    assert (status, b"is not an administrator" in body) == (403, True)
    assert scrape(admin=True, authorization="")[0] == 403


@pytest.mark.parametrize("region", ["", "us-east-1"])
def test_call_signed_without_a_region_is_accepted(server: Server, region: str) -> None:
    assert server("GET", "/info", region=region)[0] == 200


def test_body_encrypted_with_another_key_is_refused(server: Server) -> None:
    status, _, body = server("PUT", "/set-config-kv", encrypt(SET, "another"))
    assert (status, b"not encrypted with your secret key" in body) == (400, True)
    assert server("PUT", "/set-config-kv", b"short")[0] == 400
    assert server("PUT", "/set-config-kv", b"x" * 600_000)[0] == 400


def test_encrypted_text_is_decrypted() -> None:
    for text in ("x", "x" * 16_384, "x" * 16_385, "ü" * 50_000):
        assert decrypt(encrypt(text, SECRET), SECRET) == text
    with pytest.raises(S3Error):
        decrypt(encrypt("x", SECRET)[:-1], SECRET)
