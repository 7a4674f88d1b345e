"""Rules of EventBridge, which share one statement in the policy of the queue that they call.

CDK's own targets add a statement for each rule, and a queue's policy takes 20. The names of all our
rules begin with the stack's name, so one statement allows them all.
"""

from collections.abc import Mapping
from typing import Any, Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from constructs import Construct

from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.permissions import arn

_A_DAY: Final = Duration.hours(24)
_TRIES: Final = 185


def rules_arn(stack: Stack) -> str:
    """Return the ARNs of all our rules, with a `*`."""
    return arn(stack, "events", f"rule/{stack.stack_name}-*")


def make(
    scope: Construct,
    construct_id: str,
    *,
    name: str,
    description: str,
    pattern: Mapping[str, Any],
    target: events.CfnRule.TargetProperty,
) -> events.Rule:
    """Make a rule that calls one target, whose own policy allows it."""
    named = {key.replace("-", "_"): value for key, value in pattern.items()}
    rule = events.Rule(
        scope,
        construct_id,
        rule_name=name,
        description=description,
        event_pattern=events.EventPattern(**named),
    )
    cfn = rule.node.default_child
    if isinstance(cfn, events.CfnRule):
        cfn.targets = [target]
    return rule


def ingress(ingest: Ingest) -> events.CfnRule.TargetProperty:
    """Return the ingress queue as the target of a rule."""
    return events.CfnRule.TargetProperty(
        id="ingress",
        arn=ingest.queue.queue_arn,
        # Events that EventBridge gives up go to ingest's dead letters, with the same bodies.
        dead_letter_config=events.CfnRule.DeadLetterConfigProperty(arn=ingest.dead.queue_arn),
        retry_policy=events.CfnRule.RetryPolicyProperty(
            maximum_event_age_in_seconds=_A_DAY.to_seconds(), maximum_retry_attempts=_TRIES
        ),
    )
