"""From the ingress queue to the targets' queues: the queues, the rules' table and the function."""

from collections.abc import Sequence
from itertools import chain
from typing import Final

from aws_cdk import Duration, Fn, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.aws.breakers import EXPIRES
from bucketcast.config import Deployment
from bucketcast.cost.estimate import INGEST_MEMORY
from bucketcast.delivery.retention import MAX_RECEIVES
from bucketcast.listeners import queue_prefix
from bucketcast.queues import visibility
from bucketcast.settings.environment import DeployedTargets, QueueLimits
from bucketcast_cdk import balance, counters, nag, policy_statements, sns
from bucketcast_cdk.alarms import Watched, watch, watch_balance, watch_throttled
from bucketcast_cdk.assets import Assets
from bucketcast_cdk.function import Function
from bucketcast_cdk.nested_stacks import Nesting
from bucketcast_cdk.queues import QueuePair
from bucketcast_cdk.removal_policy import removal_policy

_TIMEOUT: Final = Duration.seconds(30)


def limited_queues(config: Deployment) -> dict[str, str]:
    """Return the variable with the limits of queues, if there are any."""
    found = {str(each.arn): each.queue_limit for each in config.targets if each.queue_limit}
    return {"BUCKETCAST_QUEUE_LIMITS": QueueLimits.of(found).to_text()} if found else {}


