"""The alarms of the stack's queues, and who is notified of them."""

from collections.abc import Iterable
from typing import NamedTuple

from aws_cdk import Annotations, CfnOutput, CfnResource, Duration, RemovalPolicy, Stack
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


class Watched(NamedTuple):
    """A queue, its dead letters, and the function that reads it, unless it is `off`.

    `name` is what its alarms are called by.
    """

    name: str
    queue: sqs.Queue
    dead: sqs.Queue
    function: lambda_.Function
    off: bool = False


class Alarms(Construct):
    """The alarms of queues, and of the queue of `lost` runs, and the topic that they notify.

    `names` are what they are called. Those of dynamic targets notify the same topic, by the output
    `AlarmTopic`. None notifies when it is over: each would do that once when it is made.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        watched: Iterable[Watched],
        lost: sqs.Queue | None,
        options: AlarmOptions | None,
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self).stack_name
        made = [
            alarm
            for each in watched
            for alarm in alarms.of_queue(
                stack, each.name, each.queue.queue_name, each.dead.queue_name, off=each.off
            )
        ]
        if lost:
            text = (
                "A run of a job failed, or a scan could not be started: the queue's messages say "
                "which. Delete a message when it is dealt with."
            )
            made.append(alarms.of_lost(f"{stack}-pipeline", lost.queue_name, text))
        self.names = [each["AlarmName"] for each in made]
        actions = [self._topic(options).topic_arn] if options else []
        for each in made:
            # The API's words are CloudFormation's, so one description serves here and at run time.
            CfnResource(
                self,
                each["AlarmName"],
                type="AWS::CloudWatch::Alarm",
                properties={**each, **({"AlarmActions": actions} if actions else {})},
            )
        if actions:
            CfnOutput(scope, "AlarmTopic", value=actions[0])
        else:
            Annotations.of(scope).add_warning_v2("bucketcast:nobody-is-paged", NOBODY)

    def _topic(self, options: AlarmOptions) -> sns.ITopic:
        if options.topic:
            return sns.Topic.from_topic_arn(self, "Topic", options.topic)
        return self._encrypted(options.email)

    def _encrypted(self, email: str) -> sns.ITopic:
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
