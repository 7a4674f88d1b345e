"""`bucketcast doctor` on the deployed stack: faults are planted, found with their hint, mended."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from tests.e2e.deployment import STACK
from tests.e2e.system import System
from tests.ran import Ran

FUNCTION = f"{STACK}-webhook-flaky"
ARN = "arn:minio:sqs::flaky:webhook"
OPEN = "m4lformed-s3cret"
Plant = Callable[[System], AbstractContextManager[None]]


def doctor(system: System, *words: str) -> Ran:
    return system.bucketcast("doctor", "--file", str(system.config), *words, within=120)


def errors(system: System) -> tuple[int, list[dict[str, Any]]]:
    ran = doctor(system, "--json")
    return ran.code, [each for each in ran.document["findings"] if each["status"] == "error"]


def mapping(system: System) -> dict[str, Any]:
    (found,) = system.client("lambda").list_event_source_mappings(FunctionName=FUNCTION)[
        "EventSourceMappings"
    ]
    return dict(found)


@contextmanager
def deleted_mapping(system: System) -> Iterator[None]:
    was, functions = mapping(system), system.client("lambda")
    functions.delete_event_source_mapping(UUID=was["UUID"])
    yield
    functions.create_event_source_mapping(
        FunctionName=FUNCTION,
        EventSourceArn=was["EventSourceArn"],
        BatchSize=was["BatchSize"],
        FunctionResponseTypes=was["FunctionResponseTypes"],
        ScalingConfig=was["ScalingConfig"],
    )


@contextmanager
def disabled_mapping(system: System) -> Iterator[None]:
    functions, uuid = system.client("lambda"), mapping(system)["UUID"]
    functions.update_event_source_mapping(UUID=uuid, Enabled=False)
    system.until("it is off", lambda: mapping(system)["State"], lambda state: state == "Disabled")
    yield
    functions.update_event_source_mapping(UUID=uuid, Enabled=True)
    system.until("it is on", lambda: mapping(system)["State"], lambda state: state == "Enabled")


@contextmanager
def removed_notification(system: System) -> Iterator[None]:
    system.s3.put_bucket_notification_configuration(Bucket="crowded", NotificationConfiguration={})
    yield
    ran = system.bucketcast("attach", "crowded", "--via", "sqs")
    assert ran.code == 0, ran.err


@contextmanager
def without_policy(system: System) -> Iterator[None]:
    url = system.ingress
    wanted: Any = {"QueueUrl": url, "AttributeNames": ["Policy"]}
    policy = system.sqs.get_queue_attributes(**wanted)["Attributes"]["Policy"]
    system.sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": ""})
    yield
    system.sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})


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


@contextmanager
def without_rights(system: System) -> Iterator[None]:
    iam, role = system.client("iam"), f"{FUNCTION}"
    name = system.client("lambda").get_function_configuration(FunctionName=role)["Role"]
    name = name.rpartition("/")[2]
    (policy,) = iam.list_role_policies(RoleName=name)["PolicyNames"]
    document = iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
    iam.delete_role_policy(RoleName=name, PolicyName=policy)
    yield
    iam.put_role_policy(RoleName=name, PolicyName=policy, PolicyDocument=json.dumps(document))


def test_nothing_is_wrong(system: System) -> None:
    ran = doctor(system, "--all", "--json")
    assert ran.code == 0, [each for each in ran.document["findings"] if each["status"] == "error"]
    seen = {(each["check"], each["status"]) for each in ran.document["findings"]}
    for check in ("configuration", "clock", "queue", "queue-policy", "function", "mapping"):
        assert (check, "ok") in seen
    for check in ("role", "secret", "bucket", "settings", "dns", "tcp", "tls", "login", "access"):
        assert (check, "ok") in seen


@pytest.mark.parametrize(
    ("plant", "check", "subject", "found", "hint"),
    [
        (
            deleted_mapping,
            "mapping",
            ARN,
            "no event source mapping",
            f"aws lambda create-event-source-mapping --function-name {FUNCTION}",
        ),
        (
            disabled_mapping,
            "mapping",
            ARN,
            "is disabled",
            "aws lambda update-event-source-mapping --uuid",
        ),
        (
            removed_notification,
            "bucket",
            "crowded",
            "no entry to the ingress queue",
            "bucketcast attach crowded --via sqs",
        ),
        (
            without_policy,
            "queue-policy",
            "ingress",
            "does not let s3.amazonaws.com write",
            "aws sqs set-queue-attributes",
        ),
        (
            missing_secret,
            "secret",
            ARN,
            "the secret 'bucketcast/webhook-flaky/auth_token' does not exist",
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
        (without_rights, "role", ARN, "may not do", "detect-stack-drift"),
    ],
)
def test_a_planted_fault(
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
