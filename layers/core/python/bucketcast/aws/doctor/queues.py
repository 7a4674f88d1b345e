"""Reads the queues' attributes, and from the same answer AWS's clock."""

import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from bucketcast.attach import notifications
from bucketcast.aws.attach.ingress import Ingress
from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.aws.deployed import Deployed
from bucketcast.aws.doctor import arn_beside, at_once, unless_missing, unless_unread
from bucketcast.doctor import Finding
from bucketcast.doctor import clock as clocks
from bucketcast.doctor import queues as checks

if TYPE_CHECKING:
    from mypy_boto3_sqs.literals import QueueAttributeNameType

_S3, _EVENTS = "s3.amazonaws.com", "events.amazonaws.com"
_MISSING = ("AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist")
_READ: "list[QueueAttributeNameType]" = [
    "QueueArn",
    "Policy",
    "RedrivePolicy",
    "ApproximateNumberOfMessages",
]


def clock(deployment: Deployed, aws: Aws) -> Iterator[Finding]:
    """Compare this machine's clock with the date of an answer of AWS."""
    with aws_errors():
        answer = aws.dynamodb.get_item(
            TableName=deployment.rules_table, Key={"bucket": {"S": "#clock"}, "rule": {"S": "#"}}
        )
    date = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
    if date:
        yield clocks.clock(time.time(), parsedate_to_datetime(date).timestamp())


def findings(deployment: Deployed, aws: Aws) -> list[Finding]:
    """Check each target's queues, the ingress queue, and who may write to it."""
    base = ingress_arn(deployment, aws)
    ingress = Ingress(base, "")
    _ = aws.sqs  # making a client is not safe among threads, using one is
    ingress_dead = (
        f"{deployment.ingress_queue.rpartition('/')[0]}/{ingress.dead.rpartition(':')[2]}"
    )
    pairs = [("ingress", deployment.ingress_queue, ingress_dead)]
    pairs += [(target.arn, target.queue, target.dead) for target in deployment.targets]
    wanted = [
        (subject, url, arn_beside(base, dead_url) if url == queue else "")
        for subject, queue, dead_url in pairs
        for url in (queue, dead_url)
    ]

    def checked(subject: str, url: str, dead: str) -> Iterator[Finding]:
        found = _attributes(url, aws)
        yield from checks.queue(subject, arn_beside(base, url), dead, found, deployment.kms_key)

    def one(item: tuple[str, str, str]) -> Iterator[Finding]:
        return unless_unread("queue", item[0], checked(*item))

    return [
        *at_once(one, wanted),
        *unless_unread(checks.POLICY, "ingress", _policy(ingress, deployment, aws)),
        *unless_unread(checks.KEY_POLICY, "ingress", _key_policy(ingress, deployment, aws)),
    ]


def ingress_arn(deployment: Deployed, aws: Aws) -> str:
    """Return the ARN of the ingress queue, also if it does not exist."""
    region = aws.sqs.meta.region_name
    partition = aws.sqs.meta.partition
    account, name = deployment.ingress_queue.rstrip("/").rsplit("/", 2)[1:]
    return f"arn:{partition}:sqs:{region}:{account}:{name}"


def _policy(ingress: Ingress, deployment: Deployed, aws: Aws) -> Iterator[Finding]:
    found = _attributes(deployment.ingress_queue, aws)
    if found is None:
        return
    conditions: dict[str, dict[str, Any]] = {
        _S3: {
            "StringEquals": {"aws:SourceAccount": ingress.account},
            "ArnLike": {"aws:SourceArn": ingress.bucket("*")},
        },
        _EVENTS: {"ArnLike": {"aws:SourceArn": ingress.rule(f"{deployment.stack}-*")}},
    }
    policy = found.get("Policy", "")
    for service, source in _sources(ingress, deployment):
        yield checks.policy(ingress.queue, policy, service, source, conditions[service])


def _key_policy(ingress: Ingress, deployment: Deployed, aws: Aws) -> Iterator[Finding]:
    if not deployment.kms_key:
        return
    with aws_errors():
        found = aws.kms.get_key_policy(KeyId=deployment.kms_key, PolicyName="default")
    for service, source in _sources(ingress, deployment):
        yield checks.key_policy(deployment.kms_key, found["Policy"], service, source)


def _sources(ingress: Ingress, deployment: Deployed) -> Iterator[tuple[str, str]]:
    """Yield who writes to the ingress queue: a service, and a source on whose behalf it does."""
    yield _S3, ingress.bucket("any")
    yield _EVENTS, ingress.rule(notifications.rule_name(deployment.stack, "any"))


def _attributes(url: str, aws: Aws) -> Mapping[str, str] | None:
    """Return a queue's attributes, None for one that does not exist."""
    found = unless_missing(
        lambda: aws.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=_READ), *_MISSING
    )
    return {str(name): text for name, text in found["Attributes"].items()} if found else None
