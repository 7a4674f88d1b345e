"""Checks of buckets and rules: connected buckets, existing targets, readable objects."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.destination import Destination, TargetArn, TopicArn
from bucketcast.errors import BucketcastError, ConfigError
from bucketcast.notifications import document as notifications
from bucketcast.notifications import eventbridge
from bucketcast.notifications.aws.ingress import has_rule
from bucketcast.notifications.not_sent import not_sent
from bucketcast.rules import Rule, cost
from bucketcast.rules.grammar import texts
from bucketcast.rules.sent_events import Part
from bucketcast.state.dynamic_targets import Table

_AT_ONCE: Final = 16
_MAX_NAMED: Final = 8
_LISTED: Final = "`bucketcast target ls` and `bucketcast topic ls` list the existing ones"
_CDK_ASSETS: Final = "cdk-"
NO_BUCKET: Final = "NoSuchBucket"
"""AWS's code for a bucket that does not exist."""
_NOT_NOTIFIED: Final = "s3:Scanner:"
"""The events that need no notification of the bucket, since our own job sends them."""


def bucket_missing(bucket: str) -> str:
    """Return the reason of `connection` for a bucket that does not exist."""
    return f"bucket '{bucket}' does not exist"


def connection(bucket: str, deployed: Deployed, aws: Aws) -> tuple[str, list[Part]]:
    """Return the reason why no events of a bucket reach the stack, or "" and the parts that do.

    A missing permission to find out is a reason, too.
    """
    try:
        with aws_errors():
            document = aws.s3.get_bucket_notification_configuration(Bucket=bucket)
            # Others may have switched EventBridge on.
            by_rule = notifications.sends_to_eventbridge(document) and (
                "eventbridge" in notifications.split(deployed.buckets.get(bucket, ""))
                or has_rule(eventbridge.rule_name(deployed.stack, bucket), aws)
            )
    except AwsError as error:
        if error.code == NO_BUCKET:
            return bucket_missing(bucket), []
        return f"cannot check whether {bucket} is connected: {error}", []
    # The URL ends in /ACCOUNT/NAME, the ARN in :ACCOUNT:NAME.
    ending = ":" + ":".join(deployed.ingress_queue.rstrip("/").rsplit("/", 2)[1:])
    parts = notifications.arriving(document, ending, by_rule=by_rule)
    return ("", parts) if parts else (f"bucket {bucket} is not connected to this deployment", [])


def why_not_heard(asked: Sequence[Rule], deployed: Deployed, aws: Aws) -> str:
    """Return the reason why not all that is asked for of a bucket arrives; "" if it does."""
    bucket = asked[0].bucket
    why, parts = connection(bucket, deployed, aws)
    if why:
        return f"{why}; connect it with `bucketcast bucket attach {bucket}`"
    return not_sent(asked, parts, deployed.buckets)


def not_heard(asked: Callable[[str], Rule], deployed: Deployed, aws: Aws) -> str:
    """Return of which buckets of the account not all arrives that is asked for; "" if none.

    The pipeline's bucket and those of the CDK's assets are left out: nobody asks for their events.
    """
    own = deployed.pipeline.bucket if deployed.pipeline else ""
    buckets = [
        name for name in aws.bucket_names() if name != own and not name.startswith(_CDK_ASSETS)
    ]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reasons = list(pool.map(lambda name: why_not_heard([asked(name)], deployed, aws), buckets))
    missing = [name for name, reason in zip(buckets, reasons, strict=True) if reason]
    if not missing:
        return ""
    more = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
    return (
        f"not all events of {', '.join(missing[:_MAX_NAMED])}{more} are reported: connect a bucket "
        "with `bucketcast bucket attach BUCKET`"
    )


def notes(rules: Collection[Rule], why: str, deployment: Deployed) -> list[str]:
    """Return what keeps the events of a bucket's new rules from arriving.

    `why` is the reason of `connection`, or "".
    """
    (bucket,) = {rule.bucket for rule in rules}
    found = []
    events = {event for rule in rules for event in rule.events}
    if why and not all(event.startswith(_NOT_NOTIFIED) for event in events):
        found.append(
            f"{why}; connect it with `bucketcast bucket attach {bucket}`, or with "
            f"[bucket.{bucket}] in bucketcast.toml and a deploy"
        )
    return [*found, *filter(None, [deployment.not_logged(bucket, sorted(events))])]


