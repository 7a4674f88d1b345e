"""Charts of a target over an hour to a month: what CloudWatch has, or what this console counted.

The functions of a local stack write their metrics to logs only: there, the console counts for as
long as it runs, and knows no latency.
"""

import time
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
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
_LOOKS: Final = 1_440
Point = tuple[int, float, str]
"""A time in Unix ms, a number, and the number as text."""
Series = dict[str, dict[int, float]]
"""Numbers by title, and by the Unix seconds at which their step begins."""


class History:
    """What each target had sent, failed and waiting in the last day: a look a minute."""

    def __init__(self) -> None:
        self._looks: dict[str, deque[tuple[float, int, int, int]]] = {}

    def add(self, statuses: Iterable[Status]) -> None:
        now = time.time()
        for status in statuses:
            looks = self._looks.setdefault(status.target.arn, deque(maxlen=_LOOKS))
            if not looks or now - looks[-1][0] >= LOOK_SECONDS:
                events = status.events
                waiting = status.health.waiting or 0
                looks.append((now, events.sent, events.failed + events.dead, waiting))

    def series(self, arn: str, since: int, step: int) -> Series:
        """Return the numbers since a time; what came between two looks is of the later one."""
        found: Series = defaultdict(lambda: defaultdict(float))
        looks = list(self._looks.get(arn, ()))
        for (_, *before), (at, sent, failed, waiting) in pairwise(looks):
            begin = int(at) // step * step
            if begin >= since:
                found[_DELIVERED][begin] += max(0, sent - before[0])
                found[_FAILED][begin] += max(0, failed - before[1])
                found[_WAITING][begin] = max(found[_WAITING][begin], waiting)
        return found


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
    found = _read(target, stack, times, aws) or history.series(target.arn, times[0], step)
    shown = []
    for title, numbers in found.items():
        # Without an event there is no metric: but a latency is then unknown, not 0.
        known = sorted(numbers) if title == _SLOW else times
        points = [(1_000 * at, numbers.get(at, 0.0)) for at in known]
        shown.append((title, [(at, number, f"{number:,.0f}") for at, number in points]))
    return shown


def _read(target: DeployedTarget, stack: str, times: range, aws: Aws) -> Series:
    """Return what CloudWatch has."""
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
    found: Series = defaultdict(lambda: defaultdict(float))
    for result in answer["MetricDataResults"]:
        title = _METRICS[int(result["Id"].removeprefix("m"))][0]
        for at, value in zip(result["Timestamps"], result["Values"], strict=True):
            found[title][int(at.timestamp())] += value
    return found
