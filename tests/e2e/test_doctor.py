"""`bucketcast doctor` on the deployed stack: faults are planted, found with their hint, mended."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from tests.command_result import CommandResult
from tests.e2e.system import System

ARN = "arn:minio:sqs::flaky:webhook"
OPEN = "m4lformed-s3cret"
Plant = Callable[[System], AbstractContextManager[None]]


def doctor(system: System, *words: str) -> CommandResult:
    return system.bucketcast("doctor", *words, within=120)


def errors(system: System) -> tuple[int, list[dict[str, Any]]]:
    ran = doctor(system, "--json")
    return ran.code, [each for each in ran.document["findings"] if each["status"] == "error"]


@contextmanager
def secret(system: System, change: Callable[[Any, str], None]) -> Iterator[None]:
    secrets, name = system.client("secretsmanager"), "bucketcast/webhook-flaky/auth_token"
    value = secrets.get_secret_value(SecretId=name)["SecretString"]
    change(secrets, name)
    yield
    found = {each["Name"] for each in secrets.list_secrets()["SecretList"]}
    if name in found:
        secrets.put_secret_value(SecretId=name, SecretString=value)
    else:
        secrets.create_secret(Name=name, SecretString=value)


def missing_secret(system: System) -> AbstractContextManager[None]:
    return secret(
        system,
        lambda secrets, name: secrets.delete_secret(SecretId=name, ForceDeleteWithoutRecovery=True),
    )


def malformed_secret(system: System) -> AbstractContextManager[None]:
    return secret(
        system,
        lambda secrets, name: secrets.put_secret_value(SecretId=name, SecretString=f"a b c {OPEN}"),
    )


@contextmanager
def wrong_password(system: System) -> Iterator[None]:
    secrets, name = system.client("secretsmanager"), "bucketcast/redis-log/password"
    value = secrets.get_secret_value(SecretId=name)["SecretString"]
    secrets.put_secret_value(SecretId=name, SecretString=OPEN)
    yield
    secrets.put_secret_value(SecretId=name, SecretString=value)


def test_doctor_finds_nothing_wrong_with_a_healthy_system(system: System) -> None:
    ran = doctor(system, "--all", "--json")
    assert ran.code == 0, [each for each in ran.document["findings"] if each["status"] == "error"]
    seen = {(each["check"], each["status"]) for each in ran.document["findings"]}
    for check in ("clock", "queue", "queue-policy", "bucket"):
        assert (check, "ok") in seen
    for check in ("settings", "dns", "tcp", "tls", "login", "access"):
        assert (check, "ok") in seen


@pytest.mark.parametrize(
    ("plant", "check", "subject", "found", "hint"),
    [
        (
            missing_secret,
            "settings",
            ARN,
            "the secret 'bucketcast/webhook-flaky/auth_token' cannot be read",
            "aws secretsmanager create-secret --name bucketcast/webhook-flaky/auth_token",
        ),
        (
            malformed_secret,
            "login",
            ARN,
            "auth_token: allowed is",
            "put-secret-value --secret-id bucketcast/webhook-flaky/auth_token",
        ),
        (
            wrong_password,
            "login",
            "arn:minio:sqs::log:redis",
            "WRONGPASS",
            "put-secret-value --secret-id bucketcast/redis-log/password",
        ),
    ],
)
def test_doctor_finds_each_fault(
    system: System, plant: Plant, check: str, subject: str, found: str, hint: str
) -> None:
    with plant(system):
        code, findings = errors(system)
    assert code == 1
    one = next(each for each in findings if (each["check"], each["subject"]) == (check, subject))
    assert found in one["found"]
    assert hint in one["hint"] + one["command"]
    assert OPEN not in json.dumps(findings)
    assert errors(system) == (0, [])


def test_doctor_finds_a_notification_of_a_removed_topic(system: System, prefix: str) -> None:
    gone = "arn:aws:sns:us-east-1::gone"
    put = ("s3:ObjectCreated:Put",)
    left = Rule(bucket="uploads", arn=gone, events=put, prefix=prefix, name="lost")
    Rules(system.outputs["StateTable"], system.client("dynamodb")).add(left)
    system.put("uploads", f"{prefix}a")
    steps = system.until(
        "the event in the logs",
        lambda: system.bucketcast("trace", f"s3://uploads/{prefix}a", "--json").document["steps"],
        lambda steps: any(step["what"] == "dropped" for step in steps),
    )
    assert [step["what"] for step in steps] == ["received", "dropped"]
    _, (one,) = errors(system)
    assert (one["check"], one["subject"]) == ("rule", "uploads")
    assert f"notification lost names {gone}, which does not exist" in one["found"]
    assert system.bucketcast(*one["command"].split()[1:]).code == 0
    assert errors(system) == (0, [])
