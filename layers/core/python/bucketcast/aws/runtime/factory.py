"""The run-time targets of a deployment, from a terminal or the gateway."""

from bucketcast.aws.clients import Aws
from bucketcast.aws.deployed import Deployed
from bucketcast.aws.runtime.alarms import Alarms
from bucketcast.aws.runtime.resources import Resources
from bucketcast.aws.runtime.table import Table
from bucketcast.aws.runtime.targets import RuntimeTargets
from bucketcast.errors import BucketcastError


class NoRuntimeError(BucketcastError):
    """The stack does not support run-time targets."""


def run_time_targets(there: Deployed, aws: Aws) -> RuntimeTargets:
    """Return the run-time targets of this deployment.

    Raises:
        NoRuntimeError: its version does not support them.
    """
    if there.runtime is None:
        raise NoRuntimeError(
            f"the stack {there.stack} has no functions for run-time targets: [runtime] kinds in "
            "bucketcast.toml, and a deploy, make them"
        )
    return RuntimeTargets(
        there.runtime,
        Table(there.rules_table, aws.dynamodb),
        Resources(there.runtime, aws.sqs, aws.mappings, aws.secretsmanager),
        Alarms(aws.cloudwatch, there.stack, there.runtime.topic),
        deployed=frozenset(target.arn for target in there.targets if target.made is None),
        for_topics=False,
    )
