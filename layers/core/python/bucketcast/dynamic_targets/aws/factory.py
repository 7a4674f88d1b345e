"""The run-time targets of a deployment, from a terminal or the gateway."""

from typing import Any

from bucketcast.aws.clients import Aws
from bucketcast.deployment import Deployed, Runtime
from bucketcast.dynamic_targets.aws.alarms import Alarms
from bucketcast.dynamic_targets.aws.resources import Resources
from bucketcast.dynamic_targets.aws.targets import RuntimeTargets
from bucketcast.errors import BucketcastError
from bucketcast.state.dynamic_targets import Table


def run_time_targets(deployment: Deployed, aws: Aws) -> RuntimeTargets:
    """Return the run-time targets of this deployment, without changing those of topics.

    Raises:
        BucketcastError: its version does not support them.
    """
    if deployment.runtime is None:
        raise BucketcastError(
            f"the stack {deployment.stack} has no functions for run-time targets: set [runtime] "
            "kinds in bucketcast.toml, then deploy"
        )
    by_file = frozenset(target.arn for target in deployment.targets if target.made is None)
    return targets_of(
        deployment.stack,
        deployment.state_table,
        deployment.runtime,
        aws,
        deployed=by_file,
        for_topics=False,
    )


def resources_of(runtime: Runtime, aws: Aws) -> Resources:
    """Return the resources of a stack's run-time targets."""
    return Resources(runtime, aws.sqs, aws.mappings, aws.secretsmanager)


def targets_of(
    stack: str, table: str, runtime: Runtime, aws: Aws, **options: Any
) -> RuntimeTargets:
    """Return the run-time targets of a stack, with these options of `RuntimeTargets`."""
    alarms = Alarms(aws.cloudwatch, stack, runtime.topic)
    resources = resources_of(runtime, aws)
    return RuntimeTargets(runtime, Table(table, aws.dynamodb), resources, alarms, **options)
