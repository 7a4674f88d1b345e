"""Charts of a target over an hour to a month: what CloudWatch has, or what this console counted.

The functions of a local stack write their metrics to logs only: there, the console counts for as
long as it runs, and knows no latency.
"""

import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment import DeployedTarget
from bucketcast.deployment.status import Status
from bucketcast.telemetry import LATENCY

PERIODS: Final[Mapping[str, tuple[int, int, str]]] = {
    "hour": (3_600, 60, "minute"),
    "day": (86_400, 900, "15 minutes"),
    "week": (7 * 86_400, 3_600, "hour"),
    "month": (30 * 86_400, 21_600, "6 hours"),
}
"""The seconds of each period, and those from one point to the next, also in words."""
_DELIVERED, _FAILED, _SLOW, _WAITING = "Delivered", "Failed", "Latency, 99 %, ms", "Waiting"
_METRICS: Final = (
    (_DELIVERED, "EventsDelivered", "Sum"),
    (_FAILED, "EventsRetried", "Sum"),
    (_FAILED, "EventsDead", "Sum"),
    (_SLOW, LATENCY, "p99"),
    (_WAITING, "ApproximateNumberOfMessagesVisible", "Maximum"),
)
LOOK_SECONDS: Final = 60
_RATE_LOOKS: Final = 3
"""On AWS, functions count in steps of a minute."""
_LOOKS: Final = 1_440
Sample = tuple[str, float, float]
"""A title, a time in Unix seconds, and a number."""
Point = tuple[int, float, str]
"""A time in Unix ms, a number, and the number as text."""


class History:
    """What each target had sent, failed and waiting in the last day: a look a minute."""

    def __init__(self) -> None:
        self._looks: dict[str, deque[tuple[float, int, int, int]]] = {}

    def add(self, status: Status) -> None:
        looks = self._looks.setdefault(status.target.arn, deque(maxlen=_LOOKS))
        if not looks or time.time() - looks[-1][0] >= LOOK_SECONDS:
            sent, failed, dead, _ = status.events
            looks.append((time.time(), sent, failed + dead, status.health.waiting or 0))

    def rate(self, status: Status) -> float:
        """Return how many events a minute a target got in the last two minutes or so."""
        began, sent, *_ = [*self._looks[status.target.arn]][-_RATE_LOOKS:][0]
        seconds = time.time() - began
        return 60 * max(0, status.events.sent - sent) / seconds if seconds > 0 else 0.0

    def samples(self, arn: str) -> Iterator[Sample]:
        """Yield what came between two looks, at the time of the second one."""
        for (_, *before), (at, sent, failed, waiting) in pairwise([*self._looks.get(arn, ())]):
            yield _DELIVERED, at, max(0, sent - before[0])
            yield _FAILED, at, max(0, failed - before[1])
            yield _WAITING, at, waiting


def charts(
    target: DeployedTarget, stack: str, period: str, aws: Aws, history: History
) -> list[tuple[str, list[Point]]]:
    """Return a target's charts, each a title and points; none if nothing is known.

    Raises:
        AwsError: CloudWatch does not answer.
    """
    seconds, step, _ = PERIODS[period]
    end = int(time.time()) // step * step
    times = range(end - seconds + step, end + step, step)
    found: dict[str, dict[int, float]] = defaultdict(lambda: dict.fromkeys(times, 0.0))
    # Without an event there is no metric, which means 0; these two are unknown then.
    found[_SLOW], found[_WAITING] = {}, {}
    for title, at, number in [*_metrics(target, stack, times, aws)] or history.samples(target.arn):
        if (begin := int(at) // step * step) in times:
            known = found[title].get(begin, 0.0)
            found[title][begin] = max(known, number) if title == _WAITING else known + number
    return [
        (title, [(1_000 * at, number, f"{number:,.0f}") for at, number in sorted(numbers.items())])
        for title, numbers in sorted(found.items())
        if numbers
    ]


def _metrics(target: DeployedTarget, stack: str, times: range, aws: Aws) -> Iterator[Sample]:
    """Yield what CloudWatch has."""
    start, end = (datetime.fromtimestamp(at, UTC) for at in (times.start, times.stop))
    events = stack, "target", target.arn
    queue = "AWS/SQS", "QueueName", target.queue.rpartition("/")[2]
    queries: list[Any] = []
    for number, (title, name, statistic) in enumerate(_METRICS):
        space, dimension, own = queue if title == _WAITING else events
        dimensions = [{"Name": dimension, "Value": own}]
        metric = {"Namespace": space, "MetricName": name, "Dimensions": dimensions}
        stat = {"Metric": metric, "Period": times.step, "Stat": statistic}
        queries.append({"Id": f"m{number}", "MetricStat": stat})
    with aws_errors():
        answer = aws.cloudwatch.get_metric_data(
            MetricDataQueries=queries, StartTime=start, EndTime=end
        )
    for result in answer["MetricDataResults"]:
        title, *_ = _METRICS[int(result["Id"].removeprefix("m"))]
        for at, value in zip(result["Timestamps"], result["Values"], strict=True):
            yield title, at.timestamp(), value
