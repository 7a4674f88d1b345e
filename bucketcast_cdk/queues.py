"""A queue with a dead-letter queue."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.delivery import policy
from bucketcast.delivery.queue_names import dead_of
from bucketcast.limits import DEAD_DAYS, MAX_RECEIVES, MESSAGE_BYTES, RETENTION_DAYS


class QueuePair(Construct):
    """A queue of this `name`, FIFO if that ends with `.fifo`, and its dead letters.

    A function reads it that has this `timeout` in seconds and gathers messages for the `window`,
    which a FIFO queue does not have.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        timeout: int,
        removal_policy: RemovalPolicy,
        window: int = 0,
    ) -> None:
        super().__init__(scope, construct_id)
        self.window = policy.window(name, window)
        dead = dead_of(name)
        self.dead = make_queue(self, "Dead", dead, DEAD_DAYS, removal_policy=removal_policy)
        self.queue = make_queue(
            self,
            "Queue",
            name,
            RETENTION_DAYS,
            visibility_timeout=Duration.seconds(
                policy.visibility(name, timeout, gathered=self.window)
            ),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=MAX_RECEIVES),
            removal_policy=removal_policy,
        )

    def allow_requeue(self, role: iam.IRole) -> None:
        """Allow to send failed events back, or to the dead letters; the mapping grants the rest."""
        self.queue.grant(role, "sqs:SendMessage")
        self.dead.grant(role, "sqs:SendMessage")


def make_queue(
    scope: Construct, construct_id: str, name: str, days: int, **properties: Any
) -> sqs.Queue:
    """Make a queue that keeps messages for so many days."""
    return sqs.Queue(
        scope,
        construct_id,
        queue_name=name,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=Duration.days(days),
        max_message_size_bytes=MESSAGE_BYTES,
        **properties,
    )


def allow_service(queue: sqs.Queue, sid: str, service: str, conditions: Mapping[str, Any]) -> None:
    """Allow a service of AWS to write to a queue, under conditions on the source of the call."""
    queue.add_to_resource_policy(
        iam.PolicyStatement(
            sid=sid,
            principals=[iam.ServicePrincipal(f"{service}.amazonaws.com")],
            actions=["sqs:SendMessage"],
            resources=[queue.queue_arn],
            conditions=conditions,
        )
    )
