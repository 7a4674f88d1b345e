"""Check that rules and notifications have existing targets and topics, and events that arrive."""

import shlex
from collections.abc import Collection, Iterable, Iterator

from bucketcast.deployment import Deployed
from bucketcast.finding import Finding
from bucketcast.notifications.topic_configuration import is_notification
from bucketcast.rules import Rule

CHECK = "rule"


def missing_targets(rules: Iterable[Rule], existing: Collection[str]) -> Iterator[Finding]:
    """Yield a finding for each rule whose target or topic is not among the existing ARNs."""
    for rule in rules:
        if rule.arn not in existing:
            yield _missing(rule)


def not_logged(rules: Iterable[Rule], deployment: Deployed) -> Iterator[Finding]:
    """Yield a finding for each rule with events that only CloudTrail reports, and does not log."""
    for rule in rules:
        if hint := deployment.not_logged(rule.bucket, rule.events):
            found = f"rule {rule.id} has events that no trail of the deploy logs"
            hint += "; nothing is wrong if another trail logs them"
            yield Finding(CHECK, rule.bucket, "warn", found, hint)


def _missing(rule: Rule) -> Finding:
    kind, id_, problem, repair = "rule", rule.id, "does not exist", "create the target again"
    command = f"bucketcast event rm {rule.bucket} --id {rule.id}"
    if is_notification(rule):
        kind, id_, problem = "notification", rule.name, "does not exist or has no endpoint"
        repair = "create the topic with an endpoint"
        command = (
            f"bucketcast notification rm --bucket {rule.bucket} "
            f"--notification-id {shlex.quote(rule.name)}"
        )
    return Finding(
        CHECK,
        rule.bucket,
        "error",
        f"{kind} {id_} names {rule.arn}, which {problem}: its events are dropped",
        f"{repair}, or remove the {kind}",
        command,
    )
