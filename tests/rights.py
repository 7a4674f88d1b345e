"""What the roles of a stack may do, and why where no test calls it: `docs/rights.md`.

`python -m tests.rights` writes the page anew. The end-to-end tests see that each right without a
reason here is used, and that nothing is called without a right (`tests/e2e/iam.py`).
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.infra.resource_policies import listed

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "rights.md"
STACK: Final = "Bucketcast-"
TARGETS, DYNAMIC = "targets", "dynamic targets"
_NAMES: Final = {
    "gateway": "gateway",
    "listen": "gateway",
    "custom-resources": "custom resources",
    "scan-start": "scans by report",
    "ScansRole": "scans by schedule",
    **{each: each for each in ("ingest", "backfill", "reconcile", "scan")},
}
_JOBS: Final = ("backfill", "reconcile", "scan")
_POLLER: Final = "by Lambda, which reads the queue"
_METADATA: Final = "by Spark, from tables of S3 Metadata"
_SPARK: Final = "by Spark"
_OWN_CLIENT: Final = "for clients, by aiohttp"
REASONS: Final = (
    ("*", "s3:GetInventoryConfiguration", "the filter of an Inventory report in S3"),
    ("reconcile", "s3:GetObjectTagging", "rules with conditions on tags"),
    ("*", "logs:*", "by Lambda and Glue"),
    ("*", "kms:Decrypt", "by services, with `kms_key` or `kms_keys`"),
    ("*", "kms:*", "by services, with `kms_key`"),
    *(
        (name, f"sqs:{action}", _POLLER)
        for name in ("ingest", TARGETS, DYNAMIC)
        for action in (
            "ReceiveMessage",
            "DeleteMessage",
            "GetQueueUrl",
            "GetQueueAttributes",
            "ChangeMessageVisibility",
        )
    ),
    *((name, "s3:*", _SPARK) for name in _JOBS),
    *((name, action, _METADATA) for name in _JOBS for action in ("glue:Get*", "lakeformation:*")),
    *((name, "cloudwatch:PutMetricData", "by Glue") for name in _JOBS),
    *(
        ("gateway", action, _OWN_CLIENT)
        for action in (
            "s3:GetBucketLocation",
            "s3:ListAllMyBuckets",
            "sqs:ChangeMessageVisibility",
            "sqs:DeleteMessage",
            "sqs:ReceiveMessage",
        )
    ),
    ("gateway", "events:*", "a bucket that was attached through EventBridge is detached"),
    ("custom resources", "sqs:GetQueue*", "S3 refuses a destination"),
    ("custom resources", "cloudformation:DescribeStacks", "a failed deploy is rolled back"),
    ("custom resources", "dynamodb:DeleteItem", "a bucket leaves the configuration"),
    ("scan", "dynamodb:GetItem", "a scan names the one that scans the same bucket"),
    ("backfill", "s3:GetObjectVersion", "versions that a manifest names"),
    ("backfill", "dynamodb:GetItem", "a refused attempt names the one that still works"),
    ("ingest", "s3:ListBucket", "without it S3 answers 403 for an object that is gone, not 404"),
    ("ingest", "s3:GetObjectLegalHold", "without it HeadObject leaves the legal hold out"),
    ("ingest", "s3:GetObjectRetention", "without it HeadObject leaves the retention out"),
    ("ingest", "s3:GetObjectVersion*", "facts of an object in a bucket with versions"),
    ("scans by report", "*", "the local AWS has no Glue"),
    ("scans by schedule", "*", "by EventBridge Scheduler"),
)


class Right(NamedTuple):
    """An action that a role may do, on what, and under which condition."""

    owner: str
    action: str
    resource: str
    condition: str


def owner_of(function: str) -> str:
    """Return what a function or job is for, by its name in a stack."""
    name = function.removeprefix(STACK)
    if name in _NAMES:
        return _NAMES[name]
    return DYNAMIC if name.startswith("dynamic-") else TARGETS


def reason(owner: str, action: str) -> str:
    """Return why a right is given that no test uses; empty where one has to use it."""
    for name, pattern, text in REASONS:
        if name in ("*", owner) and fnmatchcase(action, pattern):
            return text
    return ""


def rights(template: Mapping[str, Any]) -> Iterator[Right]:
    """Yield the rights that a template gives to its functions and jobs."""
    resources = template["Resources"]
    owners = dict(_owners(resources))
    for logical_id, each in resources.items():
        for role, document in _documents(logical_id, each):
            owner = owners.get(role) or _NAMES[role[:-8]]
            for statement in document["Statement"]:
                for action in listed(statement["Action"]):
                    for resource in listed(statement["Resource"]):
                        condition = _condition(statement.get("Condition"))
                        yield Right(owner, action, _shown(resource, resources), condition)


def _documents(logical_id: str, resource: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the logical ids of roles, and the policies that a resource gives them."""
    about = resource.get("Properties", {})
    if resource["Type"] == "AWS::IAM::Role":
        for each in about.get("Policies", []):
            yield logical_id, each["PolicyDocument"]
    elif resource["Type"] in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"):
        for role in about["Roles"]:
            yield role["Ref"], about["PolicyDocument"]


