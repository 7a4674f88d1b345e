"""The run-time targets of a deployment, from a terminal or the gateway."""

from typing import Any

from bucketcast.aws.clients import Aws
from bucketcast.aws.deployed import Deployed
from bucketcast.aws.runtime.alarms import Alarms
from bucketcast.aws.runtime.resources import Resources
from bucketcast.aws.runtime.table import Table
from bucketcast.aws.runtime.targets import RuntimeTargets
from bucketcast.errors import BucketcastError
from bucketcast.runtime.model import Runtime


class NoRuntimeError(BucketcastError):
    """The stack does not support run-time targets."""


def run_time_targets(there: Deployed, aws: Aws) -> RuntimeTargets:
    """Return the run-time targets of this deployment, without changing those of topics.

    Raises:
        NoRuntimeError: its version does not support them.
    """
    if there.runtime is None:
        raise NoRuntimeError(
            f"the stack {there.stack} has no functions for run-time targets: [runtime] kinds in "
            "bucketcast.toml, and a deploy, make them"
        )
    by_file = frozenset(target.arn for target in there.targets if target.made is None)
    return targets_of(
        there.stack, there.rules_table, there.runtime, aws, deployed=by_file, for_topics=False
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
