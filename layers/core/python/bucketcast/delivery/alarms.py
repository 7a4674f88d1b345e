"""The two alarms of a queue: what waits too long, and what is dead.

Each fault that keeps events waiting is seen by one of two metrics. Ours is written by the function
before it does anything else: a target that is down, a function that is too slow, dies of every
batch or cannot load its code. SQS's own is for a function that is not called at all; it leaves out
what was received three times.

CloudWatch bills an alarm by its metrics, so that a queue's are three: $0.30 a month.
"""

from collections.abc import Mapping
from typing import Any, Final

from bucketcast.limits import (
    ALARM_MINUTES,
    LATE_SECONDS,
    NEARLY_DROPPED_DAYS,
    OLDEST,
    RETENTION_DAYS,
    TOO_OLD,
)

PARTS: Final = ("dead", "waiting")
"""What the names of a queue's alarms end with."""
_QUEUES: Final = "AWS/SQS"
_PERIOD: Final = 60

Alarm = dict[str, Any]
"""An alarm as both CloudWatch's API and CloudFormation have it."""


def of_queue(stack: str, name: str, queue: str, dead: str, *, off: bool = False) -> list[Alarm]:
    """Return the alarms of a queue and its dead-letter queue, `<name>-dead` and `<name>-waiting`.

    `queue` and `dead` are their names; our metrics' namespace is the `stack`'s name. The events of
    a target that is `off` are meant to wait, but not until SQS drops them.
    """
    text = (
        f"Events of {name}, which is off, have waited for over {NEARLY_DROPPED_DAYS} days, and "
        f"SQS drops them after {RETENTION_DAYS}."
        if off
        else f"Events of {name} wait for over 15 minutes: what they go to is down, too slow or "
        "refuses the login, or their function does not run or keep up."
    )
    metrics = [
        _metric("tried", stack, OLDEST, {"queue": queue}),
        _metric("untried", _QUEUES, "ApproximateAgeOfOldestMessage", {"QueueName": queue}),
    ]
    # Either is missing at times: ours while all is well, SQS's after six idle hours.
    longest = "MAX([FILL(tried, 0), FILL(untried, 0)])"
    longest_wait = {"Id": "waiting", "Expression": longest, "ReturnData": True}
    return [
        of_lost(
            name, dead, f"Events lie in the dead-letter queue of {name}: read their reasons there."
        ),
        {
            "AlarmName": f"{name}-waiting",
            "AlarmDescription": text,
            "Metrics": [longest_wait, *metrics],
            **_above(LATE_SECONDS if off else TOO_OLD, among=ALARM_MINUTES),
        },
    ]


def of_lost(name: str, queue: str, description: str) -> Alarm:
    """Return the alarm on a queue that should be empty, `<name>-dead`."""
    found = _metric("dead", _QUEUES, "ApproximateNumberOfMessagesVisible", {"QueueName": queue})
    return {
        "AlarmName": f"{name}-dead",
        "AlarmDescription": description,
        "Metrics": [{**found, "ReturnData": True}],
        **_above(0),
    }


def _metric(id_: str, namespace: str, name: str, dimensions: Mapping[str, str]) -> dict[str, Any]:
    """Return the maximum of a metric, by the minute."""
    named = [{"Name": key, "Value": value} for key, value in dimensions.items()]
    metric = {"Namespace": namespace, "MetricName": name, "Dimensions": named}
    of = {"Metric": metric, "Period": _PERIOD, "Stat": "Maximum"}
    return {"Id": id_, "MetricStat": of, "ReturnData": False}


def _above(threshold: float, among: int = 1) -> dict[str, Any]:
    """Return when an alarm fires: above a threshold in one of so many minutes."""
    return {
        "Threshold": threshold,
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": among,
        "DatapointsToAlarm": 1,
        "TreatMissingData": "notBreaching",
    }
