"""A queue with a dead-letter queue."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.delivery.retention import DEAD_DAYS, MAX_RECEIVES, RETENTION_DAYS
from bucketcast.queues import queue_names, visibility


class QueuePair(Construct):
    """`<name>` and `<name>-dead`; both `.fifo` where order is asked for.

    A function with this `timeout` reads it, in seconds, after gathering messages for the `window`.

    If the `removal_policy` retains the queues, they outlive their stack with the messages in them,
    and so do their policies: to remove one CloudFormation would empty it.
    """

    def __init__(  # noqa: PLR0913 - what a pair of queues is made of
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        timeout: int,
        removal_policy: RemovalPolicy,
        window: int = 0,
        fifo: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        queue_name, dead_name = queue_names(name, fifo=fifo)
        shared: dict[str, Any] = {
            # SQS lets only a FIFO queue carry the property, so it is absent from a standard one.
            "fifo": True if fifo else None,
            "encryption": sqs.QueueEncryption.SQS_MANAGED,
            "enforce_ssl": True,
            "removal_policy": removal_policy,
        }
        self.dead = sqs.Queue(
            self,
            "Dead",
            queue_name=dead_name,
            retention_period=Duration.days(DEAD_DAYS),
            **shared,
        )
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=queue_name,
            retention_period=Duration.days(RETENTION_DAYS),
            visibility_timeout=Duration.seconds(visibility(timeout, window=window, fifo=fifo)),
            dead_letter_queue=sqs.DeadLetterQueue(queue=self.dead, max_receive_count=MAX_RECEIVES),
            **shared,
        )
        for queue in (self.dead, self.queue):
            made = queue.node.try_find_child("Policy")
            if removal_policy != RemovalPolicy.DESTROY and isinstance(made, sqs.QueuePolicy):
                made.apply_removal_policy(RemovalPolicy.RETAIN)

    def allow_requeue(self, role: iam.IRole) -> None:
        """Allow to send what failed back, or to the dead letters; the event source may back off."""
        self.queue.grant(role, "sqs:SendMessage")
        self.dead.grant(role, "sqs:SendMessage")


def allow_service(queue: sqs.Queue, sid: str, service: str, conditions: Mapping[str, Any]) -> None:
    """Allow a service of AWS to write to a queue, under conditions on who makes it write."""
    queue.add_to_resource_policy(
        iam.PolicyStatement(
            sid=sid,
            principals=[iam.ServicePrincipal(f"{service}.amazonaws.com")],
            actions=["sqs:SendMessage"],
            resources=[queue.queue_arn],
            conditions=conditions,
        )
    )
