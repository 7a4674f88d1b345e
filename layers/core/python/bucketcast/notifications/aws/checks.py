"""Checks of buckets and rules: connected buckets, existing targets, readable objects."""

import json
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, Final

from bucketcast.aws.clients import Aws, AwsError, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.destination import Destination, TargetArn, TopicArn
from bucketcast.errors import BucketcastError, ConfigError
from bucketcast.notifications import document as notifications
from bucketcast.rules import Rule, cost
from bucketcast.rules.grammar import texts
from bucketcast.rules.sent_events import ALL, DEFAULT, WHOLE, Part
from bucketcast.state.dynamic_targets import Table

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import NotificationConfigurationResponseTypeDef

_AT_ONCE: Final = 16
_MAX_NAMED: Final = 8
_LISTED: Final = "`bucketcast target ls` and `bucketcast topic ls` list the existing ones"
_CDK_ASSETS: Final = "cdk-"
NO_BUCKET: Final = "NoSuchBucket"
"""AWS's code for a bucket that does not exist."""
_NOT_NOTIFIED: Final = "s3:Scanner:"
"""The events that need no notification of the bucket, since our own job sends them."""


def bucket_missing(bucket: str) -> str:
    """Return the reason of `why_not_attached` for a bucket that does not exist."""
    return f"bucket '{bucket}' does not exist"


def connection(bucket: str, deployed: Deployed, aws: Aws) -> tuple[str, list[Part]]:
    """Return the reason why no events of a bucket reach the stack, or "" and the parts that do.

    A missing permission to find out is a reason, too.
    """
    try:
        with aws_errors():
            configuration = aws.s3.get_bucket_notification_configuration(Bucket=bucket)
    except AwsError as error:
        if error.code == NO_BUCKET:
            return bucket_missing(bucket), []
        return f"cannot check whether {bucket} is connected: {error}", []
    # The document does not show EventBridge's rule, so trust the bucket's setting.
    if "EventBridgeConfiguration" in configuration:
        return "", [ALL]
    parts = _to_ingress(configuration, deployed.ingress_queue)
    return ("", parts) if parts else (f"bucket {bucket} is not connected to this deployment", [])


def why_not_attached(bucket: str, deployed: Deployed, aws: Aws) -> str:
    """Return the reason why not all of a bucket's events reach the stack; "" if they do."""
    why, parts = connection(bucket, deployed, aws)
    if why or any(part.is_whole for part in parts):
        return why
    return f"bucket {bucket} is connected for a part only: {'; '.join(map(str, parts))}"


def not_sent(rules: Sequence[Rule], parts: Sequence[Part], deployed: Deployed) -> str:
    """Return what to change if S3 sends none of the parts that rules of a bucket need, else ""."""
    beyond = [rule for rule in rules if all(part.with_rules([rule]) != part for part in parts)]
    if not beyond or not parts:
        return ""
    bucket, wider = rules[0].bucket, parts[0].with_rules(beyond)
    how = f"run `{attach_command(bucket, wider)}`"
    if bucket in deployed.buckets:
        lines = [
            f"{key} = {json.dumps(value)}"
            for key, value in wider._asdict().items()
            if value != getattr(parts[0], key)
        ]
        how = f"write {', '.join(lines)} into [bucket.{bucket}] of bucketcast.toml, and deploy"
    sent = "; ".join(map(str, parts))
    return f"of {bucket} S3 sends only {sent}: {how}, so that the rule gets what it asks for"


def attach_command(bucket: str, part: Part) -> str:
    """Return the command that attaches a part of a bucket."""
    given = {"event": "" if part.events == DEFAULT else ",".join(part.events)}
    options = {**given, "prefix": part.prefix, "suffix": part.suffix}
    words = [f"--{name} {shlex.quote(value)}" for name, value in options.items() if value]
    return " ".join(["bucketcast bucket attach", bucket, *words])


def not_heard(deployed: Deployed, aws: Aws) -> str:
    """Return which buckets of the account are not attached, or for a part only; "" if none.

    The pipeline's bucket and those of the CDK's assets are left out: nobody asks for their events.
    """
    own = deployed.pipeline.bucket if deployed.pipeline else ""
    buckets = [
        name for name in aws.bucket_names() if name != own and not name.startswith(_CDK_ASSETS)
    ]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reasons = list(pool.map(lambda name: why_not_attached(name, deployed, aws), buckets))
    missing = [name for name, reason in zip(buckets, reasons, strict=True) if reason]
    if not missing:
        return ""
    more = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
    return (
        f"not all events of {', '.join(missing[:_MAX_NAMED])}{more} are reported: connect a bucket "
        "with `bucketcast bucket attach BUCKET`"
    )


def notes(rules: Collection[Rule], why: str, deployment: Deployed) -> list[str]:
    """Return what keeps the events of a bucket's new rules from arriving, or repeats them.

    `why` is the reason of `connection`, or "".
    """
    (bucket,) = {rule.bucket for rule in rules}
    found = []
    events = {event for rule in rules for event in rule.events}
    if why and not all(event.startswith(_NOT_NOTIFIED) for event in events):
        found.append(
            f"{why}; connect it with `{attach_command(bucket, WHOLE.with_rules(rules))}`, or with "
            f"[bucket.{bucket}] in bucketcast.toml and a deploy"
        )
    arns = {rule.arn for rule in rules}
    found += [
        f"{target.name} itself writes into {bucket}: unless the prefix or suffix of the rule "
        "excludes what it writes, every event causes another one, endlessly and at your cost"
        for target in deployment.targets
        if target.arn in arns and target.writes == bucket
    ]
    return [*found, *filter(None, [deployment.not_logged(bucket, sorted(events))])]


def _to_ingress(
    configuration: "NotificationConfigurationResponseTypeDef", ingress_queue: str
) -> list[Part]:
    """Return the parts of the entries that write to the ingress queue."""
    # The URL ends in /ACCOUNT/NAME, the ARN in :ACCOUNT:NAME.
    ending = ":" + ":".join(ingress_queue.rstrip("/").rsplit("/", 2)[1:])
    return [
        notifications.part_of(entry)
        for entry in configuration.get("QueueConfigurations", ())
        if entry["QueueArn"].endswith(ending)
    ]


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
    if reason := not_sent(new, parts, deployment):
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
    dynamic = Table(deployment.state_table, aws.dynamodb) if deployment.dynamic else None

    @cache
    def exists(arn: str) -> bool:
        if arn in deployed or dynamic is None:
            return arn in deployed
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
