"""A Lambda function with a role and a log group of its own, and no more rights than given."""

from collections.abc import Mapping, Sequence

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from bucketcast_cdk import nag
from bucketcast_cdk.assets import Assets
from bucketcast_cdk.nested_stacks import deployed_name


def functions_in(scope: Construct) -> "list[Function]":
    """Return the functions that were made so far in a construct."""
    return [each for each in scope.node.find_all() if isinstance(each, Function)]


class Function(Construct):
    """A function called `name` whose handler is `functions.<folder>.<entry>.handler`.

    If a queue calls it, that is called by `functions.startup`, which lets messages wait if there is
    no handler.

    `reserved` calls at once are its own share of the account's, and the most that it has.
    """

    def __init__(  # noqa: PLR0913 - what a function is made of
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        folder: str,
        assets: Assets,
        layers: Sequence[lambda_.ILayerVersion],
        environment: Mapping[str, str],
        memory: int,
        timeout: Duration,
        entry: str = "handler",
        reserved: int | None = None,
        queued: bool = False,
    ) -> None:
        super().__init__(scope, construct_id)
        module = f"functions.{folder}.{entry}"
        start = {"BUCKETCAST_HANDLER": module} if queued else {}
        self._log_group = log_group = logs.LogGroup(
            self,
            "Logs",
            log_group_name=f"/aws/lambda/{name}",
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log_group.grant_write(self.role)
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=name,
            handler=f"{'functions.startup' if queued else module}.handler",
            code=assets.function(folder),
            runtime=assets.platform.runtime,
            architecture=assets.platform.architecture,
            layers=list(layers),
            environment={
                "POWERTOOLS_SERVICE_NAME": folder,
                "POWERTOOLS_METRICS_NAMESPACE": deployed_name(self),
                "POWERTOOLS_LOG_LEVEL": "INFO",
                **start,
                **environment,
            },
            memory_size=memory,
            timeout=timeout,
            reserved_concurrent_executions=reserved,
            role=self.role,
            log_group=log_group,
        )
        nag.accept_runtime(self.function)

    def keep_logs(self, days: int) -> None:
        """Keep the function's logs for so many days."""
        cfn = self._log_group.node.default_child
        if isinstance(cfn, logs.CfnLogGroup):
            cfn.retention_in_days = days

    def may_loop(self) -> None:
        """Let the function send to the queue it is called by.

        What failed goes back there as a new message: Lambda would take the sixteenth time for a
        mistake and stop it, but the retries of a long outage look like that.
        """
        cfn = self.function.node.default_child
        if isinstance(cfn, lambda_.CfnFunction):
            cfn.recursive_loop = "Allow"
