"""The topic that a command names."""

import click

from bucketcast.aws import deployed
from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.aws.topics.table import TopicTable
from bucketcast.cli.output import Output
from bucketcast.errors import BucketcastError
from bucketcast.topics.errors import TopicError
from bucketcast.topics.model import Topic, TopicArn

tenant_option = click.option("--tenant", default="", help="Tenant of the topic.")


class NoSuchTopicError(BucketcastError):
    """There is no such topic, or it has no queue."""


def topic_arn(name: str, tenant: str) -> TopicArn:
    if name.startswith("arn:"):
        try:
            return TopicArn.parse(name)
        except TopicError as error:
            raise click.BadParameter(str(error)) from None
    return TopicArn("", tenant, name)


def find_topic(out: Output, aws: Aws, name: str, tenant: str) -> tuple[str, Topic]:
    """Return the rules' table and the topic.

    Raises:
        NoSuchTopicError: there is none.
    """
    table = deployed.find(out.stack, aws).rules_table
    return table, read_topic(topic_arn(name, tenant), table, aws)


def read_topic(arn: TopicArn, table: str, aws: Aws) -> Topic:
    """Return a topic.

    Raises:
        NoSuchTopicError: there is none.
    """
    with aws_errors():
        topic = TopicTable(table, aws.dynamodb).topic(arn)
    if topic is None:
        whose = f" of the tenant {arn.tenant}" if arn.tenant else ""
        raise NoSuchTopicError(f"no topic {arn.name}{whose}; `bucketcast topic ls` lists them")
    return topic


def without_queue(topic: Topic) -> NoSuchTopicError:
    return NoSuchTopicError(
        f"{topic.arn} has no queue: it is not persistent, or has no push-endpoint"
    )
