"""What ingest counts and compares: missing events, by a schedule, and discarded ones."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast import telemetry
from bucketcast.aws import balances
from bucketcast.aws.counters import Counters, HourCounts, Last
from bucketcast.delivery import tracing
from bucketcast.delivery.alarms import MISSING
from bucketcast.queues.depth import depth
from bucketcast.queues.fanout import Fanout

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

_DISCARDED: Final = "discarded: the target's queue holds as many events as queue_limit allows"


def messages(arn: str, fanout: Fanout, sqs: "SQSClient") -> int | None:
    """Return how many messages a target's queue has; None if that is unknown."""
    url = fanout.queue_url(arn)
    if url is None:
        return None
    try:
        return depth(url, sqs).all
    except (BotoCoreError, ClientError) as error:
        telemetry.logger.warning("a queue is not counted", target=arn, reason=str(error))
        return None


def check(counters: Counters, fanout: Fanout, sqs: "SQSClient") -> Mapping[str, int]:
    """Report missing events, and add old hours up; return how many are missing, by target."""
    found = balances.balances(counters, lambda arn: messages(arn, fanout, sqs))
    for each in found:
        if each.missing:
            telemetry.logger.error(
                "events are missing: they were received, and no queue has them",
                target=each.arn,
                missing=each.lost,
                hours=len(each.missing),
            )
    lost = {each.arn: each.lost for each in found if each.lost}
    telemetry.count("", **{MISSING: sum(lost.values())})
    telemetry.flush()
    for each in found:  # takes several calls an hour of each target: the alarm does not wait for it
        balances.fold(counters, each)
    return lost


def report_overflow(counters: Counters, fanout: Fanout) -> None:
    """Count what came for targets with a limit, and report what was discarded."""
    came, discarded = fanout.overflow.take()
    for arn, hours in came.items():
        counts = {
            hour: HourCounts(received=each.received, discarded=each.discarded)
            for hour, each in hours.items()
        }
        counters.add_hours(arn, counts, Last())
    for arn, gone in discarded.items():
        telemetry.logger.warning(_DISCARDED, target=arn, discarded=len(gone))
        telemetry.trace(tracing.dispatched(arn, tracing.Outcomes(dead={_DISCARDED: gone})))
        telemetry.count(arn, EventsDiscarded=len(gone))
        telemetry.flush()
