"""Rules of EventBridge, which share one statement in the policy of what they call.

CDK's own targets add a statement for each rule, and a queue's policy takes 20. The names of all our
rules begin with the stack's name, so one statement allows them all. Those of a stack whose name
begins like ours do not call our functions.

Each rule is the `Resource` of a construct, as CDK's own are, which gives it the logical id that it
had in release 1.0.0: with another, CloudFormation would make a second rule with the same name.
"""

from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast_cdk.function import Function
from bucketcast_cdk.permissions import arn
from bucketcast_cdk.queues import allow_service

_A_DAY: Final = Duration.hours(24)
_TRIES: Final = 185


def allow_calls(function: Function, rules: str) -> None:
    """Allow our rules of these names to call a function, whose policy has at most 20 KB."""
    function.function.add_permission(
        "Rules",
        principal=iam.ServicePrincipal("events.amazonaws.com"),
        source_account=Stack.of(function).account,
        source_arn=_rules(function, rules),
    )


def allow_writing(queue: sqs.Queue) -> None:
    """Allow all our rules to write to a queue."""
    of_ours = {"ArnLike": {"aws:SourceArn": _rules(queue, "*")}}
    allow_service(queue, "RulesOfThisStack", "events", of_ours)


def to_ingress(queue: sqs.Queue, dead: sqs.Queue) -> events.CfnRule.TargetProperty:
    """Return the ingress queue as the target of a rule."""
    return events.CfnRule.TargetProperty(
        id="ingress",
        arn=queue.queue_arn,
        # Events that EventBridge gives up go to ingest's dead letters, with the same bodies.
        dead_letter_config=events.CfnRule.DeadLetterConfigProperty(arn=dead.queue_arn),
        retry_policy=events.CfnRule.RetryPolicyProperty(
            maximum_event_age_in_seconds=_A_DAY.to_seconds(), maximum_retry_attempts=_TRIES
        ),
    )


def _rules(scope: Construct, name: str) -> str:
    """Return the ARN of our rules whose name, after the stack's, is this one."""
    return arn(scope, "events", f"rule/{Stack.of(scope).stack_name}-{name}")
