"""Which of the targets and topics that rules name exist."""

from collections.abc import Iterable

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.aws.deployed import Deployed
from bucketcast.aws.topics.table import TopicTable
from bucketcast.rules import Rule
from bucketcast.topics.model import TopicArn, is_topic


def existing_targets(rules: Iterable[Rule], deployment: Deployed, aws: Aws) -> set[str]:
    """Return the ARNs of the deployment's targets, and of named topics that have an endpoint."""
    topics = TopicTable(deployment.state_table, aws.dynamodb)
    named = {rule.arn for rule in rules if is_topic(rule.arn)}
    with aws_errors():
        found = {arn: topics.topic(TopicArn.parse(arn)) for arn in named}
    existing = {arn for arn, topic in found.items() if topic and topic.kind}
    return existing | {target.arn for target in deployment.targets}
