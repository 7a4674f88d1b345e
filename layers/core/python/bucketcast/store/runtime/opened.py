"""The run-time targets of a deployment, from a terminal or the gateway."""

from bucketcast.errors import BucketcastError
from bucketcast.store.access import Aws
from bucketcast.store.deployed import Deployed
from bucketcast.store.runtime.alarms import Alarms
from bucketcast.store.runtime.resources import Resources
from bucketcast.store.runtime.table import Table
from bucketcast.store.runtime.targets import RuntimeTargets


class NoRuntimeError(BucketcastError):
    """The stack has nothing for targets made at run time."""


def run_time_targets(there: Deployed, aws: Aws) -> RuntimeTargets:
    """Those of this deployment, to be made, changed and removed.

    Raises:
        NoRuntimeError: it is older than they are.
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
        Alarms(aws.cloudwatch, there.runtime.topic),
        deployed=frozenset(target.arn for target in there.targets if target.made is None),
        for_topics=False,
    )
