"""The schedule by which ingest compares the counters of targets, every quarter of an hour."""

from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as event_targets
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

_EVERY: Final = Duration.minutes(15)


def check_regularly(scope: Construct, function: lambda_.Function) -> None:
    """Call ingest by a schedule: it can find every queue, and runs anyway."""
    events.Rule(
        scope,
        "Balance",
        rule_name=f"{Stack.of(scope).stack_name}-balance",
        description="Bucketcast: compare what targets received with what became of it",
        schedule=events.Schedule.rate(_EVERY),
        targets=[
            event_targets.LambdaFunction(
                function,
                event=events.RuleTargetInput.from_object({"balance": True}),
                retry_attempts=0,
                max_event_age=_EVERY,
            )
        ],
    )
