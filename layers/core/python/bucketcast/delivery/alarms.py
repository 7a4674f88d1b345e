"""The alarms, all of them; the deploy, dynamic targets and the cost estimate read them here.

A queue has two: events wait too long, and there are dead letters. One of two metrics shows each
fault that keeps events waiting. The function writes ours before it does anything else: it shows a
target that is down, and a function that is too slow, crashes on every batch or cannot load its
code. SQS's own shows a function that is not called; it leaves out messages received three times.

CloudWatch bills an alarm by its metrics, three a queue: $0.30 a month.
"""

from collections.abc import Mapping
from typing import Any, Final

from bucketcast.limits import (
    ALARM_AGE_SECONDS,
    ALARM_MINUTES,
    NEARLY_DROPPED_DAYS,
    OLDEST_METRIC,
    PAUSED_ALARM_AGE_SECONDS,
    RETENTION_DAYS,
)

_QUEUES: Final = "AWS/SQS"
_PERIOD: Final = 60

Alarm = dict[str, Any]
"""An alarm as both CloudWatch's API and CloudFormation have it."""


def queue_alarms(
    stack: str, name: str, target: str, queue: str, dead: str, *, off: bool = False
) -> list[Alarm]:
    """Return the alarms of a queue and its dead-letter queue, `<name>-dead` and `<name>-waiting`.

    `target` is what people call the queue's target, or `ingress`. `queue` and `dead` are the
    queues' names; our metrics' namespace is the `stack`'s name. The events of a target that is
    `off` are meant to wait, but not until SQS drops them.
    """
    symptom = (
        f"it is off, and events have waited for over {NEARLY_DROPPED_DAYS} days; SQS drops them "
        f"after {RETENTION_DAYS}"
        if off
        else "events have waited for over 15 minutes: it is down, too slow or refuses them, "
        "or its function does not run or keep up"
    )
    waiting = _text(f"{target}: {symptom}", f"bucketcast --stack {stack} doctor", "waiting")
    dead_letters = _text(
        f"{target}: there are dead letters",
        f"bucketcast --stack {stack} dlq ls {target}",
        "dead",
    )
    metrics = [
        _metric("tried", stack, OLDEST_METRIC, {"queue": queue}),
        _metric("untried", _QUEUES, "ApproximateAgeOfOldestMessage", {"QueueName": queue}),
    ]
    # Either is missing at times: ours while all is well, SQS's after six idle hours.
    longest = "MAX([FILL(tried, 0), FILL(untried, 0)])"
    longest_wait = {"Id": "waiting", "Expression": longest, "ReturnData": True}
    return [
        _messages_alarm(name, dead, dead_letters),
        {
            "AlarmName": f"{name}-waiting",
            "AlarmDescription": waiting,
            "Metrics": [longest_wait, *metrics],
            **_above(PAUSED_ALARM_AGE_SECONDS if off else ALARM_AGE_SECONDS, among=ALARM_MINUTES),
        },
    ]


def queue_alarm_names(name: str) -> list[str]:
    """Return the names of a queue's alarms."""
    return [alarm["AlarmName"] for alarm in queue_alarms("", name, "", "", "")]


def pipeline_alarm(stack: str, queue: str) -> Alarm:
    """Return the alarm on the queue of failed jobs, `<stack>-pipeline-dead`."""
    text = _text(
        "pipeline: a job failed, or a scan could not be started; the queue's messages say which",
        f'aws sqs receive-message --queue-url "$(aws sqs get-queue-url --queue-name {queue} '
        '--query QueueUrl --output text)"',
        "dead",
    )
    return _messages_alarm(f"{stack}-pipeline", queue, text)


def notifications_alarm(stack: str, function: str) -> Alarm:
    """Return the alarm on the daily look at the buckets, `<stack>-notifications`."""
    symptom = "the events of a bucket do not come any more: another tool has changed what it sends"
    metric = _metric("lost", "AWS/Lambda", "Errors", {"FunctionName": function})
    return {
        "AlarmName": f"{stack}-notifications",
        "AlarmDescription": _text(symptom, f"bucketcast --stack {stack} doctor", "notifications"),
        "Metrics": [{**metric, "ReturnData": True}],
        **_above(0),
    }


def _text(symptom: str, command: str, ending: str) -> str:
    """Return an alarm's description: whose it is and what it means, the first command, the page."""
    return f"{symptom}. First run: {command}. Then see docs/operations.md#-{ending}"


def _messages_alarm(name: str, queue: str, description: str) -> Alarm:
    """Return the alarm on a queue that should be empty, `<name>-dead`."""
    metric = _metric("dead", _QUEUES, "ApproximateNumberOfMessagesVisible", {"QueueName": queue})
    return {
        "AlarmName": f"{name}-dead",
        "AlarmDescription": description,
        "Metrics": [{**metric, "ReturnData": True}],
        **_above(0),
    }


def _metric(id_: str, namespace: str, name: str, dimensions: Mapping[str, str]) -> dict[str, Any]:
    """Return the maximum of a metric, by the minute."""
    named = [{"Name": key, "Value": value} for key, value in dimensions.items()]
    metric = {"Namespace": namespace, "MetricName": name, "Dimensions": named}
    statistic = {"Metric": metric, "Period": _PERIOD, "Stat": "Maximum"}
    return {"Id": id_, "MetricStat": statistic, "ReturnData": False}


def _above(threshold: float, among: int = 1) -> dict[str, Any]:
    """Return the condition of an alarm: above a threshold in one of so many minutes."""
    return {
        "Threshold": threshold,
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": among,
        "DatapointsToAlarm": 1,
        "TreatMissingData": "notBreaching",
    }
