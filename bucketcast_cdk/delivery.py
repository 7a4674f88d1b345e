"""One configured target: its queue, its dead letters and the function that dispatches to it."""

from collections.abc import Sequence

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from constructs import Construct

from bucketcast.config import TargetConfig
from bucketcast.delivery.retention import MAX_RECEIVES
from bucketcast.queues import target_name, visibility
from bucketcast.rules import loops
from bucketcast_cdk import breakers, counters, iam_logins, limits, secrets
from bucketcast_cdk.alarms import Watched, watch
from bucketcast_cdk.assets import Assets
from bucketcast_cdk.function import Function
from bucketcast_cdk.nested_stacks import Nesting
from bucketcast_cdk.network import Network, egress, join
from bucketcast_cdk.queues import QueuePair


class Delivery(Construct):
    """What one target needs, shared with no other: a dead target starves nobody."""

    def __init__(  # noqa: PLR0913 - what a target is made of
        self,
        scope: Construct,
        construct_id: str,
        *,
        target: TargetConfig,
        sync_events: bool,
        assets: Assets,
        local: bool,
        table: dynamodb.ITable,
        keys: Sequence[str],
        nesting: Nesting,
    ) -> None:
        super().__init__(scope, construct_id)
        self._place = nesting.of_target(target.kind, target.id, self)
        self._target = target
        self._local = local
        self._table = table
        self._keys = keys
        self._fifo = sync_events
        self._window = 0 if sync_events else target.deploy.window
        self._name = target_name(Stack.of(self).stack_name, target.kind, target.id)
        self._function = f"{nesting.prefix}{target.kind}-{target.id}"
        timeout = Duration.seconds(target.deploy.timeout)
        queues = QueuePair(
            self,
            "Queues",
            name=self._name,
            fifo=sync_events,
            visibility=Duration.seconds(
                visibility(target.deploy.timeout, window=self._window, fifo=sync_events)
            ),
            max_receive_count=MAX_RECEIVES,
            keep=not local,
            policies=nesting.of_target(target.kind, target.id, self) if nesting.is_on else None,
        )
        self.queue, self.dead = queues.queue, queues.dead
        client = assets.client(target.kind)
        made = Function(
            self._place,
            "Dispatch",
            name=self._function,
            folder="dispatch",
            assets=assets,
            layers=[assets.core(), assets.runtime(), *([client] if client else [])],
            environment=self._environment(),
            memory=target.deploy.memory,
            timeout=timeout,
            queued=True,
        )
        about = {"service": "dispatch", "target": str(target.arn)}
        self.watched = Watched(self._function, self.queue, self.dead, made.function, about)
        watch(
            queues if self._place is self else self._place,
            self.watched,
            paused=not target.enabled,
        )
        self.function = made.function
        self._grant(made.role)
        self._listen(made.function)
        made.may_loop()
        deploy = target.deploy
        where = Network(deploy.vpc, deploy.subnets, deploy.security_groups)
        join(self._place, made, self._name, where)
        CfnOutput(self, "Output", value=self._summary())

    @property
    def arn(self) -> str:
        return str(self._target.arn)

    @property
    def queues(self) -> tuple[str, str]:
        """The URLs of its queue and of its dead-letter queue."""
        return self.queue.queue_url, self.dead.queue_url

    def _environment(self) -> dict[str, str]:
        return {
            "BUCKETCAST_KIND": self._target.kind,
            "BUCKETCAST_ID": self._target.id,
            "BUCKETCAST_SETTINGS": limits.settings_text(self._target),
            "BUCKETCAST_QUEUE_URL": self.queue.queue_url,
            "BUCKETCAST_DEAD_QUEUE_URL": self.dead.queue_url,
            "BUCKETCAST_SYNC_EVENTS": "on" if self._fifo else "off",
            "BUCKETCAST_RULES_TABLE": self._table.table_name,
            **egress(self._target.kind, self._target.deploy.egress, local=self._local),
        }

    def _grant(self, role: iam.Role) -> None:
        # The part of a message that failed goes back alone; what is refused or too old is buried
        # with its reason. To back off, by visibility, is a right of the event source already.
        self.queue.grant(role, "sqs:SendMessage")
        self.dead.grant(role, "sqs:SendMessage")
        secrets.let_read(role, self._target.secret_names, self._keys)
        iam_logins.let_log_in(role, self._target)
        role.add_to_policy(counters.right_to_add(self._table))
        role.add_to_policy(breakers.right_to_use(self._table))

    def _listen(self, function: lambda_.Function) -> None:
        function.add_event_source(
            sources.SqsEventSource(
                self.queue,
                batch_size=10_000 if self._window else 10,
                max_batching_window=Duration.seconds(self._window) if self._window else None,
                max_concurrency=self._target.deploy.max_concurrency,
                report_batch_item_failures=True,
                enabled=self._target.enabled,
            )
        )

    def _summary(self) -> str:
        bucket = loops.bucket_in(self._target.settings.get("endpoint", ""))
        return Stack.of(self).to_json_string(
            {
                "arn": str(self._target.arn),
                "kind": self._target.kind,
                "id": self._target.id,
                "function": self._function,
                "queue": self.queue.queue_url,
                "dead": self.dead.queue_url,
                "enabled": self._target.enabled,
                **({"writes": bucket} if bucket else {}),
            }
        )
