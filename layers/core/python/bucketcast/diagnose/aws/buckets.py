"""Read the buckets' connections to the ingress queue, and their rules."""

from collections.abc import Iterator

from bucketcast.aws.clients import Aws
from bucketcast.deployment import Deployed
from bucketcast.diagnose.aws import run_parallel
from bucketcast.diagnose.buckets import check_bucket, missing_bucket
from bucketcast.diagnose.rules import missing_targets, not_logged
from bucketcast.finding import Finding
from bucketcast.notifications.aws.attachments import Attachments
from bucketcast.notifications.aws.checks import existing_targets
from bucketcast.notifications.aws.ingress import EventRules
from bucketcast.notifications.not_sent import not_sent
from bucketcast.state.rules import Rules


def findings(deployment: Deployed, aws: Aws) -> Iterator[Finding]:
    """Check each bucket of the configuration, and each other that is attached or has rules."""
    attachments = Attachments(deployment, aws)
    existing = set(aws.bucket_names())
    rules = Rules(deployment.state_table, aws.dynamodb).active()
    event_rules = EventRules(attachments.ingress, aws).states()

    def check(bucket: str) -> Iterator[Finding]:
        deployed = deployment.buckets.get(bucket, "")
        if bucket not in existing:
            yield missing_bucket(bucket, deployed)
            return
        status, state = attachments.read_status(bucket), event_rules.get(bucket, "")
        named = [rule for rule in rules if rule.bucket == bucket]
        if finding := check_bucket(status, deployed, state, has_rules=bool(named)):
            yield finding
        if reason := not_sent(named, status.parts if status.via else [], deployment.buckets):
            yield Finding("rule", bucket, "warn", "rules ask for events that do not come", reason)

    yield from run_parallel(check, sorted(existing | deployment.buckets.keys()))


def rule_findings(deployment: Deployed, aws: Aws) -> Iterator[Finding]:
    """Check the rules and notifications of every bucket."""
    rules = Rules(deployment.state_table, aws.dynamodb).active()
    yield from missing_targets(rules, existing_targets(rules, deployment, aws))
    yield from not_logged(rules, deployment)
