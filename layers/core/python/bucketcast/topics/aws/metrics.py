"""Ceph's counters of topics, from the counts of targets."""

from collections.abc import Iterable
from typing import NamedTuple

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment.status import TargetStats
from bucketcast.destination import Destination, TopicArn
from bucketcast.state.counters import Counters


class Pubsub(NamedTuple):
    """The counters by Ceph's names, without `pubsub_`.

    `event_triggered` counts the events of notifications with a topic, `event_lost` those that were
    dead-lettered. `push_ok` and `push_fail` count pushes, each retry too. `push_pending` counts
    messages in flight; each may hold many events.
    """

    event_triggered: int = 0
    event_lost: int = 0
    push_ok: int = 0
    push_fail: int = 0
    push_pending: int = 0


def sum_pubsub(stats: Iterable[TargetStats], triggered: int) -> Pubsub:
    """Return the counters; `triggered` includes events for deleted topics."""
    topics = [topic for topic in stats if isinstance(Destination.of(topic.arn), TopicArn)]
    return Pubsub(
        event_triggered=triggered - sum(topic.counts.skipped for topic in topics),
        event_lost=sum(topic.counts.dead for topic in topics),
        push_ok=sum(topic.counts.sent for topic in topics),
        push_fail=sum(topic.counts.failed + topic.counts.dead for topic in topics),
        push_pending=sum(topic.in_flight or 0 for topic in topics),
    )


def read_pubsub(stats: Iterable[TargetStats], table: str, aws: Aws) -> Pubsub:
    """Read the counters of a deployment with these target statistics.

    Raises:
        AwsError: AWS cannot be reached.
    """
    with aws_errors():
        triggered = Counters(table, lambda: aws.dynamodb).read_triggered()
    return sum_pubsub(stats, triggered)
