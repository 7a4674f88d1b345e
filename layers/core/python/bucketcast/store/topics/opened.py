"""The topics of a deployment, from a terminal or the gateway."""

from bucketcast.store import deployed
from bucketcast.store.access import Aws
from bucketcast.store.runtime.alarms import Alarms
from bucketcast.store.runtime.opened import NoRuntimeError
from bucketcast.store.runtime.resources import Resources
from bucketcast.store.runtime.table import Table
from bucketcast.store.runtime.targets import RuntimeTargets
from bucketcast.store.topics.items import Items
from bucketcast.store.topics.topics import Topics


def topics_of(stack: str, table: str, aws: Aws) -> Topics:
    """Those of a deployment, to be made, changed and deleted.

    Raises:
        NoRuntimeError: it is older than run-time targets.
        BucketcastError: there is no such stack, or AWS cannot be asked.
    """
    runtime = deployed.runtime(stack, aws)
    if runtime is None:
        raise NoRuntimeError(f"the stack {stack} is older than topics are: deploy it again")
    resources = Resources(runtime, aws.sqs, aws.mappings, aws.secretsmanager)
    alarms = Alarms(aws.cloudwatch, runtime.topic)
    targets = RuntimeTargets(runtime, Table(table, aws.dynamodb), resources, alarms)
    return Topics(Items(table, aws.dynamodb), runtime, targets, resources)
