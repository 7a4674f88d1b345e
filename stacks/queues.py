"""A queue with a dead-letter queue and the two alarms that say that it needs somebody."""

from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.lifetime import DEAD_DAYS, RETENTION_DAYS
from bucketcast.queues import queue_names

_TOO_OLD: Final = Duration.minutes(15)


class QueuePair(Construct):
    """`<name>` and `<name>-dead`; both `.fifo` where order is asked for."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        fifo: bool,
        visibility: Duration,
        max_receive_count: int,
    ) -> None:
        super().__init__(scope, construct_id)
        names = queue_names(name, fifo=fifo)
        # SQS lets only a FIFO queue carry the property, so it is absent from a standard one.
        order = True if fifo else None
        self.dead = sqs.Queue(
            self,
            "Dead",
            queue_name=names[1],
            fifo=order,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(DEAD_DAYS),
        )
        self.queue = sqs.Queue(
            self,
            "Queue",
            queue_name=names[0],
            fifo=order,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(RETENTION_DAYS),
            visibility_timeout=visibility,
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.dead, max_receive_count=max_receive_count
            ),
        )
        self._alarm(
            "DeadLetters",
            f"{name}-dead",
            self.dead.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(1), statistic="Maximum"
            ),
            0,
            f"Events lie in {names[1]}: read their reason, cure it, then redrive.",
        )
        self._alarm(
            "Waiting",
            f"{name}-waiting",
            self.queue.metric_approximate_age_of_oldest_message(
                period=Duration.minutes(1), statistic="Maximum"
            ),
            _TOO_OLD.to_seconds(),
            f"The oldest event in {names[0]} has waited for over 15 minutes.",
        )

    def _alarm(
        self,
        construct_id: str,
        name: str,
        metric: cloudwatch.Metric,
        threshold: float,
        description: str,
    ) -> None:
        cloudwatch.Alarm(
            self,
            construct_id,
            alarm_name=name,
            metric=metric,
            threshold=threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD,
            evaluation_periods=1,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=description,
        )
