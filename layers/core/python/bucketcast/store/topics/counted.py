"""Ceph's counters of topics, from what is counted of each target."""

from collections.abc import Iterable
from typing import NamedTuple

from bucketcast.store.access import Aws, explained
from bucketcast.store.counters import Counters
from bucketcast.store.progress import Progress
from bucketcast.topics.model import is_topic, is_topics_target


class Pubsub(NamedTuple):
    """The counters by Ceph's names, without `pubsub_`.

    `event_triggered` and `event_lost` count an event once for each notification: those that have a
    topic, and those that were given up. `push_ok` and `push_fail` count pushes, tries again too;
    `push_pending` are messages being pushed just now, each of which may hold many events.
    """

    event_triggered: int = 0
    event_lost: int = 0
    push_ok: int = 0
    push_fail: int = 0
    push_pending: int = 0


def pubsub(found: Iterable[Progress], triggered: int) -> Pubsub:
    """The counters; `triggered` counts events for topics that were deleted, too."""
    topics = [each for each in found if of_topic(each.arn)]
    return Pubsub(
        event_triggered=triggered - sum(each.counts.skipped for each in topics),
        event_lost=sum(each.counts.dead for each in topics),
        push_ok=sum(each.counts.sent for each in topics),
        push_fail=sum(each.counts.failed + each.counts.dead for each in topics),
        push_pending=sum(each.in_flight or 0 for each in topics),
    )


def counted(found: Iterable[Progress], table: str, aws: Aws) -> Pubsub:
    """The counters of a deployment, whose targets fare so.

    Raises:
        AwsError: AWS cannot be asked.
    """
    with explained():
        triggered = Counters(table, lambda: aws.dynamodb).triggered()
    return pubsub(found, triggered)


def of_topic(arn: str) -> bool:
    """Whether what is counted under this ARN is a topic's.

    A persistent one has the counts of its own target, another those of its ARN.
    """
    return is_topic(arn) or is_topics_target(arn)