class Ingest(Construct):
    """One queue that every source writes to, one function that asks the rules and fans out."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Deployment,
        assets: Assets,
        nesting: Nesting,
        local: bool,
    ) -> None:
        super().__init__(scope, construct_id)
        self._stack = Stack.of(self).stack_name
        window = Duration.seconds(config.ingest_window)
        queues = QueuePair(
            self,
            "Ingress",
            name=f"{self._stack}-ingress",
            fifo=False,
            visibility=Duration.seconds(
                visibility(int(_TIMEOUT.to_seconds()), window=int(window.to_seconds()))
            ),
            max_receive_count=MAX_RECEIVES,
            keep=not local,
        )
        self.queue, self.dead = queues.queue, queues.dead
        self._let_s3_write(config.source.s3_accounts)
        sns.subscribe(self, self.queue, config.source.sns_topics)
        self.rules = self._table(local=local)
        made = Function(
            self,
            "Ingest",
            name=f"{self._stack}-ingest",
            folder="ingest",
            assets=assets,
            layers=[assets.core(), assets.runtime()],
            environment={
                "BUCKETCAST_RULES_TABLE": self.rules.table_name,
                "BUCKETCAST_QUEUE_PREFIX": self.queue_prefix,
                "BUCKETCAST_SYNC_EVENTS": "on" if config.sync_events else "off",
                "BUCKETCAST_INGRESS_DEAD_QUEUE_URL": self.dead.queue_url,
                "BUCKETCAST_OBJECT_FACTS": config.facts.to_text(),
                "BUCKETCAST_TARGETS": DeployedTargets.of(
                    str(target.arn) for target in config.targets
                ).to_text(),
                **limited_queues(config),
            },
            memory=INGEST_MEMORY,
            timeout=_TIMEOUT,
            reserved=config.reserved or None,
            queued=True,
        )
        name, about = f"{nesting.prefix}ingress", {"service": "ingest", "target": "ingress"}
        place = nesting.place("Alarms", "Ingress", queues)
        self.watched = Watched(name, self.queue, self.dead, made.function, about)
        watch(place, self.watched)
        watch_throttled(place, name, made.function)
        watch_balance(place, name)
        self._role = made.role
        self.writer = made
        self.rules.grant(made.role, "dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query")
        made.role.add_to_policy(counters.right_to_add(self.rules))
        made.role.add_to_policy(balance.right_to_add_up(self.rules))
        balance.look_regularly(self, made.function)
        self.dead.grant(made.role, "sqs:SendMessage")
        # What a target's queue did not take goes back, addressed; what SQS would move is renewed.
        self.queue.grant(made.role, "sqs:SendMessage")
        made.may_loop()
        # Listeners come and go: their queues are known by how their names begin.
        self.feeds_all(self.listeners)
        self._let_look_at_objects(sorted(config.facts.buckets))
        made.function.add_event_source(
            sources.SqsEventSource(
                self.queue,
                batch_size=1_000 if config.ingest_window else 10,
                max_batching_window=window if config.ingest_window else None,
                # More pollers than calls would have their messages refused, and count receives.
                max_concurrency=config.reserved or None,
                report_batch_item_failures=True,
            )
        )

    @property
    def queue_prefix(self) -> str:
        """The URL of every queue of this stack up to its own part: `https://…/Bucketcast-`."""
        return f"{self.queues}/{self._stack}-"

    @property
    def queues(self) -> str:
        """The URL of every queue but for its name: `https://sqs.…/123456789012`."""
        return Fn.select(0, Fn.split(f"/{self._stack}-ingress", self.queue.queue_url))

    @property
    def listeners(self) -> str:
        """The ARN of all listeners' queues, with a `*`."""
        stack = Stack.of(self)
        here = f"arn:{stack.partition}:sqs:{stack.region}:{stack.account}"
        return f"{here}:{queue_prefix(self._stack)}*"

    def feeds(self, queues: Sequence[sqs.IQueue]) -> None:
        """Let ingest write to the targets' queues, and to no other, and count their messages."""
        for queue in queues:
            queue.grant(self._role, "sqs:SendMessage", "sqs:GetQueueAttributes")

    def feeds_all(self, queues: str, *actions: str) -> None:
        """Let ingest write to the queues that will be made with such names: an ARN with a `*`.

        `actions` are what else it may do to them.
        """
        self._role.add_to_policy(
            iam.PolicyStatement(actions=["sqs:SendMessage", *actions], resources=[queues])
        )
        nag.accept_names_made_later(self._role, [queues])

    def _let_look_at_objects(self, buckets: Sequence[str]) -> None:
        """Metadata and tags; to list is what makes S3 say that an object is gone."""
        if not buckets:
            return
        names = [f"arn:{Stack.of(self).partition}:s3:::{bucket}" for bucket in buckets]
        objects = [f"{name}/*" for name in names]
        looks = [
            "s3:GetObject",
            # Without these two a HeadObject leaves lock and hold out of its answer.
            "s3:GetObjectLegalHold",
            "s3:GetObjectRetention",
            "s3:GetObjectTagging",
            "s3:GetObjectVersion",
            "s3:GetObjectVersionTagging",
        ]
        allowed = (
            policy_statements.allow(["s3:ListBucket"], names),
            policy_statements.allow(looks, objects),
        )
        for statement in chain(*allowed):
            self._role.add_to_policy(statement)
        nag.accept_looking_at_objects(self._role, [*names, *objects])

    def _let_s3_write(self, others: Sequence[str]) -> None:
        """Let buckets of this account write, and of others."""
        stack = Stack.of(self)
        accounts = [stack.account, *others] if others else stack.account
        self.queue.add_to_resource_policy(
            iam.PolicyStatement(
                sid="BucketsOfThisAccount",
                principals=[iam.ServicePrincipal("s3.amazonaws.com")],
                actions=["sqs:SendMessage"],
                resources=[self.queue.queue_arn],
                conditions={
                    "StringEquals": {"aws:SourceAccount": accounts},
                    "ArnLike": {"aws:SourceArn": f"arn:{stack.partition}:s3:::*"},
                },
            )
        )

    def let_write(self, rules: str) -> None:
        """Let rules of EventBridge write; their ARNs may have a `*`."""
        for queue in (self.queue, self.dead):
            queue.add_to_resource_policy(
                iam.PolicyStatement(
                    sid="RulesOfThisStack",
                    principals=[iam.ServicePrincipal("events.amazonaws.com")],
                    actions=["sqs:SendMessage"],
                    resources=[queue.queue_arn],
                    conditions={"ArnLike": {"aws:SourceArn": rules}},
                )
            )

    def _table(self, *, local: bool) -> dynamodb.Table:
        return dynamodb.Table(
            self,
            "Rules",
            partition_key=dynamodb.Attribute(name="bucket", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="rule", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            time_to_live_attribute=EXPIRES,
            encryption=dynamodb.TableEncryption.AWS_MANAGED,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            # Not protected from deletion, or its making could not be rolled back. When it is
            # deleted by hand DynamoDB keeps a backup for 35 days, as it does with recovery on.
            removal_policy=removal_policy(keep=not local),
        )
