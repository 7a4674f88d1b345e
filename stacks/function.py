"""A Lambda function with a role and a log group of its own, and no more rights than given."""

from collections.abc import Mapping, Sequence

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from stacks import nag
from stacks.assets import Assets


class Function(Construct):
    """A function called `name` whose handler is `functions.<folder>.<entry>.handler`.

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
    ) -> None:
        super().__init__(scope, construct_id)
        log_group = logs.LogGroup(
            self,
            "Logs",
            log_group_name=f"/aws/lambda/{name}",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log_group.grant_write(self.role)
        self.function = lambda_.Function(
            self,
            "Function",
            function_name=name,
            handler=f"functions.{folder}.{entry}.handler",
            code=assets.function(folder),
            runtime=assets.platform.runtime,
            architecture=assets.platform.architecture,
            layers=list(layers),
            environment={
                "POWERTOOLS_SERVICE_NAME": folder,
                "POWERTOOLS_LOG_LEVEL": "INFO",
                **environment,
            },
            memory_size=memory,
            timeout=timeout,
            reserved_concurrent_executions=reserved,
            role=self.role,
            log_group=log_group,
        )
        nag.accept_runtime(self.function)

    def may_loop(self) -> None:
        """Let the function send to the queue it is called by.

        What failed goes back there as a new message: Lambda would take the sixteenth time for a
        mistake and stop it, but the retries of a long outage look like that.
        """
        cfn = self.function.node.default_child
        if isinstance(cfn, lambda_.CfnFunction):
            cfn.recursive_loop = "Allow"
