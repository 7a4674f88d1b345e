"""Rules of EventBridge, which share one statement in the policy of the queue that they call.

CDK's own targets add a statement for each rule, and a queue's policy takes 20. The names of all our
rules begin with the stack's name, so one statement allows them all.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_cdk import CfnOutput, Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from constructs import Construct

from bucketcast_cdk.ingest import Ingest
from bucketcast_cdk.permissions import arn

_A_DAY: Final = Duration.hours(24)
_TRIES: Final = 185


def rules_arn(stack: Stack) -> str:
    """Return the ARNs of all our rules, with a `*`."""
    return arn(stack, "events", f"rule/{stack.stack_name}-*")


def make(  # noqa: PLR0913 - the properties of a rule
    scope: Construct,
    construct_id: str,
    *,
    name: str,
    description: str,
    pattern: Mapping[str, Any],
    target: events.CfnRule.TargetProperty,
    bus: events.IEventBus | None = None,
) -> events.Rule:
    """Make a rule that calls one target, whose own policy allows it; `bus` is the default one."""
    named = {key.replace("-", "_"): value for key, value in pattern.items()}
    rule = events.Rule(
        scope,
        construct_id,
        rule_name=name,
        event_bus=bus,
        description=description,
        event_pattern=events.EventPattern(**named),
    )
    cfn = rule.node.default_child
    if isinstance(cfn, events.CfnRule):
        cfn.targets = [target]
    return rule


def allow_forwarding(scope: Construct, ingest: Ingest, accounts: Sequence[str]) -> None:
    """Make a bus to which other accounts forward their events of S3, and its rule to the queue.

    EventBridge itself writes the account into forwarded events, and refuses events of `aws.s3`
    that a client puts.
    """
    if not accounts:
        return
    stack = Stack.of(scope)
    name = f"{stack.stack_name}-accounts"  # rules on a bus have its name in their ARN: `rules_arn`
    bus = events.EventBus(
        scope, "Bus", event_bus_name=name, description="S3's events of other accounts"
    )
    statement = iam.PolicyStatement(
        sid="Accounts",
        principals=[iam.AccountPrincipal(account) for account in accounts],
        actions=["events:PutEvents"],
        resources=[stack.format_arn(service="events", resource="event-bus", resource_name=name)],
    )
    cfn = bus.node.default_child
    if isinstance(cfn, events.CfnEventBus):
        cfn.policy = iam.PolicyDocument(statements=[statement])
    make(
        scope,
        "BusRule",
        name=f"{name}-to-ingress",
        description="S3's events of other accounts",
        pattern={"source": ["aws.s3"], "account": list(accounts)},
        target=ingress(ingest),
        bus=bus,
    )
    CfnOutput(scope, "EventBus", value=bus.event_bus_arn)


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
