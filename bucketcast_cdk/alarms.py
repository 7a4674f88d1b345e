"""The alarms of the stack's queues, and the topic that they notify."""

from collections.abc import Iterable
from typing import NamedTuple

from aws_cdk import Annotations, CfnResource, Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.config.alarms import NO_RECIPIENT, AlarmOptions
from bucketcast.delivery import alarms
from bucketcast_cdk.outputs import output


class MonitoredQueue(NamedTuple):
    """A queue, its dead letters, and the function that reads it, unless it is `off`.

    The names of its alarms begin with `name`; `target` is what people call its target.
    """

    name: str
    target: str
    queue: sqs.Queue
    dead: sqs.Queue
    function: lambda_.Function
    off: bool = False


def make_alarms(
    scope: Construct,
    *,
    queues: Iterable[MonitoredQueue],
    failures: sqs.Queue | None,
    looking: str,
    options: AlarmOptions | None,
) -> list[str]:
    """Make the alarms of queues, of failed jobs, and of the function `looking` at buckets.

    Return their names. Alarms of dynamic targets notify the same topic, by the output `AlarmTopic`.
    No alarm notifies when it ends: each would also do so once after it is created.
    """
    within, stack = Construct(scope, "Alarms"), Stack.of(scope).stack_name
    definitions = [
        alarm
        for queue in queues
        for alarm in alarms.queue_alarms(
            stack,
            queue.name,
            queue.target,
            queue.queue.queue_name,
            queue.dead.queue_name,
            off=queue.off,
        )
    ]
    if failures:
        definitions.append(alarms.pipeline_alarm(stack, failures.queue_name))
    definitions.append(alarms.notifications_alarm(stack, looking))
    actions = [options.topic or _encrypted_topic(within, options.email)] if options else []
    for alarm in definitions:
        # The API has CloudFormation's names, so dynamic targets use the same definitions.
        CfnResource(
            within,
            alarm["AlarmName"],
            type="AWS::CloudWatch::Alarm",
            properties={**alarm, **({"AlarmActions": actions} if actions else {})},
        )
    if actions:
        output(scope, "AlarmTopic", actions[0])
    else:
        Annotations.of(scope).add_warning_v2("bucketcast:nobody-is-paged", NO_RECIPIENT)
    return [alarm["AlarmName"] for alarm in definitions]


def _encrypted_topic(scope: Construct, email: str) -> str:
    """Return the ARN of a topic with a key of its own: CloudWatch may not use SNS's."""
    cloudwatch = iam.ServicePrincipal("cloudwatch.amazonaws.com")
    this_account = {"StringEquals": {"aws:SourceAccount": Stack.of(scope).account}}
    key = kms.Key(
        scope,
        "Key",
        description=f"{Stack.of(scope).stack_name}: what the alarms send",
        enable_key_rotation=True,
        # Nothing that it encrypts is kept.
        removal_policy=RemovalPolicy.DESTROY,
        pending_window=Duration.days(7),
    )
    key.add_to_resource_policy(
        iam.PolicyStatement(
            principals=[cloudwatch],
            actions=["kms:Decrypt", "kms:GenerateDataKey*"],
            resources=["*"],  # in a key's own policy: this key
            conditions=this_account,
        )
    )
    topic = sns.Topic(scope, "Topic", master_key=key, enforce_ssl=True)
    topic.add_to_resource_policy(
        iam.PolicyStatement(
            principals=[cloudwatch],
            actions=["sns:Publish"],
            resources=[topic.topic_arn],
            conditions=this_account,
        )
    )
    topic.add_subscription(subscriptions.EmailSubscription(email))
    return topic.topic_arn
