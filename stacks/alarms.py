"""The alarms of a queue and its function, and who is told of them."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from aws_cdk import Annotations, Duration, RemovalPolicy, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.config import AlarmOptions
from bucketcast.config.alarms import NOBODY
from bucketcast.lifetime import RETENTION_DAYS

NAMESPACE: Final = "Bucketcast"
OLDEST: Final = "OldestEventAge"
_TOO_OLD: Final = Duration.minutes(15)
_NEARLY_DROPPED: Final = Duration.days(10)
# Of the 120,000 messages that SQS lets be in flight. At that number it gives out no more, and the
# queue stands still although its function is well.
_MANY: Final = 100_000
# The age is told when the function runs, and what waits comes back after 20 minutes at the longest.
# Over a shorter time the alarm would go off and on again with each try.
_MINUTES: Final = 30
_HOUR: Final = 12  # of five minutes
_LOOK: Final = Duration.minutes(1)


class Watched(NamedTuple):
    """A queue, its dead letters, and the function that reads it.

    `name` is what its alarms are called by, `about` the dimensions of the function's own metrics.
    """

    name: str
    queue: sqs.Queue
    dead: sqs.Queue
    function: lambda_.Function
    about: Mapping[str, str]


def watch(scope: Construct, it: Watched, *, paused: bool = False) -> None:
    """Make the five alarms of a queue, `<name>-…`.

    Where a target is `paused` its events are meant to wait, but not until SQS drops them.

    Two look at the age of what waits, because each is blind to something. SQS's own leaves out
    messages that were received three times, which are all of a target that is down; ours needs a
    function that runs. One that breaks off at every call is seen by neither.
    """
    _alarm(
        scope,
        "DeadLetters",
        f"{it.name}-dead",
        it.dead.metric_approximate_number_of_messages_visible(period=_LOOK, statistic="Maximum"),
        0,
        f"Events lie in the dead-letter queue of {it.name}: read their reason and cure it.",
    )
    _alarm(
        scope,
        "Waiting",
        f"{it.name}-waiting",
        cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=OLDEST,
            dimensions_map=dict(it.about),
            period=_LOOK,
            statistic="Maximum",
            unit=cloudwatch.Unit.SECONDS,
        ),
        _TOO_OLD.to_seconds(),
        f"The function of {it.name} was given an event that is over 15 minutes old: what it goes "
        "to is down, too slow, or refuses the login, or was until now.",
        among=_MINUTES,
    )
    _alarm(
        scope,
        "Unread",
        f"{it.name}-unread",
        it.queue.metric_approximate_age_of_oldest_message(period=_LOOK, statistic="Maximum"),
        (_NEARLY_DROPPED if paused else _TOO_OLD).to_seconds(),
        f"A message of {it.name}, which is off, has waited for over "
        f"{_NEARLY_DROPPED.to_days()} days, and SQS drops it after {RETENTION_DAYS}."
        if paused
        else f"A message of {it.name} has waited for over 15 minutes and was hardly tried: its "
        "function does not run, or does not keep up.",
    )
    _alarm(
        scope,
        "InFlight",
        f"{it.name}-in-flight",
        it.queue.metric_approximate_number_of_messages_not_visible(
            period=_LOOK, statistic="Maximum"
        ),
        _MANY,
        f"Over {_MANY:,} messages of {it.name} are in flight: at 120,000 SQS gives out no more.",
    )
    _alarm(
        scope,
        "Failing",
        f"{it.name}-failing",
        it.function.metric_errors(period=Duration.minutes(5), statistic="Sum"),
        0,
        f"The function of {it.name} broke off in two of the last twelve five minutes: too little "
        "memory or time, or a fault; read its log.",
        among=_HOUR,
        at_least=2,
    )


def _alarm(  # noqa: PLR0913 - what an alarm is made of
    scope: Construct,
    construct_id: str,
    name: str,
    metric: cloudwatch.IMetric,
    threshold: float,
    description: str,
    *,
    among: int = 1,
    at_least: int = 1,
) -> None:
    cloudwatch.Alarm(
        scope,
        construct_id,
        alarm_name=name,
        metric=metric,
        threshold=threshold,
        comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
        evaluation_periods=among,
        datapoints_to_alarm=at_least,
        treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        alarm_description=description,
    )


class Pager(Construct):
    """Tells a topic of every alarm of the stack, when it fires and when it is over."""

    def __init__(self, scope: Construct, construct_id: str, options: AlarmOptions) -> None:
        super().__init__(scope, construct_id)
        topic = (
            sns.Topic.from_topic_arn(self, "Topic", options.topic)
            if options.topic
            else self._make(options.email)
        )
        told = actions.SnsAction(topic)
        for found in Stack.of(self).node.find_all():
            if isinstance(found, cloudwatch.Alarm):
                found.add_alarm_action(told)
                found.add_ok_action(told)

    def _make(self, email: str) -> sns.ITopic:
        """A topic that is encrypted by a key of its own: CloudWatch may not use SNS's."""
        cloudwatch_itself = iam.ServicePrincipal("cloudwatch.amazonaws.com")
        ours = {"StringEquals": {"aws:SourceAccount": Stack.of(self).account}}
        key = kms.Key(
            self,
            "Key",
            description=f"{Stack.of(self).stack_name}: what the alarms tell",
            enable_key_rotation=True,
            # Nothing is kept that it has encrypted.
            removal_policy=RemovalPolicy.DESTROY,
            pending_window=Duration.days(7),
        )
        key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[cloudwatch_itself],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],  # in a key's own policy: this key
                conditions=ours,
            )
        )
        topic = sns.Topic(self, "Topic", master_key=key, enforce_ssl=True)
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[cloudwatch_itself],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions=ours,
            )
        )
        topic.add_subscription(subscriptions.EmailSubscription(email))
        return topic


def page(scope: Construct, options: AlarmOptions | None, *, local: bool) -> None:
    """Let the alarms that were made so far tell whom the configuration names, or say nobody."""
    if options:
        Pager(scope, "Pager", options)
    elif not local:
        Annotations.of(scope).add_warning_v2("bucketcast:nobody-is-paged", NOBODY)
