"""Rules and notifications: whether what they name exists."""

import shlex
from collections.abc import Collection, Iterable, Iterator

from bucketcast.finding import Finding
from bucketcast.notifications.topic_configuration import is_notification
from bucketcast.rules import Rule

CHECK = "rule"


def missing_targets(rules: Iterable[Rule], existing: Collection[str]) -> Iterator[Finding]:
    """Yield the rules that name none of the existing targets and topics, by ARN."""
    for rule in rules:
        if rule.arn not in existing:
            yield _missing(rule)


def _missing(rule: Rule) -> Finding:
    what, id_, fault, cure = "rule", rule.id, "does not exist", "create the target again"
    command = f"bucketcast event rm {rule.bucket} --id {rule.id}"
    if is_notification(rule):
        what, id_, fault = "notification", rule.name, "does not exist or has no endpoint"
        cure = "create the topic with an endpoint"
        command = (
            f"bucketcast notification rm --bucket {rule.bucket} "
            f"--notification-id {shlex.quote(rule.name)}"
        )
    return Finding(
        CHECK,
        rule.bucket,
        "error",
        f"{what} {id_} names {rule.arn}, which {fault}: its events are dropped",
        f"{cure}, or remove the {what}",
        command,
    )
