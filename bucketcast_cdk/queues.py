"""A queue with a dead-letter queue."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.delivery.retention import DEAD_DAYS, RETENTION_DAYS
from bucketcast.queues import queue_names
from bucketcast_cdk import nag
from bucketcast_cdk.removal_policy import removal_policy


class QueuePair(Construct):
    """`<name>` and `<name>-dead`; both `.fifo` where order is asked for.

    What is to `keep` outlives its stack, with the messages in it, and so do the queues' policies:
    to remove one CloudFormation would empty it, also where another has taken its place. They are
    made in `policies`, where that is another stack.
    """

    def __init__(  # noqa: PLR0913 - what a pair of queues is made of
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        fifo: bool,
        visibility: Duration,
        max_receive_count: int,
        keep: bool,
        policies: Construct | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        policy = removal_policy(keep=keep)
        names = queue_names(name, fifo=fifo)
        # SQS lets only a FIFO queue carry the property, so it is absent from a standard one.
        order = True if fifo else None
        self.dead = sqs.Queue(
            self,
            "Dead",
            queue_name=names[1],
            fifo=order,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=policies is None,
            retention_period=Duration.days(DEAD_DAYS),
            removal_policy=policy,
        )
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=names[0],
            fifo=order,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=policies is None,
            retention_period=Duration.days(RETENTION_DAYS),
            removal_policy=policy,
            visibility_timeout=visibility,
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.dead, max_receive_count=max_receive_count
            ),
        )
        for queue in (self.dead, self.queue):
            own = queue.node.try_find_child("Policy")
            made = _refuse_plain_http(policies, queue) if policies else own
            if keep and isinstance(made, sqs.QueuePolicy):
                made.apply_removal_policy(RemovalPolicy.RETAIN)


def _refuse_plain_http(scope: Construct, queue: sqs.Queue) -> sqs.QueuePolicy:
    """Return what `enforce_ssl` does, in another stack than the queue's."""
    nag.accept_policy_elsewhere(queue)
    made = sqs.QueuePolicy(scope, f"{queue.node.id}Policy", queues=[queue])
    made.document.add_statements(
        iam.PolicyStatement(
            sid="PlainHttp",
            effect=iam.Effect.DENY,
            principals=[iam.AnyPrincipal()],
            actions=["sqs:*"],
            resources=[queue.queue_arn],
            conditions={"Bool": {"aws:SecureTransport": "false"}},
        )
    )
    return made
