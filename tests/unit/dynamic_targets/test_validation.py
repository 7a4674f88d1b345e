"""Settings of dynamic targets are checked as those of the file are, by the same declarations."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from bucketcast import config
from bucketcast.delivery.queue_names import key_of
from bucketcast.destination import TopicArn
from bucketcast.dynamic_targets.validation import validate
from bucketcast.errors import ConfigErrors
from bucketcast.targets import kinds
from tests.unit.moto_aws import DYNAMIC

HOOK = {"endpoint": "http://h"}
EVERY = replace(DYNAMIC, functions={kind: f"f-{kind}" for kind in kinds()})
WRONG = {
    "webhook": {"endpoint": "no url", "tiemout": "1s"},
    "kafka": {"brokers": "", "topic": "x"},
    "redis": {"address": "127.0.0.1:6379", "key": "x", "format": "upside-down"},
    "postgres": {"table": "x", "format": "namespace", "shape": "ceph", "host": "h"},
    "nats": {"address": "h:4222", "subject": "x", "client_key": "-----BEGIN x"},
}


@pytest.mark.parametrize("kind", WRONG)
def test_validate_reports_the_errors_of_the_configuration_file(kind: str, tmp_path: Path) -> None:
    values = WRONG[kind]
    with pytest.raises(ConfigErrors) as here:
        validate(EVERY, kind, "x", values)
    lines = [f'{key} = "{text}"' for key, text in values.items()]
    (tmp_path / "b.toml").write_text("\n".join([f"[notify_{kind}.x]", *lines]))
    with pytest.raises(ConfigErrors) as refused:
        config.load(tmp_path / "b.toml", {}, local=True)
    assert str(here.value) == str(refused.value)


def test_hidden_settings_are_only_in_the_secret() -> None:
    values = {"endpoint": "https://example.org/", "auth_token": "hunter2", "queue_dir": "/x"}
    valid = validate(DYNAMIC, "webhook", "audit", values)
    assert valid.with_references("s") == {
        "endpoint": "https://example.org/",
        "enable": "on",
        "auth_token": "secret:s#auth_token",
        "queue_dir": "/x",
    }
    assert json.loads(valid.secret_text) == {"auth_token": "hunter2"}
    assert "hunter2" not in repr(valid)
    assert "queue_dir" in valid.notes[0]


def test_url_is_hidden_only_with_a_login() -> None:
    open_ = {"url": "amqp://h:5672", "exchange": "x"}
    hidden = {**open_, "url": "amqp://u:hunter2@h:5672"}
    setup = replace(DYNAMIC, functions={"amqp": "f"})
    assert validate(setup, "amqp", "x", open_).secrets == {}
    assert validate(setup, "amqp", "x", hidden).secrets == {"url": hidden["url"]}


@pytest.mark.parametrize(
    ("kind", "id_", "values", "expected"),
    [
        ("webhok", "x", {}, "found no kind 'webhok'; did you mean 'webhook'?"),
        ("kafka", "x", {}, "write kinds = ["),
        ("webhook", "a b", {}, "found the id 'a b'; 1 to 32 of"),
        ("webhook", "x", {**HOOK, "facts": "tags"}, 'facts: found beside object_facts = "off"; '),
        ("webhook", "x", {"auth_token": "secret:a"}, "found a reference to a secret; allowed is"),
        ("webhook", "x", {**HOOK, "timeout": "5m"}, "allowed is 60s: a target in bucketcast.toml"),
        ("webhook", "x", {**HOOK, "auth_token": "x" * 70_000}, "its secrets have"),
        ("webhook", "x", {**HOOK, "comment": "x" * 400_000}, "its settings have"),
    ],
)
def test_validate_names_the_reason(
    kind: str, id_: str, values: dict[str, str], expected: str
) -> None:
    with pytest.raises(ConfigErrors) as wrong:
        validate(DYNAMIC, kind, id_, values)
    assert expected in str(wrong.value)
    assert "hunter2" not in str(wrong.value)


SKIPS = {"address": "h:6379", "key": "x", "tls": "on", "tls_skip_verify": "on"}


def test_tls_skip_verify_on_aws_needs_the_deploys_consent() -> None:
    with pytest.raises(ConfigErrors) as wrong:
        validate(DYNAMIC, "redis", "x", SKIPS)
    assert "notify_redis.x.tls_skip_verify: found 'on'; set cert_authority;" in str(wrong.value)
    assert 'tls_skip_verify = "on" in [dynamic_targets] of bucketcast.toml, and a deploy' in str(
        wrong.value
    )
    allowed = validate(replace(DYNAMIC, tls_skip_verify=True), "redis", "x", SKIPS)
    assert "an attacker in between can read and change" in "".join(allowed.notes)
    assert validate(replace(DYNAMIC, local=True), "redis", "x", SKIPS).notes == ()


def test_queue_name_too_long_for_sqs_is_refused() -> None:
    setup = replace(DYNAMIC, prefix="A-stack-with-a-very-long-name-indeed-dynamic-")
    with pytest.raises(ConfigErrors, match="choose an id of 15 or fewer"):
        validate(setup, "webhook", "x" * 20, {"endpoint": "http://h"})
    validate(setup, "webhook", "x" * 15, {"endpoint": "http://h"})


@pytest.mark.parametrize("end", [".fifo", ""])
def test_the_key_is_read_from_the_queue(end: str) -> None:
    setup = replace(DYNAMIC, queue_end=end)
    for key in ("webhook:a-b-c", TopicArn("", "", "t").key):
        assert key_of(setup.queue_name(key, "0a1b2c"), setup.prefix, "webhook") == key


@pytest.mark.parametrize(
    ("kind", "values", "address"),
    [
        ("amqp", {"url": "amqp://169.254.169.254:80/", "exchange": "x"}, "169.254.169.254"),
        ("kafka", {"brokers": "broker:9092,127.0.0.1:9092", "topic": "x"}, "127.0.0.1"),
        ("kafka", {"brokers": "0x7f000001:9092", "topic": "x"}, "127.0.0.1"),
        ("kafka", {"brokers": "0.0.0.0:9092", "topic": "x"}, "0.0.0.0"),  # noqa: S104
        ("nsq", {"nsqd_address": "[fd00::1]:4150", "topic": "x"}, "fd00::1"),
        ("redis", {"address": "localhost:6379", "key": "x", "format": "access"}, "127.0.0.1"),
    ],
)
def test_a_server_is_no_address_that_the_function_refuses(
    kind: str, values: dict[str, str], address: str
) -> None:
    with pytest.raises(ConfigErrors, match=f"found a host that is refused: {address} "):
        validate(EVERY, kind, "x", values)
    assert validate(replace(EVERY, local=True), kind, "x", values)
