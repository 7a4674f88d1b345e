"""The topics of a deployment, from a terminal or the gateway."""

from bucketcast import deployment as deployed
from bucketcast.aws.clients import Aws
from bucketcast.dynamic_targets.aws.factory import resources_of, targets_of
from bucketcast.errors import BucketcastError
from bucketcast.topics.aws.table import TopicTable
from bucketcast.topics.aws.topics import Topics


def topics_of(stack: str, table: str, aws: Aws) -> Topics:
    """Return the topics of a deployment.

    Raises:
        BucketcastError: the stack does not exist, its version does not support dynamic targets, or
            AWS does not answer.
    """
    setup = deployed.dynamic(stack, aws)
    if setup is None:
        raise BucketcastError(f"the stack {stack} is older than topics are: deploy it again")
    targets = targets_of(stack, table, setup, aws)
    return Topics(TopicTable(table, aws.dynamodb), setup, targets, resources_of(setup, aws))
