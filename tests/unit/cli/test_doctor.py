"""`bucketcast doctor` on a deployment in which one thing at a time is wrong."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from bucketcast.aws.breakers import Breakers
from bucketcast.doctor.clock import clock
from tests.unit.aws import (
    ACCOUNT,
    ENTRY,
    INGRESS_ARN,
    REGION,
    TABLE,
    MotoAws,
    configure,
    make_bucket,
    notify,
    refusal,
)
from tests.unit.cli.conftest import Run
from tests.unit.cli.test_attach import POLICY, admit
from tests.unit.conftest import Watch

WEBHOOK, POSTGRES = "arn:minio:sqs::primary:webhook", "arn:minio:sqs::main:postgresql"
FUNCTION = "Bucketcast-webhook-primary"
PART = {"QueueConfigurations": [{**ENTRY, "Events": ["s3:ObjectCreated:*"]}]}


@pytest.fixture
def deployment(aws: MotoAws, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MotoAws:
    """A deployment in which all is well."""
    monkeypatch.chdir(tmp_path)
    aws.outputs["Wiringuploads"] = json.dumps({"bucket": "uploads", "via": "sqs"})
    base = "arn:aws:sqs:us-east-1:123456789012:"
    names = ["Bucketcast-ingress", FUNCTION, "Bucketcast-postgres-main"]
    for name in names:
        aws.sqs.create_queue(QueueName=f"{name}-dead")
        aws.sqs.create_queue(QueueName=name)
        redrive = {"deadLetterTargetArn": f"{base}{name}-dead", "maxReceiveCount": "1000"}
        attributes: Any = {"RedrivePolicy": json.dumps(redrive)}
        aws.sqs.set_queue_attributes(QueueUrl=aws.queue(name), Attributes=attributes)
    admit(aws, POLICY)
    make_bucket("archive")
    make_bucket("other")
    map_queue(aws, "Bucketcast-ingest", "Bucketcast-ingress")
    for name in names[1:]:
        map_queue(aws, name, name)
        steps = ("settings", "dns", "tcp", "tls", "login", "access")
        fine = {"status": "ok", "found": "fine", "hint": "", "command": ""}
        aws.answers[name] = {"findings": [{"check": step, **fine} for step in steps]}
    return aws


def map_queue(aws: MotoAws, function: str, queue: str, **changed: Any) -> None:
    settings: Any = {"FunctionResponseTypes": ["ReportBatchItemFailures"], **changed}
    arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}"
    aws.mappings.create_event_source_mapping(FunctionName=function, EventSourceArn=arn, **settings)


def problems(run: Run, *words: str) -> tuple[int, list[dict[str, str]]]:
    ran = run("doctor", "--json", *words)
    return ran.code, ran.document["findings"]


def test_nothing_is_wrong(run: Run, deployment: MotoAws) -> None:
    assert problems(run) == (0, []), deployment.outputs
    ran = run("doctor")
    assert (ran.code, ran.out) == (0, "")
    assert "nothing is wrong: " in ran.err
    code, everything = problems(run, "--all")
    assert (code, {each["status"] for each in everything}) == (0, {"ok"})
    checks = {each["check"] for each in everything}
    assert checks >= {"clock", "queue", "queue-policy", "function", "mapping", "role", "bucket"}
    assert checks >= {"settings", "dns", "tcp", "tls", "login", "access"}


def test_a_rule_that_is_removed_meanwhile_ends_nothing(
    run: Run, deployment: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EventBridge lists it, and a call later does not know it."""
    pages = Mock()
    pages.return_value.paginate.return_value = [{"RuleNames": ["gone"]}]
    monkeypatch.setattr(deployment.events, "get_paginator", pages)
    assert problems(run) == (0, [])


Plant = Callable[[MotoAws], Any]


def delete(queue: str) -> Plant:
    return lambda aws: aws.sqs.delete_queue(QueueUrl=aws.queue(queue))


