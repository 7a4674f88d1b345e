"""The topics of a deployment, from a terminal or the gateway."""

from bucketcast.aws import deployed
from bucketcast.aws.clients import Aws
from bucketcast.aws.runtime.alarms import Alarms
from bucketcast.aws.runtime.factory import NoRuntimeError
from bucketcast.aws.runtime.resources import Resources
from bucketcast.aws.runtime.table import Table
from bucketcast.aws.runtime.targets import RuntimeTargets
from bucketcast.aws.topics.table import TopicTable
from bucketcast.aws.topics.topics import Topics


def topics_of(stack: str, table: str, aws: Aws) -> Topics:
    """Return the topics of a deployment.

    Raises:
        NoRuntimeError: its version does not support run-time targets.
        BucketcastError: the stack does not exist, or AWS does not answer.
    """
    runtime = deployed.runtime(stack, aws)
    if runtime is None:
        raise NoRuntimeError(f"the stack {stack} is older than topics are: deploy it again")
    resources = Resources(runtime, aws.sqs, aws.mappings, aws.secretsmanager)
    alarms = Alarms(aws.cloudwatch, stack, runtime.topic)
    targets = RuntimeTargets(runtime, Table(table, aws.dynamodb), resources, alarms)
    return Topics(TopicTable(table, aws.dynamodb), runtime, targets, resources)
