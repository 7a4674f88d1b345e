"""What the subscriptions of topics need: a table of their events, a queue, and its function."""

from typing import Final

import msgspec
from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from constructs import Construct

from bucketcast.aws.runtime.items import PARTITION
from bucketcast.aws.runtime.orphans import PULL
from bucketcast.aws.topics.stored_events import EXPIRES, KEY, SORT_KEY
from bucketcast.runtime.model import pull_queue
from bucketcast_cdk import tables
from bucketcast_cdk.alarms import Watched, watch
from bucketcast_cdk.context import Context
from bucketcast_cdk.function import Function
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.permissions import allow, leading_keys
from bucketcast_cdk.queues import QueuePair

_MEMORY: Final = 256
_TIMEOUT: Final = 60


class Pull(Construct):
    """One table, one queue and one function for all subscriptions of a stack."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        context: Context,
        *,
        prefix: str,
        ingest: Ingest,
    ) -> None:
        super().__init__(scope, construct_id)
        config, nesting = context.config, context.nesting
        name = pull_queue(prefix)
        self.table = tables.make(
            self, "Events", context, key=KEY, sort_key=SORT_KEY, expires=EXPIRES
        )
        # A deploy that takes it away is refused while there are subscriptions.
        queues = QueuePair(
            self, "Queues", name=name, timeout=_TIMEOUT, removal_policy=RemovalPolicy.DESTROY
        )
        made = Function(
            self,
            "Store",
            context,
            name=name,
            folder="dispatch",
            entry="pull",
            layers=context.assets.shared(),
            environment={
                "BUCKETCAST_RULES_TABLE": ingest.rules.table_name,
                "BUCKETCAST_EVENTS_TABLE": self.table.table_name,
                "BUCKETCAST_QUEUE_URL": queues.queue.queue_url,
                "BUCKETCAST_DEAD_QUEUE_URL": queues.dead.queue_url,
                "BUCKETCAST_TOPICS": msgspec.json.encode(config.topics).decode(),
            },
            memory=_MEMORY,
            timeout=Duration.seconds(_TIMEOUT),
            queued=True,
        )
        ingest.feeds([queues.queue])
        queues.allow_requeue(made.role)
        self.table.grant(made.role, "dynamodb:BatchWriteItem")
        topics = leading_keys(PARTITION)
        allow(made.role, ["dynamodb:GetItem"], [ingest.rules.table_arn], topics)
        made.read(queues.queue, max_concurrency=config.runtime.max_concurrency)
        about = {"service": "dispatch", "target": PULL}
        self.watched = Watched(
            f"{nesting.prefix}runtime-pull", queues.queue, queues.dead, made.function, about
        )
        watch(nesting.scope_for("Alarms", "Runtime-pull", queues), self.watched)

    def allow_reading(self, role: iam.IRole) -> None:
        """Allow a role to read and acknowledge events."""
        self.table.grant(
            role,
            "dynamodb:BatchGetItem",
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
        )
