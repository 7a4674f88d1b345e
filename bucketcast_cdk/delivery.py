"""One configured target: its queue, its dead letters and the function that dispatches to it."""

from aws_cdk import Duration, Stack
from aws_cdk import aws_dynamodb as dynamodb
from constructs import Construct

from bucketcast.config.deployable import settings_text
from bucketcast.config.target import TargetConfig
from bucketcast.delivery.queue_names import target_name
from bucketcast.limits import BATCH_MESSAGES, WINDOW_MESSAGES
from bucketcast_cdk.alarms import MonitoredQueue
from bucketcast_cdk.assets import Context
from bucketcast_cdk.function import Function
from bucketcast_cdk.network import egress, join
from bucketcast_cdk.outputs import output_of
from bucketcast_cdk.permissions import allow_dispatch_state, allow_login, allow_secrets
from bucketcast_cdk.queues import QueuePair


class Delivery(Construct):
    """The resources of one target, shared with no other, so that it delays only its own events."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        context: Context,
        *,
        target: TargetConfig,
        table: dynamodb.ITable,
    ) -> None:
        super().__init__(scope, construct_id)
        self._target = target
        config, deploy = context.config, target.deploy
        name = target_name(Stack.of(self).stack_name, target.kind, target.id)
        queues = QueuePair(
            self,
            "Queues",
            name=name + config.queue_end,
            timeout=deploy.timeout,
            window=deploy.window,
            removal_policy=context.removal_policy,
        )
        self.queue, self.dead = queues.queue, queues.dead
        function = Function(
            self,
            "Dispatch",
            context,
            name=name,
            folder="dispatch",
            layer=f"client-{target.kind}",
            environment={
                "BUCKETCAST_KIND": target.kind,
                "BUCKETCAST_ID": target.id,
                "BUCKETCAST_SETTINGS": settings_text(target),
                "BUCKETCAST_QUEUE_URL": self.queue.queue_url,
                "BUCKETCAST_DEAD_QUEUE_URL": self.dead.queue_url,
                "BUCKETCAST_STATE_TABLE": table.table_name,
                **egress(deploy.egress, local=context.local),
            },
            memory=deploy.memory,
            timeout=Duration.seconds(deploy.timeout),
            queued=True,
        )
        off = not target.enabled
        self.monitored = MonitoredQueue(
            name, f"{target.kind}:{target.id}", self.queue, self.dead, function.function, off
        )
        self.function = function.function
        queues.allow_requeue(function.role)
        allow_secrets(function.role, target.secret_names, config.kms_keys)
        allow_login(function.role, target)
        allow_dispatch_state(function.role, table)
        function.read(
            self.queue,
            batch_size=WINDOW_MESSAGES if queues.window else BATCH_MESSAGES,
            window=queues.window,
            max_concurrency=deploy.max_concurrency,
            enabled=target.enabled,
        )
        join(self, function, name, deploy)
        output_of(self, "Target", self.arn, self._summary())

    @property
    def arn(self) -> str:
        return str(self._target.arn)

    def _summary(self) -> str:
        return Stack.of(self).to_json_string(
            {
                "arn": self.arn,
                "kind": self._target.kind,
                "id": self._target.id,
                "function": self.monitored.name,
                "queue": self.queue.queue_url,
                "dead": self.dead.queue_url,
                "enabled": self._target.enabled,
            }
        )
