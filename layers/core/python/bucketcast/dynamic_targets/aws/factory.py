"""The dynamic targets of a deployment, from a terminal or the gateway."""

from typing import Any

from bucketcast.aws.clients import Aws
from bucketcast.deployment import Deployed, DynamicSetup
from bucketcast.dynamic_targets.aws.alarms import Alarms
from bucketcast.dynamic_targets.aws.resources import Resources
from bucketcast.dynamic_targets.aws.targets import DynamicTargets
from bucketcast.errors import BucketcastError
from bucketcast.state.dynamic_targets import Table


def run_time_targets(deployment: Deployed, aws: Aws) -> DynamicTargets:
    """Return the dynamic targets of this deployment, without changing those of topics.

    Raises:
        BucketcastError: its version does not support them.
    """
    if deployment.dynamic is None:
        raise BucketcastError(
            f"the stack {deployment.stack} has no functions for dynamic targets: set "
            "[dynamic_targets] kinds in bucketcast.toml, then deploy"
        )
    by_file = frozenset(target.arn for target in deployment.targets if target.made is None)
    return targets_of(
        deployment.stack,
        deployment.state_table,
        deployment.dynamic,
        aws,
        deployed=by_file,
        for_topics=False,
    )


def resources_of(setup: DynamicSetup, aws: Aws) -> Resources:
    """Return the resources of a stack's dynamic targets."""
    return Resources(setup, aws.sqs, aws.mappings, aws.secretsmanager)


def targets_of(
    stack: str, table: str, setup: DynamicSetup, aws: Aws, **options: Any
) -> DynamicTargets:
    """Return the dynamic targets of a stack, with these options of `DynamicTargets`."""
    alarms = Alarms(aws.cloudwatch, stack, setup.topic)
    resources = resources_of(setup, aws)
    return DynamicTargets(setup, Table(table, aws.dynamodb), resources, alarms, **options)
