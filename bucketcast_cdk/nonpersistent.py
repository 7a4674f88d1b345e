"""The queue that the non-persistent topics of a kind share; their events have one attempt each."""

from typing import Final

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.delivery.queue_names import once_queue
from bucketcast.limits import ONCE_DAYS, TIMEOUTS_ONCE
from bucketcast.topics.model import KINDS
from bucketcast_cdk import nag
from bucketcast_cdk.assets import Context
from bucketcast_cdk.function import Function

TOPIC_KINDS: Final = frozenset(KINDS.values())


class NonPersistentQueue(Construct):
    """One queue, which calls the function of the kind.

    It has no dead letters: a failed event is lost, and is counted.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        context: Context,
        *,
        prefix: str,
        kind: str,
        function: Function,
    ) -> None:
        super().__init__(scope, construct_id)
        options = context.config.dynamic_targets
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=once_queue(prefix, kind),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(ONCE_DAYS),
            removal_policy=RemovalPolicy.DESTROY,
            visibility_timeout=Duration.seconds(TIMEOUTS_ONCE * options.timeout),
        )
        nag.accept(self.queue, nag.NO_DEAD_LETTERS)
        # Lambda refuses a timeout above the queue's visibility timeout, so the queue comes first.
        function.function.node.add_dependency(self.queue)
        function.read(self.queue, max_concurrency=options.max_concurrency)
