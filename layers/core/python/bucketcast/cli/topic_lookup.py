"""The topic that a command names."""

import click

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.aws.deployed import Deployed
from bucketcast.aws.topics.table import TopicTable
from bucketcast.errors import BucketcastError
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import Topic, TopicArn

tenant_option = click.option("--tenant", default="", help="Tenant of the topic.")


def topic_arn(name: str, tenant: str) -> TopicArn:
    if name.startswith("arn:"):
        try:
            return TopicArn.parse(name)
        except TopicError as error:
            raise click.BadParameter(str(error)) from None
    return TopicArn("", tenant, name)


def find_topic(name: str, tenant: str, deployment: Deployed, aws: Aws) -> Topic:
    """Return the topic that a command's argument names.

    Raises:
        BucketcastError: there is none.
    """
    return read_topic(topic_arn(name, tenant), deployment, aws)


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


def without_queue(topic: Topic) -> BucketcastError:
    return BucketcastError(
        f"{topic.arn} has no queue: it is not persistent, or has no push-endpoint"
    )
