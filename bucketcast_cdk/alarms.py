"""The alarms of a queue and its function, and who is notified of them."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from aws_cdk import Annotations, CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.config import AlarmOptions
from bucketcast.config.alarms import NOBODY
from bucketcast.delivery import alarms

_IDS: Final = {
    "dead": "DeadLetters",
    "waiting": "Waiting",
    "unread": "Unread",
    "in-flight": "InFlight",
    "failing": "Failing",
    "throttled": "Throttled",
}


class Watched(NamedTuple):
    """A queue, its dead letters, and the function that reads it.

    `name` is what its alarms are called by, `about` the dimensions of the function's own metrics.
    """

    name: str
    queue: sqs.Queue
    dead: sqs.Queue
    function: lambda_.Function
    about: Mapping[str, str]


def watch(scope: Construct, it: Watched, *, paused: bool = False) -> None:
    """Make the five alarms of a queue, `<name>-…`; `paused`: its events are meant to wait."""
    stack, names = Stack.of(scope).stack_name, (it.queue.queue_name, it.dead.queue_name)
    for each in alarms.of_queue(stack, it.name, *names, it.about, paused=paused):
        _make(scope, it.name, each)
    watch_function(scope, it.name, it.function)


def watch_function(scope: Construct, name: str, function: lambda_.Function) -> None:
    """Make the alarm of a function that breaks off, `<name>-failing`."""
    _make(scope, name, alarms.of_function(name, function.function_name))


def watch_called(scope: Construct, name: str, function: lambda_.Function) -> None:
    """Make the alarms of a function that is called without a queue, `<name>-…`."""
    watch_function(scope, name, function)
    watch_throttled(scope, name, function)


def watch_throttled(scope: Construct, name: str, function: lambda_.Function) -> None:
    """Make the alarm of a function whose calls are turned away, `<name>-throttled`."""
    _make(scope, name, alarms.of_calls(name, function.function_name))


def watch_lost(scope: Construct, name: str, queue: sqs.Queue) -> None:
    """Make the alarm of a queue of what could not be done, `<name>-dead`."""
    _make(scope, name, alarms.of_lost(queue.queue_name, queue.queue_name))


def _make(scope: Construct, name: str, it: alarms.Alarm) -> None:
    cloudwatch.Alarm(
        scope,
        _IDS[it.part],
        alarm_name=f"{name}-{it.part}",
        metric=cloudwatch.Metric(
            namespace=it.namespace,
            metric_name=it.metric,
            dimensions_map=dict(it.dimensions),
            period=Duration.seconds(it.period),
            statistic=it.statistic,
            unit=cloudwatch.Unit(it.unit.upper()) if it.unit else None,
        ),
        threshold=it.threshold,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        evaluation_periods=it.among,
        datapoints_to_alarm=it.at_least,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        alarm_description=it.description,
    )


class Pager(Construct):
    """Notifies a topic of every alarm of the stack, when it fires and when it ends."""

    def __init__(self, scope: Construct, construct_id: str, options: AlarmOptions) -> None:
        super().__init__(scope, construct_id)
        topic = self.topic = (
            sns.Topic.from_topic_arn(self, "Topic", options.topic)
            if options.topic
            else self._make(options.email)
        )
        action = actions.SnsAction(topic)
        for found in scope.node.find_all():
            if isinstance(found, cloudwatch.Alarm):
                found.add_alarm_action(action)
                found.add_ok_action(action)

    def _make(self, email: str) -> sns.ITopic:
        """Return a topic that is encrypted by a key of its own: CloudWatch may not use SNS's."""
        cloudwatch_itself = iam.ServicePrincipal("cloudwatch.amazonaws.com")
        ours = {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
        key = kms.Key(
            self,
            "Key",
            description=f"{Stack.of(self).stack_name}: what the alarms send",
            enable_key_rotation=True,
            # Nothing is kept that it has encrypted.
            removal_policy=RemovalPolicy.DESTROY,
            pending_window=Duration.days(7),
        )
        key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[cloudwatch_itself],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],  # in a key's own policy: this key
                conditions=ours,
            )
        )
        topic = sns.Topic(self, "Topic", master_key=key, enforce_ssl=True)
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[cloudwatch_itself],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions=ours,
            )
        )
        topic.add_subscription(subscriptions.EmailSubscription(email))
        return topic


def page(scope: Construct, options: AlarmOptions | None, *, local: bool) -> None:
    """Let all alarms created so far notify the configured topic or address; warn if there is none.

    Alarms of run-time targets notify the same topic, by the output `AlarmTopic`.
    """
    if options:
        pager = Pager(scope, "Pager", options)
        CfnOutput(scope, "AlarmTopic", value=pager.topic.topic_arn)
    elif not local:
        Annotations.of(scope).add_warning_v2("bucketcast:nobody-is-paged", NOBODY)
