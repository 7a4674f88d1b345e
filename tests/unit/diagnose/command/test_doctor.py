"""`bucketcast doctor` on a deployment in which one thing at a time is wrong."""

import json
import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import asdict

from bucketcast.deployment import find
from bucketcast.destination import TargetArn
from bucketcast.dynamic_targets.aws.factory import dynamic_targets_of
from bucketcast.rules import Rule
from bucketcast.state.breakers import Breakers
from bucketcast.state.counters import Counts, Last
from tests.unit.conftest import Run, Watch
from tests.unit.dynamic_targets.account import add_dynamic_targets, put_topic
from tests.unit.moto_aws import (
    DYNAMIC,
    ENTRY,
    INGRESS_ARN,
    POSTGRES,
    TABLE,
    WEBHOOK,
    MotoAws,
    make_bucket,
    notify,
    refusal,
)
from tests.unit.notifications.command.test_attach import POLICY, admit

FUNCTION = "Bucketcast-webhook-primary"
PART = {"QueueConfigurations": [{**ENTRY, "Events": ["s3:ObjectCreated:*"]}]}


@pytest.fixture
def deployment(aws: MotoAws, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MotoAws:
    """A deployment in which all is well."""
    monkeypatch.chdir(tmp_path)
    aws.attach_by_deploy()
    names = ["Bucketcast-ingress", FUNCTION, "Bucketcast-postgres-main"]
    for name in names:
        aws.sqs.create_queue(QueueName=f"{name}-dead")
        aws.sqs.create_queue(QueueName=name)
    admit(aws, POLICY)
    make_bucket("archive")
    make_bucket("other")
    for name in names[1:]:
        steps = ("settings", "dns", "tcp", "tls", "login", "access")
        fine = {"status": "ok", "found": "fine", "hint": "", "command": ""}
        aws.answers[name] = {"findings": [{"check": step, **fine} for step in steps]}
    return aws


def problems(run: Run, *words: str) -> tuple[int, list[dict[str, str]]]:
    ran = run("doctor", "--json", *words)
    return ran.code, ran.document["findings"]


def test_healthy_deployment_has_no_findings(run: Run, deployment: MotoAws) -> None:
    events = ("s3:ObjectCreated:Put",)
    off = Rule(bucket="archive", arn="arn:minio:sqs::gone:webhook", events=events, disabled=True)
    deployment.rules.add(off)
    assert problems(run) == (0, []), deployment.outputs
    ran = run("doctor")
    assert "nothing is wrong: " in ran.said(0)
    assert ran.out == ""
    code, everything = problems(run, "--all")
    assert (code, {each["status"] for each in everything}) == (0, {"ok"})
    checks = {each["check"] for each in everything}
    assert checks >= {"queue", "queue-policy", "bucket"}
    assert checks >= {"settings", "dns", "tcp", "tls", "login", "access"}


def test_event_rule_removed_meanwhile_is_skipped(
    run: Run, deployment: MotoAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EventBridge lists it, and a call later does not know it."""
    pages = Mock()
    pages.return_value.paginate.return_value = [{"RuleNames": ["gone"]}]
    monkeypatch.setattr(deployment.events, "get_paginator", pages)
    assert problems(run) == (0, [])


def test_what_waits_in_the_queues_of_a_removed_target_is_found(
    run: Run, deployment: MotoAws
) -> None:
    for name in ("Bucketcast-webhook-old", "Bucketcast-redis-done"):
        deployment.sqs.create_queue(QueueName=f"{name}-dead")
        deployment.sqs.create_queue(QueueName=name)
    for name, number in (("Bucketcast-webhook-old", 3), ("Bucketcast-webhook-old-dead", 1)):
        for _ in range(number):
            deployment.sqs.send_message(QueueUrl=deployment.queue(name), MessageBody="x")
    code, (finding,) = problems(run)
    assert (code, finding["subject"], finding["status"]) == (0, "Bucketcast-webhook-old", "warn")
    assert "3 messages wait, and 1 are dead letters" in finding["found"]


Plant = Callable[[MotoAws], Any]
GONE = "arn:minio:sqs::gone:webhook"


def delete(queue: str) -> Plant:
    return lambda aws: aws.sqs.delete_queue(QueueUrl=aws.queue(queue))


def eventbridge(rule_state: str) -> Plant:
    def plant(aws: MotoAws) -> None:
        aws.attach_by_deploy("eventbridge")
        notify("uploads", EventBridgeConfiguration={})
        if rule_state:
            pattern = json.dumps({"detail": {"bucket": {"name": ["uploads"]}}})
            aws.events.put_rule(Name="r", EventPattern=pattern, State=rule_state)  # type: ignore[arg-type]
            aws.events.put_targets(Rule="r", Targets=[{"Id": "x", "Arn": INGRESS_ARN}])

    return plant


def step(check: str) -> Plant:
    failed = {"check": check, "status": "error", "found": "no", "hint": "so"}
    return lambda aws: aws.answers.update({FUNCTION: {"findings": [failed]}})


def counted(counts: Counts, last: Callable[[], Last]) -> Plant:
    return lambda aws: aws.counters.add(WEBHOOK, counts, last())


def message(queue: str) -> Plant:
    return lambda aws: aws.sqs.send_message(QueueUrl=aws.queue(queue), MessageBody="x")


def rules(bucket: str, arn: str, event: str = "s3:ObjectCreated:Put", number: int = 1) -> Plant:
    made = [
        Rule(bucket=bucket, arn=arn, events=(event,), prefix=f"{index}/") for index in range(number)
    ]
    return lambda aws: aws.rules.change(bucket, lambda stored: [*stored, *made])


def both(*plants: Plant) -> Plant:
    return lambda aws: [plant(aws) for plant in plants]


def waiting(counts: Counts, last: Callable[[], Last]) -> Plant:
    """Count what became of events while a message waits."""
    return both(message(FUNCTION), counted(counts, last))


def kept(aws: MotoAws) -> None:
    """Remove a dynamic target while a message waits."""
    add_dynamic_targets(aws)
    targets = dynamic_targets_of(find("Bucketcast", aws), aws)
    put = targets.put("webhook", "audit", {"endpoint": "http://h/"}).target
    message(put.queue)(aws)
    targets.remove(TargetArn("audit", "webhook"), discard=False)


def key_policy(aws: MotoAws, *services: str) -> None:
    """Let these services use the customer's key."""
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": [f"{service}.amazonaws.com" for service in services]},
        "Action": ["kms:Decrypt", "kms:GenerateDataKey*"],
        "Resource": "*",
    }
    policy = json.dumps({"Version": "2012-10-17", "Statement": statement})
    arn = aws.kms.create_key()["KeyMetadata"]["Arn"]
    aws.kms.put_key_policy(KeyId=arn, PolicyName="default", Policy=policy)
    aws.outputs["KmsKey"] = arn


def now() -> int:
    """Return Unix ms: a success before this test is soon too long ago."""
    return round(time.time() * 1_000)


FAULTS: dict[str, tuple[Plant, str]] = {
    "failing since …: … of its last … tries went through": (
        waiting(Counts(failed=9), lambda: Last(failure=1, error="Retryable", reason="HTTP 503")),
        "repair what the error names",
    ),
    "paused since …": (
        lambda aws: Breakers(TABLE, lambda: aws.dynamodb).pause(WEBHOOK, 1_000),
        "bucketcast target resume webhook:primary",
    ),
    "slower than its events come: one has waited for …": (
        waiting(Counts(sent=9), lambda: Last(now(), oldest=1)),
        "max_concurrency",
    ),
    "refused alone for …: …": (
        waiting(Counts(sent=9), lambda: Last(now(), now(), "Retryable", "no field", oldest=1)),
        "repair what the error names",
    ),
    "… messages wait, and none was tried for … minutes": (
        message(FUNCTION),
        f"aws logs tail /aws/lambda/{FUNCTION}",
    ),
    "it was removed while … messages waited": (kept, "bucketcast target rm"),
    "… has dead letters: …": (message(f"{FUNCTION}-dead"), "bucketcast dlq ls"),
    "the function … does not exist": (
        lambda aws: aws.answers.update({FUNCTION: refusal("ResourceNotFoundException", "Invoke")}),
        "detect-stack-drift",
    ),
    "the queue … does not exist": (delete(FUNCTION), "detect-stack-drift"),
    "the policy of … does not let … in": (
        both(lambda aws: admit(aws, POLICY[:1]), lambda aws: key_policy(aws, "s3")),
        " to events.amazonaws.com, as ",
    ),
    "its notifications have no entry to the ingress queue": (
        lambda _: notify("uploads", **PART),
        "bucketcast bucket attach uploads --via sqs",
    ),
    "its EventBridge rule is disabled": (eventbridge("DISABLED"), "enable-rule"),
    "the bucket does not exist": (
        lambda aws: aws.s3.delete_bucket(Bucket="uploads"),
        "aws s3 mb s3://uploads && bucketcast bucket attach uploads",
    ),
    "its events arrive twice": (
        both(
            eventbridge("ENABLED"),
            lambda aws: aws.attach_by_deploy("both"),
            lambda _: notify("uploads", EventBridgeConfiguration={}, QueueConfigurations=[ENTRY]),
        ),
        "bucketcast bucket ls uploads",
    ),
    "rules name it, but its events do not arrive here": (
        rules("archive", WEBHOOK),
        "bucketcast bucket attach archive",
    ),
    "it does not exist, and … rules of … send events to it": (
        rules("uploads", GONE, number=206),
        "bucketcast event rm uploads webhook:gone",
    ),
    "… with events that no trail of the deploy logs": (
        rules("uploads", WEBHOOK, "s3:ObjectAccessed:Get", number=20),
        'access_events = ["get"]',
    ),
}
WARNINGS = (
    "paused since …",
    "slower than its events come: one has waited for …",
    "refused alone for …: …",
    "… messages wait, and none was tried for … minutes",
    "it was removed while … messages waited",
    "… has dead letters: …",
    "its events arrive twice",
    "rules name it, but its events do not arrive here",
    "… with events that no trail of the deploy logs",
)
PAGE = (Path(__file__).parents[4] / "docs" / "troubleshooting.md").read_text()
LISTED = [
    (check, found)
    for checks, found in re.findall(r"^\| ([a-z, -]+) \| (.+) \|$", PAGE, re.MULTILINE)
    for check in checks.split(", ")
]


@pytest.mark.parametrize(("check", "found"), LISTED)
def test_fault_of_the_page_is_one_finding_with_its_cure(
    run: Run, deployment: MotoAws, check: str, found: str
) -> None:
    plant, cure = (step(check), "so") if found == "…" else FAULTS[found]
    plant(deployment)
    code, findings = problems(run)
    pattern = re.escape(found).replace("…", ".+")
    (one,) = [each for each in findings if each["check"] == check]
    assert one["status"] == ("warn" if found in WARNINGS else "error")
    assert code == any(each["status"] == "error" for each in findings)
    assert re.match(pattern, one["found"]), findings
    assert cure in f"{one['hint']} {one['command']}"
    printed = run("doctor").out
    assert one["found"] in printed
    assert one["command"] in printed


def test_page_lists_faults() -> None:
    assert {found for _, found in LISTED} == {"…", *FAULTS}


def test_findings_of_a_target_are_together_and_urgent_ones_first(
    run: Run, deployment: MotoAws
) -> None:
    rules("archive", GONE, number=3)(deployment)
    message("Bucketcast-postgres-main-dead")(deployment)
    message(f"{FUNCTION}-dead")(deployment)
    counted(Counts(dead=9), lambda: Last(failure=1, error="Rejected", reason="no"))(deployment)
    _, findings = problems(run)
    assert [(each["subject"], each["check"]) for each in findings] == [
        (WEBHOOK, "state"),
        (WEBHOOK, "queue"),
        (GONE, "rule"),
        (POSTGRES, "queue"),
        ("archive", "bucket"),
    ]


@pytest.mark.parametrize(
    ("plant", "check", "found"),
    [
        (delete(f"{FUNCTION}-dead"), "queue", "does not exist"),
        (eventbridge(""), "bucket", "no EventBridge rule takes"),
        (
            lambda aws: aws.answers.update({FUNCTION: {"errorMessage": "no module"}}),
            "probe",
            "failed: no module",
        ),
    ],
)
def test_fault_is_found(
    run: Run, deployment: MotoAws, plant: Plant, check: str, found: str
) -> None:
    plant(deployment)
    code, findings = problems(run)
    (one,) = [each for each in findings if each["status"] == "error"]
    assert (code, one["check"]) == (1, check)
    assert found in one["found"]


def test_a_rule_with_another_pattern_is_passed_over(run: Run, deployment: MotoAws) -> None:
    eventbridge("ENABLED")(deployment)
    pattern = {"detail": {"bucket": {"name": [{"prefix": "photos-"}]}}}
    deployment.events.put_rule(Name="r", EventPattern=json.dumps(pattern))
    assert problems(run)[1]


def test_key_that_services_may_use_is_no_fault(run: Run, deployment: MotoAws) -> None:
    key_policy(deployment, "s3", "events")
    assert problems(run) == (0, [])


def test_a_policy_of_another_form_is_a_warning(run: Run, deployment: MotoAws) -> None:
    admit(deployment, [*POLICY, {**POLICY[0], "Effect": "Deny"}])
    code, findings = problems(run)
    assert (code, {each["status"] for each in findings}) == (0, {"warn"})


def test_denied_read_is_a_warning_and_other_checks_go_on(
    run: Run, deployment: MotoAws, watch: Watch
) -> None:
    tables = watch(deployment.dynamodb, "scan")
    tables.side_effect = refusal("AccessDenied", "Scan")
    admit(deployment, POLICY[1:])
    code, findings = problems(run)
    assert code == 1
    unread = {each["check"]: each["found"] for each in findings if each["status"] == "warn"}
    assert unread.keys() == {"buckets", "rules"}
    assert all("not allowed: Scan" in found for found in unread.values())
    assert findings[0]["check"] == "queue-policy"


def test_rules_with_a_missing_target_or_topic_are_found(run: Run, deployment: MotoAws) -> None:
    topic, put = "arn:aws:sns:us-east-1::gone", ("s3:ObjectCreated:Put",)
    for arn, name in ((GONE, ""), (WEBHOOK, ""), (topic, "my notification")):
        deployment.rules.add(Rule(bucket="uploads", arn=arn, events=put, name=name))
    code, findings = problems(run)
    assert (code, {each["subject"] for each in findings}) == (1, {GONE, topic})
    for finding in findings:
        assert run(*shlex.split(finding["command"])[1:]).code == 0
    assert problems(run) == (0, [])


def test_rules_that_ask_for_what_does_not_come_are_found(run: Run, deployment: MotoAws) -> None:
    """As after a bucket was narrowed in the configuration."""
    notify("uploads", **PART)
    deployment.attach_by_deploy(part={"events": ["s3:ObjectCreated:*"]})
    acl = Rule(bucket="uploads", arn=WEBHOOK, events=("s3:ObjectAcl:Put",))
    deployment.rules.add(acl)
    code, (finding,) = problems(run)
    assert (code, finding["check"], finding["status"]) == (0, "rule", "warn")
    assert "into [bucket.uploads] of bucketcast.toml, and deploy" in finding["hint"]


def test_a_notification_of_a_topic_without_an_endpoint_is_found(
    run: Run, deployment: MotoAws
) -> None:
    deployment.outputs["DynamicTargets"] = json.dumps(asdict(DYNAMIC))
    endpoints = {"silent": {}, "pushed": {"push-endpoint": "http://h/"}}
    for name, given in endpoints.items():
        arn = put_topic(deployment, name, given).arn
        rule = Rule(bucket="uploads", arn=arn, events=("s3:ObjectCreated:Put",), name=name)
        deployment.rules.add(rule)
    code, (one,) = problems(run)
    assert (code, one["check"]) == (1, "rule")
    assert one["subject"].endswith("::silent")
    assert "does not exist or has no endpoint" in one["found"]
    listed = run("event", "ls", "uploads", "--json").document["rules"]
    assert {each["name"]: each["deployed"] for each in listed} == {"silent": False, "pushed": True}


def test_a_disabled_target_is_not_checked(run: Run, deployment: MotoAws) -> None:
    deployment.change(WEBHOOK, enabled=False)
    deployment.answers[FUNCTION] = {"errorMessage": "must not be asked"}
    assert problems(run) == (0, [])
