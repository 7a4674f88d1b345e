"""Ingest: the ingress queue, the state table, and the function that fills the targets' queues."""

import zlib
from collections.abc import Iterable, Sequence

from aws_cdk import Duration, Fn, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast import limits
from bucketcast.listen.listener import queue_prefix
from bucketcast.settings.environment import DeployedTargets
from bucketcast.state.table import EXPIRES, PARTITION_KEY, SORT_KEY
from bucketcast_cdk import eventbridge
from bucketcast_cdk.alarms import MonitoredQueue
from bucketcast_cdk.assets import Context
from bucketcast_cdk.function import Function
from bucketcast_cdk.permissions import allow, allow_counting, arn, bucket_arn
from bucketcast_cdk.queues import QueuePair, allow_service


class Ingest(Construct):
    """One queue that every source writes to, one function that matches rules and fans out."""

    def __init__(self, scope: Construct, construct_id: str, context: Context) -> None:
        super().__init__(scope, construct_id)
        config = context.config
        self._stack = Stack.of(self).stack_name
        self._queue_end = config.queue_end
        queues = QueuePair(
            self,
            "Ingress",
            name=f"{self._stack}-ingress",
            timeout=limits.INGEST_TIMEOUT_SECONDS,
            window=config.ingest_window,
            removal_policy=context.removal_policy,
        )
        self.queue, self.dead = queues.queue, queues.dead
        self._allow_s3(config.source.accounts)
        self._subscribe(config.source.topics)
        for queue in (self.queue, self.dead):
            eventbridge.allow_writing(queue)
        self.table = self._table(context)
        function = Function(
            self,
            "Ingest",
            context,
            name=f"{self._stack}-ingest",
            folder="ingest",
            environment={
                "BUCKETCAST_STATE_TABLE": self.table.table_name,
                "BUCKETCAST_TARGET_QUEUES": self.target_queues,
                "BUCKETCAST_INGRESS_DEAD_QUEUE_URL": self.dead.queue_url,
                "BUCKETCAST_OBJECT_FACTS": config.facts.to_text(),
                "BUCKETCAST_TARGETS": DeployedTargets.of(
                    str(target.arn) for target in config.targets
                ).to_text(),
            },
            memory=limits.INGEST_MEMORY_MB,
            timeout=Duration.seconds(limits.INGEST_TIMEOUT_SECONDS),
            reserved=config.ingest.reserved_concurrency or None,
            queued=True,
        )
        self.monitored = MonitoredQueue(
            f"{self._stack}-ingress", "ingress", self.queue, self.dead, function.function
        )
        self._role = function.role
        self.table.grant(
            function.role, "dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"
        )
        allow_counting(function.role, self.table)
        queues.allow_requeue(function.role)
        # Listeners are temporary: their queues are known by the beginning of their names.
        self.allow_writing(self.listeners)
        self._allow_object_facts(sorted(config.facts.buckets))
        function.read(
            self.queue,
            batch_size=limits.INGEST_WINDOW_MESSAGES
            if config.ingest_window
            else limits.BATCH_MESSAGES,
            window=config.ingest_window,
            max_concurrency=config.ingest.max_concurrency,
        )

    @property
    def target_queues(self) -> str:
        """The URL of every target's queue, with a `*`: `https://…/Bucketcast-*`."""
        return f"{self.queues}/{self._stack}-*{self._queue_end}"

    @property
    def queues(self) -> str:
        """The URL of every queue but for its name: `https://sqs.…/123456789012`."""
        return Fn.select(0, Fn.split(f"/{self._stack}-ingress", self.queue.queue_url))

    @property
    def listeners(self) -> str:
        """The ARN of all listeners' queues, with a `*`."""
        return arn(self, "sqs", f"{queue_prefix(self._stack)}*")

    def allow_sending(self, queues: Iterable[sqs.IQueue]) -> None:
        """Allow ingest to write to the targets' queues, and to no other."""
        for queue in queues:
            queue.grant(self._role, "sqs:SendMessage")

    def allow_writing(self, queues: str) -> None:
        """Allow ingest to write to queues that are made later, by an ARN with a `*`."""
        allow(self._role, ["sqs:SendMessage"], [queues])

    def _table(self, context: Context) -> dynamodb.Table:
        """Make the state table.

        It is not protected from deletion, or its creation could not be rolled back. If it is
        deleted by hand, DynamoDB keeps a backup for 35 days, as it does with recovery on.
        """
        text = dynamodb.AttributeType.STRING
        return dynamodb.Table(
            self,
            "StateTable",
            partition_key=dynamodb.Attribute(name=PARTITION_KEY, type=text),
            sort_key=dynamodb.Attribute(name=SORT_KEY, type=text),
            time_to_live_attribute=EXPIRES,
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            encryption=dynamodb.TableEncryption.AWS_MANAGED,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            removal_policy=context.removal_policy,
        )

    def _allow_object_facts(self, buckets: Sequence[str]) -> None:
        """Allow to read metadata and tags, and to list: else S3 hides that an object is missing."""
        names = [bucket_arn(self, bucket) for bucket in buckets]
        objects = [f"{name}/*" for name in names]
        reads = [
            "s3:GetObject",
            # Without these two a HeadObject leaves lock and hold out of its answer.
            "s3:GetObjectLegalHold",
            "s3:GetObjectRetention",
            "s3:GetObjectTagging",
            "s3:GetObjectVersion",
            "s3:GetObjectVersionTagging",
        ]
        allow(self._role, ["s3:ListBucket"], names)
        allow(self._role, reads, objects)

    def _allow_s3(self, others: Sequence[str]) -> None:
        """Allow buckets of this account to write, and of others."""
        account = Stack.of(self).account
        conditions = {
            "StringEquals": {"aws:SourceAccount": [account, *others] if others else account},
            "ArnLike": {"aws:SourceArn": bucket_arn(self, "*")},
        }
        allow_service(self.queue, "BucketsOfThisAccount", "s3", conditions)

    def _subscribe(self, topics: Sequence[str]) -> None:
        """Subscribe the ingress queue to topics by their ARNs, raw, and let them write."""
        if not topics:
            return
        allow_service(self.queue, "Topics", "sns", {"ArnEquals": {"aws:SourceArn": list(topics)}})
        for topic in topics:
            subscription = sns.CfnSubscription(
                self,
                f"Topic-{zlib.crc32(topic.encode()):08x}",
                topic_arn=topic,
                region=topic.split(":")[3],
                protocol="sqs",
                endpoint=self.queue.queue_arn,
                raw_message_delivery=True,
            )
            # Before the queue's policy exists, events that a topic sends are retried or lost.
            subscription.node.add_dependency(self.queue)
