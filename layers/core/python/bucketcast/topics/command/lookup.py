"""The topic that a command names."""

import click

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment import Deployed, DeployedTarget
from bucketcast.destination import TargetArn, TopicArn
from bucketcast.errors import BucketcastError
from bucketcast.topics.aws.table import TopicTable
from bucketcast.topics.model import Topic

tenant_option = click.option("--tenant", default="", help="Tenant of the topic.")


def topic_arn(name: str, tenant: str) -> TopicArn:
    if name.startswith("arn:"):
        try:
            return TopicArn.parse(name)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return TopicArn("", tenant, name)


def read_topic(arn: TopicArn, deployment: Deployed, aws: Aws) -> Topic:
    """Return a topic.

    Raises:
        BucketcastError: there is none.
    """
    with aws_errors():
        topic = TopicTable(deployment.state_table, aws.dynamodb).topic(arn)
    if topic is None:
        whose = f" of the tenant {arn.tenant}" if arn.tenant else ""
        raise BucketcastError(f"no topic {arn.name}{whose}; `bucketcast topic ls` lists them")
    return topic


def topic_target(arn: TopicArn, deployment: Deployed, aws: Aws) -> DeployedTarget:
    """Return the run-time target of a topic.

    Raises:
        BucketcastError: there is no such topic, or it has no queue of its own.
    """
    topic = read_topic(arn, deployment, aws)
    if not topic.target_arn:
        raise BucketcastError(
            f"{topic.arn} has no queue: it is not persistent, or has no push-endpoint"
        )
    return deployment.target(TargetArn.parse(topic.target_arn))
