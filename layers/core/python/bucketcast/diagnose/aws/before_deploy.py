"""What a deploy would be refused for after minutes, found in seconds: a function a check."""

from collections.abc import Iterator
from typing import Any, Final

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.config import Bucket, Deployment
from bucketcast.delivery.queue import NO_QUEUE
from bucketcast.delivery.queue_names import dead_of, target_name
from bucketcast.diagnose.aws import report_unread
from bucketcast.finding import Finding
from bucketcast.notifications import document as notifications
from bucketcast.notifications.aws.checks import NO_BUCKET

_BOOTSTRAP: Final = "CDKToolkit"
_UNRESERVED: Final = 100
"""Concurrent executions that an account must leave to all functions together."""
_MISSING: Final = {*NO_QUEUE, "NotFound", "NotFoundException", "ResourceNotFoundException"}


def findings(config: Deployment, stack: str, aws: Aws) -> Iterator[Finding]:
    """Check the account before a deploy of a configuration; what the stack has is its own."""
    with aws_errors():
        owned = {
            each.get("PhysicalResourceId", "").rpartition("/")[2] for each in _resources(stack, aws)
        }
    checks = {
        "bootstrap": _bootstrap(aws),
        "concurrency": () if owned else _concurrency(config, aws),
        "names": _names(config, stack, owned, aws),
        **{name: _secret(name, aws) for each in config.targets for name in each.secret_names},
    }
    for name, bucket in config.buckets.items():
        checks[name] = _bucket(name, bucket, stack, owned, aws)
    for subject, found in checks.items():
        yield from report_unread("deploy", subject, found)


def _resources(stack: str, aws: Aws) -> list[Any]:
    """Return the resources of a stack, none if it does not exist."""
    try:
        with aws_errors():
            pages = aws.cloudformation.get_paginator("list_stack_resources")
            return [
                each
                for page in pages.paginate(StackName=stack)
                for each in page["StackResourceSummaries"]
            ]
    except AwsError as error:
        if error.code != "ValidationError":  # its code for a missing stack
            raise
        return []


def _bootstrap(aws: Aws) -> Iterator[Finding]:
    if _resources(_BOOTSTRAP, aws):
        yield _ok("bootstrap")
        return
    found = f"there is no stack {_BOOTSTRAP} in this region"
    yield _error("bootstrap", found, "bootstrap it", "cdk bootstrap aws://ACCOUNT/REGION")


def _concurrency(config: Deployment, aws: Aws) -> Iterator[Finding]:
    reserved = config.ingest.reserved_concurrency + config.gateway.reserved
    left = reserved + _UNRESERVED
    if reserved:
        with aws_errors():
            limit = aws.functions.get_account_settings()["AccountLimit"]
        left = limit["UnreservedConcurrentExecutions"]
    if left - reserved < _UNRESERVED:
        yield _error(
            "concurrency",
            f"it reserves {reserved} of {left} concurrent executions; {_UNRESERVED} must stay",
            "set reserved_concurrency in [ingest] and [gateway], and listen_concurrency, to 0, or "
            "ask AWS for a higher limit",
        )
    yield _ok("concurrency")


def _names(config: Deployment, stack: str, owned: set[str], aws: Aws) -> Iterator[Finding]:
    names = {f"{stack}-ingress"}
    names |= {target_name(stack, each.kind, each.id) + config.queue_end for each in config.targets}
    wanted = names | set(map(dead_of, names))
    with aws_errors():
        pages = aws.sqs.get_paginator("list_queues").paginate(QueueNamePrefix=f"{stack}-")
        there = {url.rpartition("/")[2] for page in pages for url in page.get("QueueUrls", ())}
    for name in sorted(wanted & there - owned):
        hint = "a stack that was removed left it: delete it with what it holds, or rename the stack"
        yield _error(name, "a queue of this name exists", hint)
    yield _ok("names")


def _secret(name: str, aws: Aws) -> Iterator[Finding]:
    try:
        with aws_errors():
            aws.secretsmanager.describe_secret(SecretId=name)
    except AwsError as error:
        if error.code not in _MISSING:
            raise
        command = f"aws secretsmanager create-secret --name {name} --secret-string …"
        yield _error(name, "the secret does not exist", "create it", command)
    else:
        yield _ok(name)


def _bucket(name: str, bucket: Bucket, stack: str, owned: set[str], aws: Aws) -> Iterator[Finding]:
    try:
        with aws_errors():
            document = aws.s3.get_bucket_notification_configuration(Bucket=name)
    except AwsError as error:
        if error.code != NO_BUCKET:
            raise
        if not bucket.create:
            hint = f"check the name, or let the deploy create it: create = true in [bucket.{name}]"
            yield _error(name, "the bucket does not exist", hint)
        return
    if bucket.create and name not in owned:
        hint = f"set create = false in [bucket.{name}]"
        yield _error(name, "the deploy creates this bucket, which exists", hint)
    entry = notifications.entry_id(stack)
    try:
        if bucket.via != "eventbridge":
            notifications.attach(document, entry, "", bucket.part)
    except notifications.Overlap as error:
        yield _error(name, "another entry takes its events", str(error))
    for arn in {arn for arn, each in notifications.entries(document) if each.get("Id") != entry}:
        if not _exists(arn, aws):
            found = f"{arn}, to which an entry of its notifications sends, does not exist"
            hint = "remove that entry: with kms_key S3 refuses every change until then"
            yield Finding("deploy", name, "warn", found, hint)
    yield _ok(name)


def _exists(arn: str, aws: Aws) -> bool:
    """Return True if a queue, topic or function exists."""
    _, _, service, _, account, name = arn.split(":", 5)
    try:
        with aws_errors():
            if service == "sqs":
                aws.sqs.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=account)
            elif service == "lambda":
                aws.functions.get_function_configuration(FunctionName=arn)
            else:
                aws.client("sns", attempts=3).get_topic_attributes(TopicArn=arn)
    except AwsError as error:
        if error.code not in _MISSING:
            raise
        return False
    return True


def _ok(subject: str) -> Finding:
    return Finding("deploy", subject, "ok", "nothing keeps the deploy from passing")


def _error(subject: str, found: str, hint: str, command: str = "") -> Finding:
    return Finding("deploy", subject, "error", found, hint, command)
