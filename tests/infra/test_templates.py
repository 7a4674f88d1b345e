"""What every template has to have, as a table of rules and configurations.

What the local AWS does not look at, and a first deploy or an unlucky day would show.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack

from bucketcast.limits import MESSAGE_BYTES
from bucketcast_cdk import Bucketcast
from tests.infra.conftest import CHECKED, PIPELINE, ROOT, TYPICAL, Make
from tests.infra.resolved import ACCOUNT, REGION, Resolved
from tests.infra.resource_policies import like, listed

KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/1234abcd-12ab-34cd-56ef-1234567890ab"
VPC = 'vpc = "vpc-0123456789abcdef0"\nsubnets = ["subnet-0123456789abcdef0"]\n'
GATEWAY = '[gateway]\nfunction_url = "on"\nlisten_concurrency = 10\n'
WHOLE = f"""
object_facts = "on"
dashboard = "on"
{GATEWAY}
{TYPICAL.replace('kinds = "off"', f'kinds = "all"{chr(10)}{VPC}')}
[notify_webhook.inside]
endpoint = "https://example.org/hook"
[notify_webhook.inside.deploy]
{VPC}
[notify_elasticsearch.domain]
url = "https://search-events.us-east-1.es.amazonaws.com"
index = "events"
auth = "iam"
iam_resource = "arn:aws:es:us-east-1:111122223333:domain/events"
[alarms]
email = "ops@example.org"
[bucket.reads]
access_events = ["get"]
{
    PIPELINE.replace(
        "[pipeline]",
        '''[pipeline]
metadata = "on"
subnet = "subnet-0123456789abcdef0"
availability_zone = "us-east-1a"
security_groups = ["sg-0123456789abcdef0"]''',
    )
}
"""
CONFIGURATIONS = {
    "example": (ROOT / "examples" / "aws" / "bucketcast.toml").read_text("utf-8"),
    "typical": TYPICAL,
    "whole": WHOLE,
    "keys": f'kms_key = "{KEY}"\nkms_keys = ["{KEY}"]\n{GATEWAY}{TYPICAL}{PIPELINE}',
    "ordered": f'sync_events = "on"\n{TYPICAL}',
    "throughput": TYPICAL.replace(
        '"secret:webhook-primary"\n',
        '"secret:webhook-primary"\n[notify_webhook.primary.deploy]\nprofile = "throughput"\n',
    ),
}
Rule = Callable[[Resolved], Iterator[str]]


def mappings_have_a_maximum(stack: Resolved) -> Iterator[str]:
    """Else one queue takes all executions of the account."""
    for name, each in stack.of_type("AWS::Lambda::EventSourceMapping").items():
        if "MaximumConcurrency" not in each.get("ScalingConfig", {}):
            yield name


def functions_with_a_url_have_a_maximum(stack: Resolved) -> Iterator[str]:
    """Anybody may call them, and would take all executions of the account."""
    for name in _with_url(stack):
        if "ReservedConcurrentExecutions" not in stack.of_type("AWS::Lambda::Function")[name]:
            yield name


def roles_behind_a_url_write_to_what_is_named(stack: Resolved) -> Iterator[str]:
    """By the stack's or a bucket's name, or under a condition."""
    roles = {stack.of_type("AWS::Lambda::Function")[name]["Role"] for name in _with_url(stack)}
    for role, statement in _of_roles(stack):
        writes = [each for each in listed(statement["Action"]) if not _reads(each)]
        if stack.arn(role) in roles and writes and "Condition" not in statement:
            for resource in listed(statement["Resource"]):
                if like("arn:aws:s3:::others", resource) or ":table/" in resource:
                    yield f"{role}: {writes} on {resource}"


def rights_on_a_key_have_a_condition(stack: Resolved) -> Iterator[str]:
    """Whoever takes the role over decrypts by services only, and only what is the account's."""
    statements = list(_of_roles(stack))
    for name, key in stack.of_type("AWS::KMS::Key").items():
        statements += [(name, each) for each in key["KeyPolicy"]["Statement"]]
    for name, each in statements:
        if any(action.startswith("kms:") for action in listed(each["Action"])):
            # The account itself decides by IAM who may use its key.
            root = f"arn:aws:iam::{ACCOUNT}:root"
            if "Condition" not in each and each.get("Principal") != {"AWS": root}:
                yield name


def queues_take_what_is_sent(stack: Resolved) -> Iterator[str]:
    for name, each in stack.of_type("AWS::SQS::Queue").items():
        if each.get("MaximumMessageSize") != MESSAGE_BYTES:
            yield name


def what_is_kept_keeps_its_policy(stack: Resolved) -> Iterator[str]:
    """Without it a bucket would take plain HTTP, and a queue nothing from S3."""
    resources = stack.resources
    for name, each in resources.items():
        if each["Type"] in ("AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy"):
            of = each["Properties"].get("Bucket") or each["Properties"]["Queues"][0]
            owner = next(key for key in resources if stack.arn(key).rpartition(":")[2] == of)
            if _kept(resources[owner]) and not _kept(each):
                yield name


