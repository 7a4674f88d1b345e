"""`bucketcast target add`, `rm` and `ls` of dynamic targets."""

import json
from pathlib import Path

import pytest
from msgspec.structs import asdict

from tests.unit.conftest import Run
from tests.unit.dynamic_targets.account import add_dynamic_targets
from tests.unit.moto_aws import DYNAMIC, TABLE, MotoAws

HOOK = "arn:minio:sqs::audit:webhook"


@pytest.fixture(autouse=True)
def with_dynamic(aws: MotoAws) -> None:
    add_dynamic_targets(aws, later="unknown")
    online = {"online": True, "why": "", "where": "http://h"}
    aws.answers["Bucketcast-dynamic-webhook"] = online


def add(run: Run, *more: str) -> None:
    run("target", "add", "webhook:audit", "endpoint=http://h", *more).said(0)


def test_target_is_added_listed_used_and_removed(run: Run, aws: MotoAws) -> None:
    ran = run("target", "add", "webhook:audit", "endpoint=http://h", "auth_token=hunter2", "--json")
    assert (ran.document["arn"], ran.document["what"]) == (HOOK, "created")
    (note,) = ran.document["notes"]
    assert "endpoint: is http://, so that events and auth_token can be read" in note
    listed = run("target", "ls", "--json").document["targets"]
    made = {target["id"]: target["made"] for target in listed}
    assert made == {"audit": "at run time", "primary": "by the deploy", "main": "by the deploy"}
    assert run("event", "add", "uploads", HOOK, "--event", "put").code == 0
    (rule,) = run("event", "ls", "uploads", "--json").document["rules"]
    assert rule["deployed"] is True
    explained = run("explain", "s3://uploads/x", "--event", "put", "--json").document
    assert [entry["target"] for entry in explained["deliveries"]] == [HOOK]
    ran = run("target", "rm", "webhook:audit", "--discard", "--yes")
    assert ran.out == "Removed webhook:audit\nRules that name it, whose events are dropped: 1\n"
    (rule,) = run("event", "ls", "uploads", "--json").document["rules"]
    assert rule["deployed"] is False
    assert "hunter2" not in json.dumps(aws.dynamodb.scan(TableName=TABLE)["Items"], default=str)


def test_add_reads_a_value_from_a_file(run: Run, aws: MotoAws, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hunter2\n")
    add(run, "--from-file", f"auth_token={tmp_path / 'token'}")
    (secret,) = aws.secretsmanager.list_secrets()["SecretList"]
    secret_text = aws.secretsmanager.get_secret_value(SecretId=secret["Name"])["SecretString"]
    assert json.loads(secret_text) == {"auth_token": "hunter2"}
    refused = run("target", "add", "webhook:audit", "--from-file", "auth_token=/nowhere/x")
    assert "No such file" in refused.said(2)


def test_set_changes_named_settings_only(run: Run) -> None:
    add(run, "auth_token=hunter2", "queue_limit=5")
    ran = run("target", "set", HOOK, "timeout=20s", "queue_limit=")
    assert ran.out == "changed: webhook:audit\n"
    ran = run("target", "set", "notify_webhook:audit", "timeout=20s")
    assert ran.out == "unchanged: webhook:audit\n"
    shown = run("target", "show", HOOK, "--json").document["settings"]
    assert shown.pop("auth_token").startswith("secret:")
    assert shown == {"enable": "on", "endpoint": "http://h", "timeout": "20s"}


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("add", "webhook:primary", "endpoint=http://h"), 1, "is in bucketcast.toml: change it"),
        (("add", "webhook:audit", "endpoint=h"), 2, "notify_webhook.audit.endpoint: found 'h'"),
        (("set", "webhook:primary", "endpoint=http://h"), 1, "is in bucketcast.toml: change it"),
        (("set", "webhook:audit", "endpoint=http://h"), 1, "no target webhook:audit"),
        (("rm", "webhook:primary"), 1, "is in bucketcast.toml: take it out there"),
        (("rm", "webhook:other"), 1, "no dynamic target webhook:other"),
    ],
)
def test_invalid_add_and_rm_name_the_reason(
    run: Run, words: tuple[str, ...], code: int, expected: str
) -> None:
    assert expected in run("target", *words).said(code)


def test_removed_target_is_listed_and_gets_no_events(run: Run) -> None:
    add(run)
    run("target", "rm", HOOK)
    target = run("target", "ls", "--json").document["targets"][-1]
    assert target["why"] == "removed; waiting messages are kept"
    assert run("event", "add", "uploads", HOOK, "--event", "put").code == 1


def test_target_without_its_function_is_listed_and_removable(run: Run, aws: MotoAws) -> None:
    add(run)
    aws.outputs["DynamicTargets"] = json.dumps({**asdict(DYNAMIC), "functions": {}})
    targets = {entry["arn"]: entry for entry in run("target", "ls", "--json").document["targets"]}
    assert "no function for dynamic targets of kind webhook" in targets[HOOK]["why"]
    hints = {
        entry["hint"]
        for entry in run("doctor", "--json").document["findings"]
        if (entry["check"], entry["subject"], entry["status"]) == ("function", HOOK, "error")
    }
    assert hints == {'add "webhook" to [dynamic_targets] kinds in bucketcast.toml, and deploy'}
    assert run("target", "rm", HOOK, "--discard", "--yes").out == "Removed webhook:audit\n"
    assert "audit" not in run("target", "ls").out
