"""Ceph's counters of topics, from the counts of targets."""

from collections.abc import Iterable
from typing import NamedTuple

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment.stats import TargetStats
from bucketcast.destination import Destination
from bucketcast.state.counters import Counters


class Pubsub(NamedTuple):
    """The counters by Ceph's names, without `pubsub_`.

    `event_triggered` and `event_lost` count events per notification: all those with a topic, and
    those that were given up. `push_ok` and `push_fail` count pushes with retries; `push_pending`
    are messages being pushed now, each of which may hold many events.
    """

    event_triggered: int = 0
    event_lost: int = 0
    push_ok: int = 0
    push_fail: int = 0
    push_pending: int = 0


def pubsub(found: Iterable[TargetStats], triggered: int) -> Pubsub:
    """Return the counters; `triggered` includes events for deleted topics."""
    # A persistent topic has its target's counts, another those of its own ARN.
    topics = [each for each in found if Destination.of(each.arn).of_topic]
    return Pubsub(
        event_triggered=triggered - sum(each.counts.skipped for each in topics),
        event_lost=sum(each.counts.dead for each in topics),
        push_ok=sum(each.counts.sent for each in topics),
        push_fail=sum(each.counts.failed + each.counts.dead for each in topics),
        push_pending=sum(each.in_flight or 0 for each in topics),
    )


def counted(found: Iterable[TargetStats], table: str, aws: Aws) -> Pubsub:
    """Return the counters of a deployment with these target statistics.

    Raises:
        AwsError: AWS cannot be reached.
    """
    with aws_errors():
        triggered = Counters(table, lambda: aws.dynamodb).triggered()
    return pubsub(found, triggered)
