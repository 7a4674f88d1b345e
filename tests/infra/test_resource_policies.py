"""The policies of queues, buckets and functions allow the calls of AWS's own services.

The local AWS looks at none of these policies. Requests have the context that AWS documents for
each service; the template is that of a configuration with every option that adds rights.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Template

from bucketcast.notifications.aws.ingress import Ingress
from bucketcast_cdk import Bucketcast
from tests import rights
from tests.infra.conftest import CONTEXT
from tests.infra.resolved import ACCOUNT, REGION, Resolved
from tests.infra.resource_policies import Request, allows

OTHER, STRANGER = "444455556666", "999999999999"
TOPIC = f"arn:aws:sns:eu-west-1:{OTHER}:uploads"
SOURCES = {"accounts": OTHER, "topics": TOPIC}
INGRESS = f"arn:aws:sqs:{REGION}:{ACCOUNT}:Bucketcast-ingress"


class Call(NamedTuple):
    """What a service calls, and what it is called in a failing test's id."""

    about: str
    request: Request


@pytest.fixture(scope="module")
def stack() -> Resolved:
    made = Stack(App(context=CONTEXT), "Bucketcast")
    Bucketcast(made, "Default", config={**rights.EXAMPLE, "source": SOURCES})
    return Resolved(Template.from_stack(made).to_json())


def statements(stack: Resolved, resource: str) -> list[dict[str, Any]]:
    """Return the policy of a queue, bucket or function by its ARN, as one list."""
    found: list[dict[str, Any]] = []
    for kind, key in (("AWS::SQS::QueuePolicy", "Queues"), ("AWS::S3::BucketPolicy", "Bucket")):
        for each in stack.of_type(kind).values():
            named = each[key] if isinstance(each[key], list) else [each[key]]
            if resource.rpartition(":")[2].partition("/")[0] in named:
                found += each["PolicyDocument"]["Statement"]
    for each in stack.of_type("AWS::Lambda::Permission").values():
        if each["FunctionName"] == resource:
            found.append(_permission(each))
    return found


def _permission(given: dict[str, Any]) -> dict[str, Any]:
    """Return the statement that Lambda makes of a permission."""
    conditions = {
        "aws:SourceAccount": given.get("SourceAccount"),
        "aws:SourceArn": given.get("SourceArn"),
    }
    return {
        "Effect": "Allow",
        "Principal": {"Service": given["Principal"]} if given["Principal"] != "*" else "*",
        "Action": given["Action"],
        "Resource": given["FunctionName"],
        "Condition": {
            "StringEquals" if key == "aws:SourceAccount" else "ArnLike": {key: value}
            for key, value in conditions.items()
            if value
        },
    }


def send(service: str, queue: str, source: str, account: str = ACCOUNT) -> Request:
    context = {
        "aws:SourceArn": source,
        "aws:SourceAccount": account,
        "aws:SecureTransport": "true",
    }
    return Request(f"{service}.amazonaws.com", "sqs:SendMessage", queue, context)


def calls(stack: Resolved) -> Iterator[Call]:
    """Yield what services call in a stack: found in its own resources."""
    for each in stack.of_type("Custom::BucketNotification").values():
        if each["Via"] == "sqs":
            yield Call("bucket", send("s3", INGRESS, f"arn:aws:s3:::{each['Bucket']}"))
    yield Call("other account's bucket", send("s3", INGRESS, "arn:aws:s3:::theirs", OTHER))
    for each in stack.of_type("AWS::SNS::Subscription").values():
        yield Call("topic", send("sns", each["Endpoint"], each["TopicArn"], OTHER))
    for logical_id, rule in stack.of_type("AWS::Events::Rule").items():
        arn = stack.arn(logical_id)
        for target in rule["Targets"]:
            for resource in (target["Arn"], target.get("DeadLetterConfig", {}).get("Arn")):
                if resource:
                    yield Call(rule["Name"], _by_rule(arn, resource))


def _by_rule(rule: str, resource: str) -> Request:
    if ":sqs:" in resource:
        return send("events", resource, rule)
    context = {"aws:SourceArn": rule, "aws:SourceAccount": ACCOUNT}
    return Request("events.amazonaws.com", "lambda:InvokeFunction", resource, context)


def test_each_call_of_a_service_is_allowed(stack: Resolved) -> None:
    found = list(calls(stack))
    refused = [
        each for each in found if not allows(statements(stack, each.request.resource), each.request)
    ]
    assert refused == []
    # What the example has to have, or the loops above saw nothing.
    assert {"bucket", "topic"} <= {each.about for each in found}
    assert len(found) >= 10


