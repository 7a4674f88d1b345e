"""Build the dynamic targets of a deployment, for the command line and the gateway."""

from typing import Any

from bucketcast.aws.clients import Aws
from bucketcast.deployment import Deployed, DynamicSetup
from bucketcast.dynamic_targets.aws.resources import Resources
from bucketcast.dynamic_targets.aws.targets import DynamicTargets
from bucketcast.state.dynamic_targets import Table


def dynamic_targets_of(deployment: Deployed, aws: Aws) -> DynamicTargets:
    """Return the dynamic targets of a deployment."""
    deployed = frozenset(target.arn for target in deployment.targets if target.dynamic is None)
    return targets_of(
        deployment.stack, deployment.state_table, deployment.dynamic, aws, deployed=deployed
    )


def targets_of(
    stack: str, table: str, setup: DynamicSetup, aws: Aws, **options: Any
) -> DynamicTargets:
    """Return the dynamic targets of a stack, with these options of `DynamicTargets`."""
    resources = Resources(stack, setup, aws)
    return DynamicTargets(setup, Table(table, aws.dynamodb), resources, **options)
