"""The topic that a command names."""

import click

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment import Deployed
from bucketcast.destination import TopicArn
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
