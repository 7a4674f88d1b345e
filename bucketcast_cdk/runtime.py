"""What targets made at run time need of the stack: a function a kind, and rights by name.

Their queues, mappings and secrets are made later, by calls; what may make them, and what serves
them, is held to names that begin with this stack's own.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from bucketcast.aws.runtime.items import PARTITION
from bucketcast.config import Deployment
from bucketcast.queues import target_name, visibility
from bucketcast.runtime.model import ONCE
from bucketcast.settings.egress import Egress
from bucketcast_cdk import breakers, counters, nag, policy_statements
from bucketcast_cdk.alarms import Watched, watch_function
from bucketcast_cdk.assets import Assets
from bucketcast_cdk.delivery import Delivery
from bucketcast_cdk.function import Function
from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.nested_stacks import Nesting
from bucketcast_cdk.network import Network, egress, join
from bucketcast_cdk.nonpersistent import TOPIC_KINDS, NonPersistentQueue
from bucketcast_cdk.pull import Pull

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
    "sqs:SetQueueAttributes",
)
_MAKE_SECRETS: Final = (
    "secretsmanager:CreateSecret",
    "secretsmanager:DeleteSecret",
    "secretsmanager:GetSecretValue",
)
_WRITE: Final = (
    "dynamodb:DeleteItem",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:UpdateItem",
)
_MAKE_ALARMS: Final = ("cloudwatch:DeleteAlarms", "cloudwatch:PutMetricAlarm")


class Runtime(Construct):
    """One function a kind, which is called for the queues of all run-time targets of the kind."""

    def __init__(  # noqa: PLR0913 - what the functions are made of
        self,
        scope: Construct,
        construct_id: str,
        *,
        config: Deployment,
        ingest: Ingest,
        assets: Assets,
        local: bool,
        nesting: Nesting,
    ) -> None:
        super().__init__(scope, construct_id)
        self._nesting = nesting
        self._stack = Stack.of(self)
        self._config = config
        self._local = local
        self._ingest = ingest
        self._assets = assets
        self._functions = {kind: self._function(kind) for kind in config.runtime.kinds}
        if self._functions:
            ingest.feeds_all(self._queue_arn("*"), "sqs:GetQueueAttributes")
        self._pull = (
            Pull(
                self,
                "Pull",
                prefix=self._prefix,
                config=config,
                ingest=ingest,
                assets=assets,
                nesting=nesting,
                local=local,
            )
            if config.topics.pull
            else None
        )
        CfnOutput(self, "Output", value=self._summary())

    @property
    def watched(self) -> list[Watched]:
        """What is deployed for run-time targets and has alarms of its own."""
        return [self._pull.watched] if self._pull else []

    @property
    def queues(self) -> str:
        """The ARN of all queues of run-time targets, with a `*`; "" where no function reads any."""
        return self._queue_arn("*") if self._functions else ""

    @property
    def visibility(self) -> int:
        """How many seconds these queues hide a message that no function has begun to process."""
        return visibility(self._config.runtime.timeout, fifo=self._config.sync_events)

    def wait_for(self, other: Construct) -> None:
        """Change the functions after another resource."""
        for made in self._functions.values():
            made.function.node.add_dependency(other)

    def let_manage(self, role: iam.Role) -> None:
        """Let a role make, change, remove and probe run-time targets, and read subscriptions."""
        if self._pull:
            self._pull.let_read(role)
        if not self._functions:
            return
        functions = [made.function.function_arn for made in self._functions.values()]
        statements = [
            _allow(_MAKE_QUEUES, [self._queue_arn("*")]),
            _allow(_MAKE_SECRETS, [self._secret_arn("*")]),
            _allow(_MAKE_ALARMS, [f"{self._arns('cloudwatch')}:alarm:{self._prefix}*"]),
            _allow(["lambda:InvokeFunction"], functions),
            _allow(
                ["lambda:CreateEventSourceMapping", "lambda:DeleteEventSourceMapping"],
                ["*"],
                {"ArnEquals": {"lambda:FunctionArn": functions}},
            ),
            _allow(["lambda:ListEventSourceMappings"], ["*"]),
            self._table_statement(_WRITE),
        ]
        for statement in statements:
            role.add_to_policy(statement)
        named = [resource for each in statements[:3] for resource in each.resources]
        nag.accept_names_made_later(role, [*named, "*"])

    def _function(self, kind: str) -> Function:
        client = self._assets.client(kind)
        made = Function(
            self,
            kind,
            name=self._name(kind),
            folder="dispatch",
            entry="runtime",
            assets=self._assets,
            layers=[
                self._assets.core(),
                self._assets.runtime(),
                *([client] if client else []),
            ],
            environment={
                "BUCKETCAST_KIND": kind,
                "BUCKETCAST_RULES_TABLE": self._ingest.rules.table_name,
                "BUCKETCAST_QUEUES": self._ingest.queues,
                "BUCKETCAST_QUEUE_PREFIX": f"{self._prefix}{kind}-",
                "BUCKETCAST_TOPICS": msgspec.json.encode(self._config.topics).decode(),
                **egress(kind, Egress(self._config.runtime.allow_private), local=self._local),
            },
            memory=self._config.runtime.memory,
            timeout=Duration.seconds(self._config.runtime.timeout),
            queued=True,
        )
        statements = [
            _allow(_RECEIVE, [self._queue_arn(f"{kind}-*")]),
            _allow(["secretsmanager:GetSecretValue"], [self._secret_arn(f"{kind}-*")]),
            self._table_statement(["dynamodb:GetItem"]),
            counters.right_to_add(self._ingest.rules),
            breakers.right_to_use(self._ingest.rules),
        ]
        for statement in statements:
            made.role.add_to_policy(statement)
        nag.accept_names_made_later(made.role, [*statements[0].resources, *statements[1].resources])
        runtime = self._config.runtime
        where = Network(runtime.vpc, runtime.subnets, runtime.security_groups)
        join(made, made, self._name(kind), where)
        place = self._nesting.place("Alarms", f"Runtime-{kind}", made)
        watch_function(place, f"{self._nesting.prefix}runtime-{kind}", made.function)
        # As for a deployed target: a long outage looks like an endless loop.
        cfn = made.function.node.default_child
        if isinstance(cfn, lambda_.CfnFunction):
            cfn.recursive_loop = "Allow"
        if kind in TOPIC_KINDS:
            NonPersistentQueue(
                self,
                f"{kind}-{ONCE}",
                prefix=self._prefix,
                kind=kind,
                function=made,
                timeout=self._config.runtime.timeout,
                max_concurrency=self._config.runtime.max_concurrency,
            )
        return made

    def _name(self, kind: str) -> str:
        """The same whether it is nested or not: mappings made at run time hang on the function."""
        return target_name(self._stack.stack_name, "runtime", kind)

    def _table_statement(self, actions: Sequence[str]) -> iam.PolicyStatement:
        """Of the rules' table only the run-time targets."""
        only = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [PARTITION]}}
        return _allow(actions, [self._ingest.rules.table_arn], only)

    @property
    def _prefix(self) -> str:
        return f"{self._stack.stack_name}-runtime-"

    @property
    def _secrets(self) -> str:
        return f"bucketcast/{self._stack.stack_name}/runtime/"

    def _queue_arn(self, end: str) -> str:
        return f"{self._arns('sqs')}:{self._prefix}{end}"

    def _secret_arn(self, end: str) -> str:
        return f"{self._arns('secretsmanager')}:secret:{self._secrets}{end}"

    def _arns(self, service: str) -> str:
        stack = self._stack
        return f"arn:{stack.partition}:{service}:{stack.region}:{stack.account}"

    def _summary(self) -> str:
        runtime = self._config.runtime
        return self._stack.to_json_string(
            {
                "functions": {kind: self._name(kind) for kind in runtime.kinds},
                "queues": self._ingest.queues,
                "queue_arns": self._arns("sqs"),
                "prefix": self._prefix,
                "secrets": self._secrets,
                "timeout": runtime.timeout,
                "visibility": self.visibility,
                "sync_events": self._config.sync_events,
                "max_concurrency": runtime.max_concurrency,
                "local": self._local,
                "tls_skip_verify": runtime.tls_skip_verify,
                "allow_private": list(runtime.allow_private),
                "pull": self._pull.table.table_name if self._pull else "",
                "events_retention_days": self._config.topics.events_retention_days,
                "topics_per_user": self._config.topics.topics_per_user,
            }
        )


def let_look(role: iam.Role, deliveries: Sequence[Delivery]) -> None:
    """Let a role see how the deployed targets are configured and fare."""
    if not deliveries:
        return
    functions = [each.function.function_arn for each in deliveries]
    queues = [queue.queue_arn for each in deliveries for queue in (each.queue, each.dead)]
    look = ["lambda:GetFunctionConfiguration", "lambda:InvokeFunction"]
    for statement in (
        *policy_statements.allow(look, functions),
        *policy_statements.allow(["sqs:GetQueueAttributes"], queues),
    ):
        role.add_to_policy(statement)


def _allow(
    actions: Sequence[str], resources: Sequence[str], conditions: Mapping[str, Any] | None = None
) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        actions=list(actions), resources=list(resources), conditions=conditions
    )