def unmap(aws: MotoAws) -> None:
    found = aws.mappings.list_event_source_mappings(FunctionName=FUNCTION)
    (mapping,) = found["EventSourceMappings"]
    aws.mappings.delete_event_source_mapping(UUID=mapping["UUID"])


def mapped(**changed: Any) -> Plant:
    def plant(aws: MotoAws) -> None:
        unmap(aws)
        map_queue(aws, FUNCTION, FUNCTION, **changed)

    return plant


def settings(**wanted: str) -> Plant:
    return lambda _: configure(FUNCTION, **wanted)


def undo_redrive(aws: MotoAws) -> None:
    url = aws.queue(FUNCTION)
    aws.sqs.set_queue_attributes(QueueUrl=url, Attributes={"RedrivePolicy": ""})


def delete_secret(aws: MotoAws) -> None:
    settings(auth_token="secret:token")(aws)
    aws.secretsmanager.create_secret(Name="token", SecretString="x")
    aws.secretsmanager.delete_secret(SecretId="token")


def eventbridge(rule_state: str) -> Plant:
    def plant(aws: MotoAws) -> None:
        aws.outputs["Wiringuploads"] = json.dumps({"bucket": "uploads", "via": "eventbridge"})
        notify("uploads", EventBridgeConfiguration={})
        if rule_state:
            pattern = json.dumps({"detail": {"bucket": {"name": ["uploads"]}}})
            aws.events.put_rule(Name="r", EventPattern=pattern, State=rule_state)  # type: ignore[arg-type]
            aws.events.put_targets(Rule="r", Targets=[{"Id": "x", "Arn": INGRESS_ARN}])

    return plant


@pytest.mark.parametrize(
    ("plant", "check", "found", "hint"),
    [
        (delete(FUNCTION), "queue", "does not exist", "aws sqs create-queue"),
        (delete(f"{FUNCTION}-dead"), "queue", "does not exist", "aws sqs create-queue"),
        (undo_redrive, "queue", "has no redrive", "--attributes"),
        (
            lambda aws: admit(aws, POLICY[1:]),
            "queue-policy",
            "does not let s3.amazonaws.com write",
            "aws sqs set-queue-attributes",
        ),
        (
            lambda aws: admit(aws, POLICY[:1]),
            "queue-policy",
            "does not let events.amazonaws.com write",
            "aws sqs set-queue-attributes",
        ),
        (
            unmap,
            "mapping",
            "no event source mapping",
            "aws lambda create-event-source-mapping --function-name Bucketcast-webhook-primary",
        ),
        (
            mapped(Enabled=False),
            "mapping",
            "is disabled",
            "aws lambda update-event-source-mapping --uuid ",
        ),
        (
            mapped(FunctionResponseTypes=[]),
            "mapping",
            "SQS deletes those that were not delivered",
            "--function-response-types ReportBatchItemFailures",
        ),
        (
            lambda aws: aws.denied.add((FUNCTION, "sqs:DeleteMessage")),
            "role",
            f"the role {FUNCTION} may not do sqs:DeleteMessage on {FUNCTION}",
            "detect-stack-drift",
        ),
        (
            settings(auth_token="secret:nowhere"),
            "secret",
            "the secret 'nowhere' does not exist",
            "aws secretsmanager create-secret --name nowhere --secret-string file://",
        ),
        (
            delete_secret,
            "secret",
            "is deleted",
            "aws secretsmanager restore-secret --secret-id token",
        ),
        (
            lambda _: notify("uploads"),
            "bucket",
            "no entry to the ingress queue",
            "bucketcast attach uploads --via sqs",
        ),
        (
            lambda _: notify("uploads", **PART),
            "bucket",
            "no entry to the ingress queue",
            "bucketcast attach uploads --via sqs",
        ),
        (
            lambda aws: aws.s3.delete_bucket(Bucket="uploads"),
            "bucket",
            "the bucket does not exist",
            "aws s3 mb s3://uploads && bucketcast attach uploads",
        ),
        (eventbridge(""), "bucket", "no EventBridge rule takes", "attach"),
        (eventbridge("DISABLED"), "bucket", "rule is disabled", "enable-rule"),
    ],
)
def test_a_fault_is_found_and_its_hint_named(
    run: Run, deployment: MotoAws, plant: Plant, check: str, found: str, hint: str
) -> None:
    plant(deployment)
    code, findings = problems(run)
    assert code == 1, findings
    (one,) = [each for each in findings if each["status"] == "error"]
    assert one["check"] == check
    assert found in one["found"]
    assert hint in f"{one['hint']} {one['command']}"
    printed = run("doctor").out
    assert one["found"] in printed
    assert one["command"] in printed


