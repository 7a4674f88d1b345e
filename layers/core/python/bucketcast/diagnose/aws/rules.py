"""Reads rules, and which of the targets and topics that they name exist."""

from collections.abc import Iterator

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.diagnose.rules import missing_targets
from bucketcast.finding import Finding
from bucketcast.notifications.aws.rule_targets import existing_targets
from bucketcast.state.rules import Rules


def findings(deployment: Deployed, aws: Aws) -> Iterator[Finding]:
    """Check the rules and notifications of every bucket."""
    table = Rules(deployment.state_table, aws.dynamodb)
    with aws_errors():
        rules = [rule for bucket in table.buckets() for rule in table.of(bucket)]
    yield from missing_targets(rules, existing_targets(rules, deployment, aws))
