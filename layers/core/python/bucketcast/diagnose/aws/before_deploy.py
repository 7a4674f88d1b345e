"""What a deploy would be refused for after minutes, found in seconds: a function a check."""

from collections.abc import Iterator, Mapping
from typing import Final

from botocore.exceptions import ClientError

from bucketcast.aws.clients import Aws
from bucketcast.config.bucket import Bucket
from bucketcast.config.model import Deployment
from bucketcast.delivery.queue import code_of
from bucketcast.delivery.queue_names import dead_of, target_name
from bucketcast.diagnose.aws import report_unread
from bucketcast.finding import Finding
from bucketcast.notifications import document as notifications
from bucketcast.notifications.not_sent import not_sent
from bucketcast.state.dynamic_targets import Table
from bucketcast.state.rules import Rules

_BOOTSTRAP: Final = "/cdk-bootstrap/hnb659fds/version"
"""The parameter that CDK's templates read, whatever the name of the stack that made it."""
_UNRESERVED: Final = 100
"""Concurrent executions that an account must leave to all functions together."""
_Owned = Mapping[str, str]
"""The types of the resources that the stack has, by their names."""


def findings(config: Deployment, stack: str, aws: Aws) -> Iterator[Finding]:
    """Check the account before a deploy of a configuration; what the stack has is its own."""
    account = aws.client("sts", attempts=3).get_caller_identity()["Account"]
    owned = _owned(stack, aws)
    checks = {
        "bootstrap": _bootstrap(account, aws),
        "concurrency": _concurrency(config, owned, aws),
        "dynamic targets": _dynamic_targets(config, owned, aws),
        "names": _names(config, stack, owned, aws),
        **{name: _secret(name, aws) for each in config.targets for name in each.secret_names},
    }
    for name, bucket in config.buckets.items():
        checks[f"rules of {name}"] = _sent(name, bucket, owned, aws)
        checks[name] = _bucket(name, bucket, stack, owned, account, aws)
    for subject, found in checks.items():
        yield from list(report_unread("deploy", subject, found)) or [
            Finding("deploy", subject, "ok", "nothing keeps the deploy from passing")
        ]


def _owned(stack: str, aws: Aws) -> _Owned:
    """Return what a stack has, also one that was rolled back; nothing if it does not exist."""
    try:
        pages = aws.cloudformation.get_paginator("list_stack_resources")
        return {
            each.get("PhysicalResourceId", "").rpartition("/")[2]: each["ResourceType"]
            for page in pages.paginate(StackName=stack)
            for each in page["StackResourceSummaries"]
            if not each["ResourceStatus"].startswith(("DELETE_", "CREATE_FAILED"))
        }
    except ClientError as error:
        if code_of(error) != "ValidationError":  # its code for a missing stack
            raise
        return {}


def _bootstrap(account: str, aws: Aws) -> Iterator[Finding]:
    found = aws.client("ssm", attempts=3).get_parameters(Names=[_BOOTSTRAP])["Parameters"]
    if not found:
        command = f"cdk bootstrap aws://{account}/{aws.s3.meta.region_name}"
        yield _error("bootstrap", "CDK has nothing in this region", "bootstrap it", command)


def _concurrency(config: Deployment, owned: _Owned, aws: Aws) -> Iterator[Finding]:
    reserved = config.ingest.reserved_concurrency + config.gateway.reserved
    left = aws.functions.get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"]
    for name in _of_type("AWS::Lambda::Function", owned):
        its = aws.mappings.get_function_concurrency(FunctionName=name)
        left += its.get("ReservedConcurrentExecutions", 0)
    if reserved and left - reserved < _UNRESERVED:
        yield _error(
            "concurrency",
            f"it reserves {reserved} of {left} concurrent executions; {_UNRESERVED} must stay",
            "set reserved_concurrency in [ingest] and [gateway], and listen_concurrency, to 0, or "
            "ask AWS for a higher limit",
        )