def test_a_warning_is_no_failure(run: Run, deployment: MotoAws) -> None:
    assert run("event", "add", "archive", WEBHOOK, "--event", "put", "--ahead").code == 0
    deployment.sqs.send_message(QueueUrl=deployment.queue(f"{FUNCTION}-dead"), MessageBody="x")
    Breakers(TABLE, lambda: deployment.dynamodb).pause(WEBHOOK, 1_000)
    code, findings = problems(run)
    assert code == 0
    assert [(each["check"], each["status"], each["subject"]) for each in findings] == [
        ("queue", "warn", WEBHOOK),
        ("bucket", "warn", "archive"),
        ("pause", "warn", WEBHOOK),
    ]
    assert findings[2]["command"] == f"bucketcast target resume {WEBHOOK}"
    assert findings[0]["command"] == "bucketcast dlq ls"
    assert findings[1]["command"] == "bucketcast attach archive --via sqs"


def test_the_command_for_the_policy_keeps_what_is_there(run: Run, deployment: MotoAws) -> None:
    admit(deployment, POLICY[1:])
    _, (one,) = problems(run)
    policy = json.loads(json.loads(one["command"].partition("--attributes '")[2][:-1])["Policy"])
    services = [each["Principal"]["Service"] for each in policy["Statement"]]
    assert services == ["events.amazonaws.com", "s3.amazonaws.com"]


def test_a_key_that_services_must_not_use_is_found(run: Run, deployment: MotoAws) -> None:
    """S3 checks that when an entry is written only: what it sends later is lost."""
    writers = {"Service": ["s3.amazonaws.com", "events.amazonaws.com"]}
    statement: dict[str, Any] = {
        "Effect": "Allow",
        "Principal": writers,
        "Action": ["kms:Decrypt", "kms:GenerateDataKey*"],
        "Resource": "*",
    }

    def put(**changed: Any) -> None:
        document = json.dumps({"Version": "2012-10-17", "Statement": [{**statement, **changed}]})
        deployment.kms.put_key_policy(KeyId=arn, PolicyName="default", Policy=document)

    arn = deployment.kms.create_key()["KeyMetadata"]["Arn"]
    deployment.outputs["KmsKey"] = arn
    put()
    assert problems(run) == (0, [])
    put(Principal={"Service": "s3.amazonaws.com"})
    code, (found,) = problems(run)
    assert (code, found["check"]) == (1, "key-policy")
    assert "does not let events.amazonaws.com use it" in found["found"]
    put(Action="kms:Decrypt")
    assert len(problems(run)[1]) == 2
    put(Condition={"ArnLike": {"aws:SourceArn": ["arn:aws:s3:::*", "arn:aws:events:*:*:rule/*"]}})
    assert problems(run) == (0, [])


@pytest.mark.usefixtures("deployment")
def test_an_entry_of_the_deploy_that_somebody_removed_is_restored(run: Run) -> None:
    notify("uploads")
    assert problems(run)[0] == 1
    assert "attached uploads via sqs" in run("attach", "uploads", "--via", "sqs").out
    assert problems(run) == (0, [])
    assert "[bucket.uploads] in bucketcast.toml" in run("attach", "uploads").err


