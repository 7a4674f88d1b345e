"""What happens to nobody's sight: runs of jobs that fail, and scans that cannot be started.

All of it comes into one queue, whose alarm tells. Nobody reads it but a person: a message says what
failed, and is deleted when that is dealt with.
"""

from collections.abc import Sequence
from typing import Final

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.delivery.retention import DEAD_DAYS
from bucketcast_cdk import eventbridge, nag
from bucketcast_cdk.alarms import watch_lost
from bucketcast_cdk.nested_stacks import Nesting

_ENDED_BADLY: Final = ["FAILED", "TIMEOUT", "ERROR"]


class Failures(Construct):
    """The queue `<stack>-pipeline-dead`, and what tells it of the runs of `jobs`."""

    def __init__(
        self, scope: Construct, construct_id: str, *, jobs: Sequence[str], nesting: Nesting
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=f"{stack.stack_name}-pipeline-dead",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(DEAD_DAYS),
            # Its messages are copies of what the logs say too.
            removal_policy=RemovalPolicy.DESTROY,
        )
        nag.accept_dead_letters_of_services(self.queue)
        self.queue.add_to_resource_policy(
            iam.PolicyStatement(
                sid="RulesOfThisStack",
                principals=[iam.ServicePrincipal("events.amazonaws.com")],
                actions=["sqs:SendMessage"],
                resources=[self.queue.queue_arn],
                conditions={"ArnLike": {"aws:SourceArn": eventbridge.of_stack(stack)}},
            )
        )
        eventbridge.make(
            nesting.place("Starts", "Lost", self),
            "Runs",
            name=f"{nesting.prefix}runs",
            description="Runs of the jobs that failed",
            pattern={
                "source": ["aws.glue"],
                "detail-type": ["Glue Job State Change"],
                "detail": {"jobName": list(jobs), "state": _ENDED_BADLY},
            },
            target=events.CfnRule.TargetProperty(id="lost", arn=self.queue.queue_arn),
        )
        watch_lost(
            nesting.place("Alarms", "Pipeline", self), f"{nesting.prefix}pipeline", self.queue
        )