def _dynamic_targets(config: Deployment, owned: _Owned, aws: Aws) -> Iterator[Finding]:
    """Find kinds of targets and topics that a deploy takes the function from."""
    kinds = set(config.dynamic_targets.kinds)
    for name in _of_type("AWS::DynamoDB::Table", owned):
        table = Table(name, aws.dynamodb)
        stored = [*table.targets(), *table.topics(None)]
        used = {each.kind for each in stored if each.kind and each.state != "kept"}
        if off := ", ".join(sorted(used - kinds)):
            found = f"there are targets or topics of a kind that the deploy turns off: {off}"
            line = f'kinds = "{",".join(sorted(used | kinds))}"'
            yield _error("dynamic targets", found, f"write {line} in [dynamic_targets]")


def _of_type(wanted: str, owned: _Owned) -> list[str]:
    return [name for name, its in owned.items() if its == wanted]


def _names(config: Deployment, stack: str, owned: _Owned, aws: Aws) -> Iterator[Finding]:
    names = {f"{stack}-ingress"}
    names |= {target_name(stack, each.kind, each.id) + config.queue_end for each in config.targets}
    wanted = names | set(map(dead_of, names))
    pages = aws.sqs.get_paginator("list_queues").paginate(QueueNamePrefix=f"{stack}-")
    there = {url.rpartition("/")[2] for page in pages for url in page.get("QueueUrls", ())}
    for name in sorted(wanted & there - owned.keys()):
        hint = "a stack that was removed left it: delete it with what it holds, or rename the stack"
        yield _error(name, "a queue of this name exists", hint)


def _secret(name: str, aws: Aws) -> Iterator[Finding]:
    try:
        aws.secretsmanager.describe_secret(SecretId=name)
    except aws.secretsmanager.exceptions.ResourceNotFoundException:
        command = f"aws secretsmanager create-secret --name {name} --secret-string …"
        yield _error(name, "the secret does not exist", "create it", command)


def _bucket(
    name: str, bucket: Bucket, stack: str, owned: _Owned, account: str, aws: Aws
) -> Iterator[Finding]:
    is_new, region = bucket.create and name not in owned, aws.s3.meta.region_name
    try:
        head = aws.s3.head_bucket(Bucket=name, ExpectedBucketOwner=account)
    except ClientError as error:
        if is_new and code_of(error) == "403":
            yield _error(name, "the name of this bucket is taken", "choose another name")
        elif code_of(error) != "404":
            raise
        elif not bucket.create:
            hint = f"check the name, or let the deploy create it: create = true in [bucket.{name}]"
            yield _error(name, "the bucket does not exist", hint)
        return
    if is_new:
        hint = f"set create = false in [bucket.{name}]"
        yield _error(name, "the deploy creates this bucket, which exists", hint)
    if (there := head["BucketRegion"]) != region:
        found = f"the bucket is in {there}: S3 and EventBridge send its events only there"
        yield _error(name, found, "deploy another stack there")
    document = aws.s3.get_bucket_notification_configuration(
        Bucket=name, ExpectedBucketOwner=account
    )
    try:
        via = notifications.split(bucket.via)
        notifications.connect(document, notifications.entry_id(stack), "", via, bucket.part)
    except notifications.Overlap as error:
        yield _error(name, "another entry takes its events", str(error))


def _sent(name: str, bucket: Bucket, owned: _Owned, aws: Aws) -> Iterator[Finding]:
    """Find rules of a bucket that would not get what they ask for."""
    parts = notifications.sent(bucket.part, notifications.split(bucket.via))
    for table in _of_type("AWS::DynamoDB::Table", owned):
        rules = Rules(table, aws.dynamodb).active(name)
        if reason := not_sent(rules, parts, {name: bucket.via}):
            yield _error(name, "its rules ask for events that would not come", reason)


def _error(subject: str, found: str, hint: str, command: str = "") -> Finding:
    return Finding("deploy", subject, "error", found, hint, command)