def test_the_file_is_compared_without_a_word_of_its_values(
    run: Run, deployment: MotoAws, tmp_path: Path
) -> None:
    settings(endpoint="https://example.org/old", auth_token="secret:token")(deployment)
    deployment.secretsmanager.create_secret(Name="token", SecretString="x")
    file = tmp_path / "bucketcast.toml"
    file.write_text(
        '[notify_webhook.primary]\nendpoint = "https://example.org/new"\n'
        'auth_token = "secret:token"\n[notify_webhook.more]\nendpoint = "https://example.org/"\n'
    )
    code, findings = problems(run)
    assert code == 0
    assert {each["subject"]: each["found"] for each in findings} == {
        WEBHOOK: "the file has another value than the deployment: endpoint",
        "arn:minio:sqs::more:webhook": "is in the file, but not deployed",
        POSTGRES: "is deployed, but not in the file",
        "bucket uploads": "is deployed, but not in the file",
    }
    assert "example.org" not in json.dumps(findings)
    assert run("doctor", "--file", "nowhere.toml").code == 2


@pytest.mark.parametrize(
    ("answer", "found", "hint"),
    [
        (
            {"errorMessage": "no module"},
            "failed: no module",
            f"aws logs tail /aws/lambda/{FUNCTION}",
        ),
        (
            {"online": False, "why": "connection refused", "where": ""},
            "connection refused",
            "deploy this version",
        ),
    ],
)
def test_a_function_that_cannot_check_explains_why(
    run: Run, deployment: MotoAws, answer: Any, found: str, hint: str
) -> None:
    deployment.answers[FUNCTION] = answer
    code, (one,) = problems(run)
    assert (code, one["check"], one["subject"]) == (1, "probe", WEBHOOK)
    assert found in one["found"]
    assert hint in one["hint"] + one["command"]


def test_a_login_that_is_refused_is_cured_by_a_new_secret(run: Run, deployment: MotoAws) -> None:
    deployment.secretsmanager.create_secret(Name="token", SecretString="x")
    settings(auth_token="secret:token")(deployment)
    refused = {"check": "login", "status": "error", "found": "no", "hint": "correct it"}
    deployment.answers[FUNCTION] = {"findings": [refused]}
    _, (one,) = problems(run)
    assert (one["check"], one["hint"]) == ("login", "correct it")
    assert "put-secret-value --secret-id token --secret-string file://" in one["command"]


def test_a_secret_of_several_values_is_not_replaced_by_one(run: Run, deployment: MotoAws) -> None:
    whole = {"token": "x", "other": "y"}
    deployment.secretsmanager.create_secret(Name="all", SecretString=json.dumps(whole))
    settings(auth_token="secret:all#token")(deployment)
    refused = {"check": "login", "status": "error", "found": "no", "hint": "correct it"}
    deployment.answers[FUNCTION] = {"findings": [refused]}
    _, (one,) = problems(run)
    assert (one["check"], one["hint"], one["command"]) == ("login", "correct it", "")


def test_what_must_not_be_read_is_a_warning_and_ends_nothing(
    run: Run, deployment: MotoAws, watch: Watch
) -> None:
    simulate = watch(deployment.iam, "simulate_principal_policy")
    simulate.side_effect = refusal("AccessDenied", "SimulatePrincipalPolicy")
    notify("uploads")
    code, findings = problems(run)
    assert code == 1
    unread = [each["found"] for each in findings if each["check"] == "role"]
    assert len(unread) == 3
    assert all("not allowed: SimulatePrincipalPolicy" in each for each in unread)
    assert findings[0]["check"] == "bucket"


def test_a_disabled_target_is_not_checked(run: Run, deployment: MotoAws) -> None:
    deployment.change(WEBHOOK, enabled=False)
    mapped(Enabled=False)(deployment)
    deployment.answers[FUNCTION] = {"errorMessage": "must not be asked"}
    assert problems(run) == (0, [])


@pytest.mark.parametrize(("off", "status"), [(2, "ok"), (-60, "warn"), (900, "error")])
def test_the_clock(off: int, status: str) -> None:
    assert clock(1_000_000 + off, 1_000_000).status == status
