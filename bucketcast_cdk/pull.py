"""What the subscriptions of topics need: a table of their events, a queue, and its function."""

from typing import Final

import msgspec
from aws_cdk import Duration
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda_event_sources as sources
from constructs import Construct

from bucketcast.aws.runtime.items import PARTITION
from bucketcast.aws.runtime.orphans import PULL
from bucketcast.aws.topics.stored_events import EXPIRES, KEY, SORT_KEY
from bucketcast.config import Deployment
from bucketcast.delivery.retention import MAX_RECEIVES
from bucketcast.queues import visibility
from bucketcast.runtime.model import pull_queue
from bucketcast_cdk.alarms import Watched, watch
from bucketcast_cdk.assets import Assets
from bucketcast_cdk.function import Function
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.nested_stacks import Nesting
from bucketcast_cdk.queues import QueuePair
from bucketcast_cdk.removal_policy import removal_policy

_MEMORY: Final = 256
_TIMEOUT: Final = Duration.seconds(60)


class Pull(Construct):
    """One table, one queue and one function for all subscriptions of a stack."""

    def __init__(  # noqa: PLR0913 - what it is made of
        self,
        scope: Construct,
        construct_id: str,
        *,
        prefix: str,
        config: Deployment,
        ingest: Ingest,
        assets: Assets,
        nesting: Nesting,
        local: bool,
    ) -> None:
        super().__init__(scope, construct_id)
        name = pull_queue(prefix)
        self.table = _table(self, local=local)
        # A deploy that takes it away is refused while there are subscriptions.
        queues = QueuePair(
            self,
            "Queues",
            name=name,
            fifo=False,
            visibility=Duration.seconds(visibility(int(_TIMEOUT.to_seconds()))),
            max_receive_count=MAX_RECEIVES,
            keep=False,
        )
        made = Function(
            self,
            "Store",
            name=name,
            folder="dispatch",
            entry="pull",
            assets=assets,
            layers=[assets.core(), assets.runtime()],
            environment={
                "BUCKETCAST_RULES_TABLE": ingest.rules.table_name,
                "BUCKETCAST_EVENTS_TABLE": self.table.table_name,
                "BUCKETCAST_QUEUE_URL": queues.queue.queue_url,
                "BUCKETCAST_DEAD_QUEUE_URL": queues.dead.queue_url,
                "BUCKETCAST_TOPICS": msgspec.json.encode(config.topics).decode(),
            },
            memory=_MEMORY,
            timeout=_TIMEOUT,
            queued=True,
        )
        ingest.feeds([queues.queue])
        queues.queue.grant(made.role, "sqs:SendMessage")
        queues.dead.grant(made.role, "sqs:SendMessage")
        self.table.grant(made.role, "dynamodb:BatchWriteItem")
        made.role.add_to_policy(
            iam.PolicyStatement(
                actions=["dynamodb:GetItem"],
                resources=[ingest.rules.table_arn],
                conditions={"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [PARTITION]}},
            )
        )
        made.may_loop()
        made.function.add_event_source(
            sources.SqsEventSource(
                queues.queue,
                batch_size=10,
                max_concurrency=config.runtime.max_concurrency,
                report_batch_item_failures=True,
            )
        )
        alarms_name = f"{nesting.prefix}runtime-pull"
        about = {"service": "dispatch", "target": PULL}
        place = nesting.place("Alarms", "Runtime-pull", queues)
        self.watched = Watched(alarms_name, queues.queue, queues.dead, made.function, about)
        watch(place, self.watched)

    def let_read(self, role: iam.IRole) -> None:
        """Let a role read and acknowledge events."""
        self.table.grant(
            role,
            "dynamodb:BatchGetItem",
            "dynamodb:DeleteItem",
            "dynamodb:GetItem",
            "dynamodb:PutItem",
            "dynamodb:Query",
        )


def _table(scope: Construct, *, local: bool) -> dynamodb.Table:
    return dynamodb.Table(
        scope,
        "Events",
        partition_key=dynamodb.Attribute(name=KEY, type=dynamodb.AttributeType.STRING),
        sort_key=dynamodb.Attribute(name=SORT_KEY, type=dynamodb.AttributeType.STRING),
        time_to_live_attribute=EXPIRES,
        billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
        encryption=dynamodb.TableEncryption.AWS_MANAGED,
        point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
            point_in_time_recovery_enabled=True
        ),
        removal_policy=removal_policy(keep=not local),
    )