def problems(
    new: Sequence[Rule],
    after: Iterable[Rule],
    parts: Sequence[Part],
    deployment: Deployed,
    aws: Aws,
) -> Iterator[ConfigError]:
    """Yield why rules of a bucket cannot become active; `after` are all that it then has.

    `parts` are those of `connection`.
    """
    table = Table(deployment.state_table, aws.dynamodb)
    for bucket, arn in sorted({(rule.bucket, rule.arn) for rule in new}):
        destination = Destination.of(arn)
        if isinstance(destination, TargetArn):
            try:
                deployment.target(destination)
            except BucketcastError as error:
                yield ConfigError(f"{bucket}: arn", str(error), _LISTED)
        elif not (isinstance(destination, TopicArn) and table.topic(destination)):
            yield ConfigError(f"{bucket}: arn", f"found no topic {arn}", _LISTED)
    if reason := next(filter(None, (missing_permission(rule, deployment) for rule in new)), ""):
        yield ConfigError(f"{new[0].bucket}: conditions", "not readable", reason)
    if reason := not_sent(new, parts, deployment.buckets):
        yield ConfigError(f"{new[0].bucket}: events", "not sent", reason)
    active = [rule for rule in after if not rule.disabled]
    try:
        cost.check(active)
    except BucketcastError as error:
        yield ConfigError(f"{active[0].bucket}: rules", "too large", str(error))
    ids = Counter((rule.name, rule.arn) for rule in active if isinstance(rule.to, TopicArn))
    for (id_, arn), number in ids.items():
        if number > 1:  # a client that merges or writes back notifications would keep one
            found = f"found {number} active notifications {id_} of {arn}"
            yield ConfigError(f"{active[0].bucket}: name", found, "allowed is one")


def missing_permission(rule: Rule, deployment: Deployed) -> str:
    """Return an error with a hint if ingest may not read the rule's objects, else "".

    Conditions on unknown facts hold, so the rule would match all events.
    """
    condition = next((condition for condition in rule.conditions if condition.needs_object), None)
    if condition is None or deployment.looks_into(rule.bucket):
        return ""
    hint = (
        f"[bucket.{rule.bucket}]"
        if deployment.object_facts
        else f'object_facts = "on" and [bucket.{rule.bucket}]'
    )
    return (
        f"{texts(condition)[0]} needs facts about the object, and ingest may not read "
        f"objects of {rule.bucket}: put {hint} into bucketcast.toml and deploy; "
        'object_facts = "all" is for every bucket of the account'
    )


def queue_targets(deployment: Deployed, aws: Aws) -> Callable[[str], bool]:
    """Return a function that returns True for an ARN that a `QueueConfiguration` may name.

    These are all targets except those of topics. A dynamic target is read when its ARN is given,
    since a stack may have many, with long settings.
    """
    deployed = {target.arn for target in deployment.targets}
    dynamic = Table(deployment.state_table, aws.dynamodb)

    @cache
    def exists(arn: str) -> bool:
        if arn in deployed:
            return True
        target = dynamic.get(Destination.of(arn).key)
        return target is not None and target.state != "kept"

    return exists


def existing_targets(rules: Iterable[Rule], deployment: Deployed, aws: Aws) -> set[str]:
    """Return the ARNs of all targets, and of the rules' topics that have an endpoint."""
    table = Table(deployment.state_table, aws.dynamodb)
    destinations = {rule.to for rule in rules}
    with aws_errors():
        topics_found = filter(
            None,
            (
                table.topic(destination)
                for destination in destinations
                if isinstance(destination, TopicArn)
            ),
        )
        pushed = {topic.arn for topic in topics_found if topic.kind}
    return pushed | {target.arn for target in deployment.targets}
