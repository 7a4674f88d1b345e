"""Which of the targets and topics that rules name exist."""

from collections.abc import Iterable

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.destination import TopicArn
from bucketcast.rules import Rule
from bucketcast.topics.aws.table import TopicTable


def existing_targets(rules: Iterable[Rule], deployment: Deployed, aws: Aws) -> set[str]:
    """Return the ARNs of the deployment's targets, and of named topics that have an endpoint."""
    topics = TopicTable(deployment.state_table, aws.dynamodb)
    named = {rule.to for rule in rules}
    with aws_errors():
        found = filter(None, (topics.topic(to) for to in named if isinstance(to, TopicArn)))
        pushed = {topic.arn for topic in found if topic.kind}
    return pushed | {target.arn for target in deployment.targets}
