"""A Lambda function with a role and a log group of its own, without needless permissions."""

from collections.abc import Mapping

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.limits import BATCH_MESSAGES
from bucketcast.state import counters
from bucketcast_cdk.assets import Context


def functions_in(scope: Construct) -> "list[Function]":
    """Return the functions in a construct."""
    return [node for node in scope.node.find_all() if isinstance(node, Function)]


class Function(Construct):
    """A function called `name` whose handler is `functions.<folder>.<entry>.handler`.

    `layer` is one that it has beside those of all functions, `reserved` its reserved concurrency.

    A `queued` function is called through `functions.startup`, which leaves messages in the queue if
    there is no handler. It may send to the queue that calls it: failed events go back there as a
    new message. Lambda would take the sixteenth send for a loop and stop it, since the retries of a
    long outage look like one; so that detection is off.
    """

    def __init__(  # noqa: PLR0913 - what a function is made of
        self,
        scope: Construct,
        construct_id: str,
        context: Context,
        *,
        name: str,
        folder: str,
        environment: Mapping[str, str],
        memory: int,
        timeout: Duration,
        entry: str = "handler",
        layer: str = "",
        reserved: int | None = None,
        queued: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        module = f"functions.{folder}.{entry}"
        assets = context.assets
        log_group = logs.LogGroup(
            self,
            "Logs",
            log_group_name=f"/aws/lambda/{name}",
            removal_policy=RemovalPolicy.DESTROY,
        )
        cfn = log_group.node.default_child
        if isinstance(cfn, logs.CfnLogGroup):
            cfn.retention_in_days = context.config.log_retention_days
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log_group.grant_write(self.role)
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=name,
            handler=f"{'functions.startup' if queued else module}.handler",
            code=assets.function(folder),
            runtime=assets.runtime,
            architecture=assets.architecture,
            layers=[
                each
                for own in filter(None, ("core", "shared", layer))
                for each in assets.layer(own)
            ],
            environment={
                "POWERTOOLS_SERVICE_NAME": folder,
                "POWERTOOLS_METRICS_NAMESPACE": Stack.of(self).stack_name,
                "POWERTOOLS_LOG_LEVEL": "INFO",
                **({"BUCKETCAST_HANDLER": module} if queued else {}),
                # A demo shows exact counts.
                **({counters.STEP: "0"} if queued and context.local else {}),
                **environment,
            },
            memory_size=memory,
            timeout=timeout,
            reserved_concurrent_executions=reserved,
            recursive_loop=lambda_.RecursiveLoop.ALLOW if queued and not _in_china(self) else None,
            role=self.role,
            log_group=log_group,
            # Lambda logs its own lines for failed calls only; three for each call are 354 bytes.
            logging_format=lambda_.LoggingFormat.JSON,
            system_log_level_v2=lambda_.SystemLogLevel.WARN,
        )

    def read(
        self,
        queue: sqs.Queue,
        *,
        batch_size: int = BATCH_MESSAGES,
        window: int = 0,
        max_concurrency: int | None = None,
        enabled: bool | None = None,
    ) -> None:
        """Call the function with the messages of a queue, after gathering them for the window."""
        self.function.add_event_source(
            sources.SqsEventSource(
                queue,
                batch_size=batch_size,
                max_batching_window=Duration.seconds(window) if window else None,
                max_concurrency=max_concurrency,
                report_batch_item_failures=True,
                enabled=enabled,
            )
        )

    def add_url(self) -> str:
        """Return a URL at which anyone may call the function; it authenticates callers itself."""
        return self.function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE).url


def _in_china(scope: Construct) -> bool:
    """Return True if the stack is for a region of China, where Lambda detects no loops."""
    return Stack.of(scope).region.startswith("cn-")