def test_other_accounts_may_not_make_the_same_call(stack: Resolved) -> None:
    """Neither a service on behalf of another account, nor that account itself."""
    for each in calls(stack):
        policy, request = statements(stack, each.request.resource), each.request
        away = {
            key: text.replace(ACCOUNT, STRANGER).replace(OTHER, STRANGER)
            for key, text in request.context.items()
        }
        stranger = Request(request.principal, request.action, request.resource, away)
        assert not allows(policy, stranger), stranger
        by_hand = Request(STRANGER, request.action, request.resource, request.context)
        assert not allows(policy, by_hand), by_hand


def test_rules_of_a_stack_with_a_longer_name_call_no_function(stack: Resolved) -> None:
    found = [each for _, each in calls(stack) if each.action == "lambda:InvokeFunction"]
    assert len({each.resource for each in found}) == 2
    for request in found:
        rule = request.context["aws:SourceArn"].replace("rule/Bucketcast-", "rule/Bucketcast-dev-")
        theirs = replace(request, context={**request.context, "aws:SourceArn": rule})
        assert not allows(statements(stack, request.resource), theirs), rule


def test_services_write_to_queues_of_targets_by_no_policy(stack: Resolved) -> None:
    """Only roles of the stack do: other writers would bypass the rules."""
    queues = [stack.arn(key) for key in stack.of_type("AWS::SQS::Queue")]
    targets = [each for each in queues if "-webhook-" in each or "-postgres-" in each]
    assert len(targets) >= 4
    for queue in targets:
        for service, source in (
            ("s3", "arn:aws:s3:::uploads"),
            ("events", _a_rule()),
            ("sns", TOPIC),
        ):
            assert not allows(statements(stack, queue), send(service, queue, source))


def _a_rule(name: str = "Bucketcast-bucket-uploads") -> str:
    return f"arn:aws:events:{REGION}:{ACCOUNT}:rule/{name}"


@pytest.mark.parametrize(("name", "may"), [("Bucketcast-attached-a", True), ("others", False)])
def test_only_rules_of_ours_write_to_the_ingress_queue(
    stack: Resolved, name: str, *, may: bool
) -> None:
    rule = send("events", INGRESS, _a_rule(name))
    assert allows(statements(stack, INGRESS), rule) == may


def test_what_doctor_says_of_the_templates_policy_is_clear(stack: Resolved) -> None:
    ingress = Ingress(INGRESS, json.dumps({"Statement": statements(stack, INGRESS)}))
    ingress.require_allowed("s3")
    ingress.require_allowed("events")


def test_cloudtrail_writes_the_log_of_this_account_only(stack: Resolved) -> None:
    ((bucket, prefix),) = [
        (each["S3BucketName"], each.get("S3KeyPrefix", ""))
        for each in stack.of_type("AWS::CloudTrail::Trail").values()
    ]
    assert prefix == ""
    context = {
        "s3:x-amz-acl": "bucket-owner-full-control",
        "aws:SecureTransport": "true",
        "aws:SourceArn": f"arn:aws:cloudtrail:{REGION}:{ACCOUNT}:trail/Bucketcast-access",
    }
    bucket_arn = f"arn:aws:s3:::{bucket}"

    def may(action: str, resource: str) -> bool:
        request = Request("cloudtrail.amazonaws.com", action, resource, context)
        return allows(statements(stack, bucket_arn), request)

    assert may("s3:GetBucketAcl", bucket_arn)
    assert may("s3:PutObject", f"{bucket_arn}/AWSLogs/{ACCOUNT}/CloudTrail/a.gz")
    assert not may("s3:PutObject", f"{bucket_arn}/AWSLogs/{STRANGER}/CloudTrail/a.gz")


def test_each_role_is_assumed_by_its_service_only(stack: Resolved) -> None:
    users: dict[str, set[str]] = {}
    for kind, service, key in (
        ("AWS::Lambda::Function", "lambda", "Role"),
        ("AWS::Glue::Job", "glue", "Role"),
    ):
        for each in stack.of_type(kind).values():
            users.setdefault(each[key], set()).add(f"{service}.amazonaws.com")
    for each in stack.of_type("AWS::Scheduler::Schedule").values():
        users.setdefault(each["Target"]["RoleArn"], set()).add("scheduler.amazonaws.com")
    services = {service for each in users.values() for service in each}
    assert len(services) == 3
    roles = stack.of_type("AWS::IAM::Role")
    assert {stack.arn(each) for each in roles} == users.keys()
    for logical_id, role in roles.items():
        trust, arn = role["AssumeRolePolicyDocument"]["Statement"], stack.arn(logical_id)
        for service in services | {OTHER, STRANGER}:
            context = {"aws:SourceAccount": ACCOUNT}
            may = allows(trust, Request(service, "sts:AssumeRole", arn, context))
            assert may == (service in users[arn]), (service, logical_id)
        # Schedules of every account have one service; Lambda and Glue assume what they are given.
        scheduled = Request("scheduler.amazonaws.com", "sts:AssumeRole", arn, {})
        for account in (OTHER, STRANGER):
            assert not allows(trust, replace(scheduled, context={"aws:SourceAccount": account}))
