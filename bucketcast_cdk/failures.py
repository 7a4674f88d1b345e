"""Failures of the pipeline: runs of jobs that fail, and scans that cannot be started.

All go to one queue with an alarm. People read it, no function does: a message names the failed run,
and is deleted by hand once the failure is dealt with.
"""

from collections.abc import Sequence
from typing import Final

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.limits import DEAD_DAYS
from bucketcast_cdk import eventbridge
from bucketcast_cdk.queues import make_queue

_FAILED: Final = ["FAILED", "TIMEOUT", "ERROR"]


def failures_queue(scope: Construct, jobs: Sequence[str]) -> sqs.Queue:
    """Make the queue `<stack>-pipeline-dead`, and the rule that sends it failed runs of `jobs`."""
    scope, stack = Construct(scope, "Lost"), Stack.of(scope)
    # The messages only repeat what the logs have.
    kept, name = RemovalPolicy.DESTROY, f"{stack.stack_name}-pipeline-dead"
    queue = make_queue(scope, "Queue", name, DEAD_DAYS, removal_policy=kept)
    eventbridge.allow_writing(queue)
    events.CfnRule(
        Construct(scope, "Runs"),
        "Resource",
        name=f"{stack.stack_name}-runs",
        description="Runs of the jobs that failed",
        event_pattern={
            "source": ["aws.glue"],
            "detail-type": ["Glue Job State Change"],
            "detail": {"jobName": list(jobs), "state": _FAILED},
        },
        targets=[events.CfnRule.TargetProperty(id="lost", arn=queue.queue_arn)],
    )
    return queue
