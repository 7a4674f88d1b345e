"""Check that rules and notifications have existing targets and topics, and events that arrive."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence

from bucketcast.deployment import Deployed
from bucketcast.destination import short_name
from bucketcast.finding import Finding
from bucketcast.notifications.topic_configuration import is_notification
from bucketcast.rules import Rule
from bucketcast.terminal.output import counted

CHECK = "rule"


def missing_targets(rules: Iterable[Rule], existing: Collection[str]) -> Iterator[Finding]:
    """Yield a finding for each target or topic that rules name and that is not among the ARNs."""
    missing: dict[str, list[Rule]] = {}
    for rule in rules:
        if rule.arn not in existing:
            missing.setdefault(rule.arn, []).append(rule)
    return (_missing(arn, named) for arn, named in missing.items())


def not_logged(rules: Iterable[Rule], deployment: Deployed) -> Iterator[Finding]:
    """Yield a finding for the rules with events that only CloudTrail reports, and does not log."""
    found: dict[tuple[str, str], int] = {}
    for rule in rules:
        if hint := deployment.not_logged(rule.bucket, rule.events):
            found[rule.bucket, hint] = found.get((rule.bucket, hint), 0) + 1
    for (bucket, hint), number in found.items():
        text = f"{counted(number, 'rule')} with events that no trail of the deploy logs"
        other = "nothing is wrong if another trail logs them"
        yield Finding(CHECK, bucket, "warn", text, f"{hint}; {other}")


def _missing(arn: str, rules: Sequence[Rule]) -> Finding:
    buckets = sorted({rule.bucket for rule in rules})
    noun, problem, repair = "rule", "it does not exist", "create the target again"
    commands = [f"bucketcast event rm {bucket} {short_name(arn)}" for bucket in buckets]
    if is_notification(rules[0]):
        noun, problem = "notification", "it does not exist or has no endpoint"
        repair = "create the topic with an endpoint"
        commands = [
            f"bucketcast notification rm --bucket {rule.bucket} "
            f"--notification-id {shlex.quote(rule.name)}"
            for rule in rules
        ]
    return Finding(
        CHECK,
        arn,
        "error",
        f"{problem}, and {counted(len(rules), noun)} of {', '.join(buckets)} "
        "send events to it, which are dropped",
        f"{repair}, or remove what names it",
        " && ".join(commands),
    )
