"""Dynamic targets: a function for each kind, and rights by name.

Their queues, mappings and secrets are created without a deploy. The gateway that creates them and
the functions that serve them have rights only for names with this stack's prefix.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from bucketcast.delivery.policy import visibility
from bucketcast.delivery.queue_names import ONCE, once_queue, target_name
from bucketcast.limits import (
    ONCE_CONCURRENCY_FACTOR,
    ONCE_RETENTION_DAYS,
    TIMEOUT_SECONDS,
    VISIBILITY_TIMEOUTS_ONCE,
)
from bucketcast.settings.egress import Egress
from bucketcast.state.dynamic_targets import PARTITION
from bucketcast.topics.address import KINDS
from bucketcast_cdk.assets import Context
from bucketcast_cdk.bundling import mirrors
from bucketcast_cdk.delivery import Delivery
from bucketcast_cdk.function import Function
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.network import egress, join
from bucketcast_cdk.outputs import output
from bucketcast_cdk.permissions import allow, allow_dispatch_state, arn, arn_prefix, leading_keys
from bucketcast_cdk.queues import make_queue

_RECEIVE: Final = (
    "sqs:ChangeMessageVisibility",
    "sqs:DeleteMessage",
    "sqs:GetQueueAttributes",
    "sqs:ReceiveMessage",
    "sqs:SendMessage",
)
_MAKE_QUEUES: Final = (
    "sqs:CreateQueue",
    "sqs:DeleteQueue",
    "sqs:GetQueueAttributes",
)
_MAKE_SECRETS: Final = (
    "secretsmanager:CreateSecret",
    "secretsmanager:DeleteSecret",
    "secretsmanager:GetSecretValue",
)
_MAKE_ALARMS: Final = ("cloudwatch:DeleteAlarms", "cloudwatch:PutMetricAlarm")
_MAKE_MAPPINGS: Final = ("lambda:CreateEventSourceMapping", "lambda:DeleteEventSourceMapping")


class DynamicTargets(Construct):
    """A function for each kind, which the queues of all dynamic targets of the kind call."""

    def __init__(
        self, scope: Construct, construct_id: str, context: Context, *, ingest: Ingest
    ) -> None:
        super().__init__(scope, construct_id)
        self._context = context
        self._config = config = context.config
        self._stack = Stack.of(self)
        self._ingest = ingest
        self._prefix = f"{self._stack.stack_name}-dynamic-"
        self._secrets = f"bucketcast/{self._stack.stack_name}/dynamic/"
        self._functions = {kind: self._function(kind) for kind in config.dynamic_targets.kinds}
        if self._functions:
            ingest.allow_writing(self._queue_arn("*"))
        output(self, "DynamicTargets", self._summary())

    @property
    def queues(self) -> str:
        """The ARN of all queues of dynamic targets, with a `*`; "" where no function reads any."""
        return self._queue_arn("*") if self._functions else ""

    @property
    def mirror_secrets(self) -> list[str]:
        """The ARNs of the secrets of dynamic targets that may be mirrors, each with a `*`."""
        return [self._secret_arn(f"{kind}-*") for kind in mirrors() if kind in self._functions]

    def allow_managing(self, role: iam.Role) -> None:
        """Allow to make, change, remove and probe dynamic targets."""
        if not self._functions:
            return
        by_name = {
            self._queue_arn("*"): _MAKE_QUEUES,
            self._secret_arn("*"): _MAKE_SECRETS,
            arn(self, "cloudwatch", f"alarm:{self._prefix}*"): _MAKE_ALARMS,
        }
        for resource, actions in by_name.items():
            allow(role, actions, [resource])
        functions = [function.function.function_arn for function in self._functions.values()]
        of_functions = {"ArnEquals": {"lambda:FunctionArn": functions}}
        allow(role, ["lambda:InvokeFunction"], functions)
        allow(role, _MAKE_MAPPINGS, ["*"], of_functions)
        allow(role, ["lambda:ListEventSourceMappings"], ["*"])

    def _function(self, kind: str) -> Function:
        context, options, table = self._context, self._config.dynamic_targets, self._ingest.table
        name = self._name(kind)
        function = Function(
            self,
            kind,
            context,
            name=name,
            folder="dispatch",
            entry="dynamic",
            layer=f"client-{kind}",
            environment={
                "BUCKETCAST_KIND": kind,
                "BUCKETCAST_STATE_TABLE": table.table_name,
                "BUCKETCAST_QUEUES": self._ingest.queues,
                "BUCKETCAST_QUEUE_PREFIX": self._prefix,
                "BUCKETCAST_TOPICS": msgspec.json.encode(self._config.topics).decode(),
                **egress(Egress(options.allow_private), local=context.local),
            },
            memory=options.memory,
            timeout=Duration.seconds(TIMEOUT_SECONDS),
            queued=True,
        )
        of_topics = kind in KINDS.values()  # whose queues keep their names if the kind changes
        names = [kind, "topic"] if of_topics else [kind]
        queues = [self._queue_arn(f"{name}-*") for name in names]
        secrets = self._secret_arn(f"{kind}-*")
        allow(function.role, _RECEIVE, queues)
        allow(function.role, ["secretsmanager:GetSecretValue"], [secrets])
        allow(function.role, ["dynamodb:GetItem"], [table.table_arn], leading_keys(PARTITION))
        allow_dispatch_state(function.role, table)
        join(function, function, name, options)
        if of_topics:
            self._read_once(kind, function)
        return function

    def _read_once(self, kind: str, function: Function) -> None:
        """Make the queue that the non-persistent topics of a kind share, and let it be read.

        It has no dead letters: each event has one attempt; one that fails is lost, and is counted.
        """
        options = self._config.dynamic_targets
        queue = make_queue(
            Construct(self, f"{kind}-{ONCE}"),
            "Queue",
            once_queue(self._prefix, kind),
            ONCE_RETENTION_DAYS,
            removal_policy=RemovalPolicy.DESTROY,
            visibility_timeout=Duration.seconds(VISIBILITY_TIMEOUTS_ONCE * TIMEOUT_SECONDS),
        )
        # Lambda refuses a timeout above the queue's visibility timeout, so the queue comes first.
        function.function.node.add_dependency(queue)
        several = ONCE_CONCURRENCY_FACTOR * (options.max_concurrency or 0)
        function.read(queue, max_concurrency=min(several, 1_000) or None)  # Lambda takes no more

    def _name(self, kind: str) -> str:
        """Return the function's name, to which dynamic mappings refer."""
        return target_name(self._stack.stack_name, "dynamic", kind)

    def _queue_arn(self, name: str) -> str:
        return arn(self, "sqs", f"{self._prefix}{name}")

    def _secret_arn(self, name: str) -> str:
        return arn(self, "secretsmanager", f"secret:{self._secrets}{name}")

    def _summary(self) -> str:
        options = self._config.dynamic_targets
        return self._stack.to_json_string(
            {
                "functions": {kind: self._name(kind) for kind in options.kinds},
                "queues": self._ingest.queues,
                "queue_arns": arn_prefix(self, "sqs"),
                "prefix": self._prefix,
                "secrets": self._secrets,
                "timeout": TIMEOUT_SECONDS,
                "visibility": visibility(self._config.queue_end, TIMEOUT_SECONDS),
                "queue_end": self._config.queue_end,
                "max_concurrency": options.max_concurrency,
                "local": self._context.local,
                "tls_skip_verify": options.tls_skip_verify,
                "allow_private": list(options.allow_private),
                "topics_per_user": self._config.topics.topics_per_user,
                "topics_in_cleartext": self._config.topics.allow_secrets_in_cleartext,
            }
        )


def allow_inspecting(role: iam.Role, deliveries: Sequence[Delivery]) -> None:
    """Allow to see the configuration and the state of the deployed targets."""
    functions = [delivery.function.function_arn for delivery in deliveries]
    queues = [
        queue.queue_arn for delivery in deliveries for queue in (delivery.queue, delivery.dead)
    ]
    allow(role, ["lambda:GetFunctionConfiguration", "lambda:InvokeFunction"], functions)
    allow(role, ["sqs:GetQueueAttributes"], queues)
