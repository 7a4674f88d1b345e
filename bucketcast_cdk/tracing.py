"""X-Ray, where the configuration asks for it: every function of ours, and the right to write."""

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from bucketcast_cdk import nag
from bucketcast_cdk.function import Function, functions_in


def trace(scope: Construct) -> None:
    """Let X-Ray sample the calls of all functions that were made so far."""
    for found in functions_in(scope):
        _trace(found)


def _trace(made: Function) -> None:
    cfn = made.function.node.default_child
    if isinstance(cfn, lambda_.CfnFunction):
        cfn.tracing_config = lambda_.CfnFunction.TracingConfigProperty(mode="Active")
    made.role.add_to_policy(
        iam.PolicyStatement(
            actions=["xray:PutTelemetryRecords", "xray:PutTraceSegments"],
            resources=["*"],  # they take no resource
        )
    )
    nag.accept_tracing(made.role)