def what_holds_data_is_kept_but_not_by_a_rollback(stack: Resolved) -> Iterator[str]:
    """`Retain` keeps it there too: its name is taken, or its owner is unknown."""
    for name, each in stack.resources.items():
        if each["Type"] in ("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SQS::Queue"):
            policies = (each.get("DeletionPolicy"), each.get("UpdateReplacePolicy"))
            if policies != ("RetainExceptOnCreate", "Retain") and not _is_passing(each):
                yield name


def plain_http_is_refused(stack: Resolved) -> Iterator[str]:
    """Lambda and EventBridge have no other endpoints than with TLS."""
    denied = [
        each["Resource"]
        for kind in ("AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy", "AWS::SQS::QueuePolicy")
        for policy in stack.of_type(kind).values()
        for each in policy["PolicyDocument"]["Statement"]
        if each["Effect"] == "Deny"
        and each.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
    ]
    for kind in ("AWS::S3::Bucket", "AWS::SNS::Topic", "AWS::SQS::Queue"):
        for name in stack.of_type(kind):
            names = {stack.arn(name), name}  # a reference to a topic is its ARN
            if not any(names.intersection(listed(each)) for each in denied):
                yield name


def services_write_for_this_account_only(stack: Resolved) -> Iterator[str]:
    for name, each in stack.of_type("AWS::S3::BucketPolicy").items():
        for statement in each["PolicyDocument"]["Statement"]:
            if "Service" in statement["Principal"] and "aws:SourceArn" not in json.dumps(
                statement.get("Condition", {})
            ):
                yield name


RULES: tuple[Rule, ...] = (
    mappings_have_a_maximum,
    functions_with_a_url_have_a_maximum,
    roles_behind_a_url_write_to_what_is_named,
    rights_on_a_key_have_a_condition,
    queues_take_what_is_sent,
    what_is_kept_keeps_its_policy,
    what_holds_data_is_kept_but_not_by_a_rollback,
    plain_http_is_refused,
    services_write_for_this_account_only,
)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_each_template_follows_each_rule(make: Make, rule: Rule, configuration: str) -> None:
    made = make(CONFIGURATIONS[configuration])
    assert not list(rule(Resolved(made.json)))


def _with_url(stack: Resolved) -> list[str]:
    """Return the functions that have a URL."""
    called = {each["TargetFunctionArn"] for each in stack.of_type("AWS::Lambda::Url").values()}
    return [name for name in stack.of_type("AWS::Lambda::Function") if stack.arn(name) in called]


def _of_roles(stack: Resolved) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each role and each statement that allows it something."""
    for role, each in stack.of_type("AWS::IAM::Role").items():
        for policy in each.get("Policies", []):
            yield from ((role, found) for found in policy["PolicyDocument"]["Statement"])
    for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
        for each in stack.of_type(kind).values():
            for role in each["Roles"]:
                yield from ((role, found) for found in each["PolicyDocument"]["Statement"])


def _reads(action: str) -> bool:
    return action.partition(":")[2].startswith(("BatchGet", "Get", "Head", "List", "Query"))


def _kept(resource: dict[str, Any]) -> bool:
    return str(resource.get("DeletionPolicy", "")).startswith("Retain")


def _is_passing(resource: dict[str, Any]) -> bool:
    """Return True for queues whose messages are also in the logs, or are tried once."""
    name = str(resource.get("Properties", {}).get("QueueName", ""))
    return name.endswith(("-pipeline-dead", "-once"))


NO_FUNCTION_URLS = "E3006 Resource type 'AWS::Lambda::Url' does not exist in 'us-gov-west-1'"
"""There a gateway's URL cannot be deployed, as docs/deploy.md says."""


def test_cdk_and_cfn_lint_find_nothing(tmp_path: Path) -> None:
    config = tmp_path / "bucketcast.toml"
    config.write_text(WHOLE)
    app = App(context=CHECKED, outdir=str(tmp_path / "out"))
    Bucketcast(Stack(app, "Bucketcast"), "Default", config=config)
    app.synth()
    report = json.loads((tmp_path / "out" / "validation-report.json").read_text())
    assert [each["violations"] for each in report["pluginReports"]] == [[]]
    regions = ("us-east-1", "cn-north-1", "us-gov-west-1")
    assert _linted(tmp_path / "out", *regions) == {NO_FUNCTION_URLS}


def _linted(folder: Path, *regions: str) -> set[str]:
    """Return what cfn-lint finds, with the checkout's settings."""
    words = ["--format", "json", "--regions", *regions, "--"]
    templates = map(str, folder.glob("*.template.json"))
    done = subprocess.run(
        [str(Path(sys.executable).with_name("cfn-lint")), *words, *templates],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1_200,
    )
    return {f"{each['Rule']['Id']} {each['Message']}" for each in json.loads(done.stdout)}