def page(template: Mapping[str, Any]) -> str:
    """Return `docs/rights.md`: a row for the actions that the same roles may do on the same."""
    places: dict[tuple[str, str, str], dict[str, None]] = defaultdict(dict)
    for owner, action, resource, condition in rights(template):
        place = f"`{resource}`{f' ({condition})' if condition else ''}"
        places[action, owner, reason(owner, action)][place] = None
    owners: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for (action, owner, why), found in sorted(places.items()):
        owners[action, "<br>".join(sorted(found)), why].append(owner)
    actions: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for (action, where, why), who in owners.items():
        actions[", ".join(who), where, why].append(f"`{action}`")
    lines = [
        f"| {who} | {' '.join(names)} | {where} | {why} |"
        for (who, where, why), names in sorted(actions.items())
    ]
    return HEAD + "\n".join(lines) + "\n"


HEAD: Final = """# Permissions of the stack's roles

`python -m tests.rights` generates this page from the template of two targets and two buckets with
every option that adds rights. Names in capitals stand for values of a deployment.

The end-to-end tests record the calls that functions, jobs and the gateway make by boto3. They fail
if a role does not allow a call, or if nothing uses a right whose last column is empty.

`tests/infra/test_resource_policies.py` checks the policies of queues, buckets and functions,
and the trust of roles: they allow the calls of AWS's services in the stack, and refuse those from
another account.

| role of | actions | on | why |
|---|---|---|---|
"""


def _owners(resources: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for each in resources.values():
        if each["Type"] in ("AWS::Lambda::Function", "AWS::Glue::Job"):
            about = each["Properties"]
            role = about["Role"]["Fn::GetAtt"][0]
            yield role, owner_of(about.get("FunctionName") or about["Name"])


def _shown(value: Any, resources: Mapping[str, Any]) -> str:
    """Return an ARN in words: by the names of resources, not by their logical ids."""
    if isinstance(value, str):
        return _HASH.sub("HASH", value)
    ((function, given),) = value.items()
    match function:
        case "Fn::Join":
            return str(given[0]).join(_shown(part, resources) for part in given[1])
        case "Ref":
            fixed = {"AWS::Partition": "aws", "AWS::Region": "REGION", "AWS::AccountId": "ACCOUNT"}
            return fixed.get(given) or _named(given, resources)
        case "Fn::GetAtt":
            return _named(given[0], resources)
        case "Fn::Sub":
            return "BOOTSTRAP-BUCKET"
    raise ValueError(f"no words for {function}")


def _named(logical_id: str, resources: Mapping[str, Any]) -> str:
    about = resources.get(logical_id, {}).get("Properties", {})
    names = ("QueueName", "FunctionName", "TrailName", "LogGroupName", "Name")
    found = next((about[key] for key in names if key in about), None)
    return str(found or _WORDS.get(logical_id[:-8], "STACK"))


_HASH: Final = re.compile(r"[0-9a-f]{64}")
_WORDS: Final = {
    "IngestStateTable": "STATE-TABLE",
    "PipelineBucket": "PIPELINE-BUCKET",
}


def _condition(found: Mapping[str, Any] | None) -> str:
    """Return the keys and values of a condition, where they are plain text."""
    pairs = [
        (f"not {key}" if "Not" in operator else key, value)
        for operator, test in (found or {}).items()
        for key, value in test.items()
    ]
    texts = {key: [each for each in listed(value) if isinstance(each, str)] for key, value in pairs}
    return ", ".join(f"{key} {' '.join(found) or 'of the stack'}" for key, found in texts.items())


def example() -> dict[str, Any]:
    """Return the template of a configuration with every option that adds rights."""
    # Only the CDK's environment has it, and the end-to-end tests do without.
    from aws_cdk import App, Stack  # noqa: PLC0415
    from aws_cdk.assertions import Template  # noqa: PLC0415

    from bucketcast_cdk import Bucketcast  # noqa: PLC0415

    flags = json.loads((ROOT / "cdk.json").read_bytes())["context"]
    context = {**flags, "aws:cdk:bundling-stacks": []}
    stack = Stack(App(context=context), "Bucketcast")
    Bucketcast(stack, "Default", config=EXAMPLE)
    return dict(Template.from_stack(stack).to_json())


EXAMPLE: Final[dict[str, Any]] = {
    "gateway": {"function_url": "on", "listen_concurrency": 10},
    "object_facts": "on",
    "kms_key": "arn:aws:kms:eu-central-1:111122223333:key/0a0a0a0a-0000-4000-8000-000000000000",
    "kms_keys": ["arn:aws:kms:eu-central-1:111122223333:key/0f0f0f0f-0000-4000-8000-000000000000"],
    "bucket": {
        "uploads": {"access_events": ["get"]},
        "archive": {"create": False, "via": "eventbridge"},
    },
    "dynamic_targets": {"kinds": "webhook"},
    "pipeline": {"metadata": "on"},
    "scan": {
        "uploads": {"schedule": "rate(1 day)"},
        "archive": {"source": "s3://reports/archive/daily", "on": "inventory"},
    },
    "notify_webhook": {
        "primary": {"endpoint": "https://example.org/hook", "auth_token": "secret:hook"}
    },
    "notify_postgres": {
        "mirror": {"connection_string": "secret:dsn", "table": "uploads", "format": "namespace"}
    },
}


if __name__ == "__main__":
    PAGE.write_text(page(example()), encoding="utf-8")
