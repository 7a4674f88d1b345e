"""Rules of EventBridge, without a statement in the policy of what they call for each.

CDK's own targets add one, and a queue's policy takes 20. The names of all our rules begin as the
stack's does, so one statement lets them all in.
"""

from collections.abc import Mapping
from typing import Any, Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from constructs import Construct

from bucketcast_cdk.ingest import Ingest

_A_DAY: Final = Duration.hours(24)
_TRIES: Final = 185


def of_stack(stack: Stack) -> str:
    """Return the ARNs of all our rules, with a `*`; `stack` is the first one, not a nested one."""
    where = f"arn:{stack.partition}:events:{stack.region}:{stack.account}:rule"
    return f"{where}/{stack.stack_name}-*"


def make(
    scope: Construct,
    construct_id: str,
    *,
    name: str,
    description: str,
    pattern: Mapping[str, Any],
    target: events.CfnRule.TargetProperty,
) -> events.Rule:
    """Make a rule that calls one target, whose own policy lets it."""
    named = {key.replace("-", "_"): value for key, value in pattern.items()}
    made = events.Rule(
        scope,
        construct_id,
        rule_name=name,
        description=description,
        event_pattern=events.EventPattern(**named),
    )
    cfn = made.node.default_child
    if isinstance(cfn, events.CfnRule):
        cfn.targets = [target]
    return made


def to_queue(
    scope: Construct,
    construct_id: str,
    *,
    name: str,
    description: str,
    pattern: Mapping[str, Any],
    ingest: Ingest,
) -> events.Rule:
    """Make a rule that writes to the ingress queue."""
    return make(
        scope,
        construct_id,
        name=name,
        description=description,
        pattern=pattern,
        target=events.CfnRule.TargetProperty(
            id="ingress",
            arn=ingest.queue.queue_arn,
            # EventBridge's own last resort: the same place to look, the same bodies.
            dead_letter_config=events.CfnRule.DeadLetterConfigProperty(arn=ingest.dead.queue_arn),
            retry_policy=events.CfnRule.RetryPolicyProperty(
                maximum_event_age_in_seconds=_A_DAY.to_seconds(), maximum_retry_attempts=_TRIES
            ),
        ),
    )
