"""The alarms of a queue and its function, for deployed and run-time targets.

Two alarms watch the age of waiting messages, because each misses something. SQS's own metric leaves
out messages that were received three times, which are all messages of a target that is down. Ours
needs a function that runs. A function that crashes at every call is seen by neither.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from bucketcast.delivery.retention import RETENTION_DAYS

OLDEST: Final = "OldestEventAge"
_QUEUES: Final = "AWS/SQS"
_FUNCTIONS: Final = "AWS/Lambda"
_TOO_OLD: Final = 900
_NEARLY_DROPPED_DAYS: Final = 10
_DAY: Final = 86_400
LATE_SECONDS: Final = _NEARLY_DROPPED_DAYS * _DAY
"""The events of a paused target are meant to wait; their age is reported from here on."""
# Of the 120,000 messages that SQS lets be in flight. At that number it gives out no more, and the
# queue stands still although its function is well.
_MANY: Final = 100_000
# The age is measured when the function runs; what waits comes back within 20 minutes.
# Over a shorter time the alarm would go off and on again with each try.
_MINUTES: Final = 30
_HOUR: Final = 12  # of five minutes


class Alarm(NamedTuple):
    """One alarm, which fires above `threshold` in `at_least` of the last `among` periods.

    `part` distinguishes those of a queue; `period` is in seconds. Missing data is not breaching.
    """

    part: str
    namespace: str
    metric: str
    dimensions: Mapping[str, str]
    threshold: float
    description: str
    statistic: str = "Maximum"
    unit: str | None = None
    period: int = 60
    among: int = 1
    at_least: int = 1


def of_queue(
    stack: str, name: str, queue: str, dead: str, about: Mapping[str, str], *, paused: bool = False
) -> tuple[Alarm, ...]:
    """Return the alarms of a queue and its dead-letter queue; `name` is for their texts.

    `about` are the dimensions of the function's own metrics, whose namespace is the `stack`'s name.
    The events of a `paused` target are meant to wait, but not until SQS drops them.
    """
    return (
        Alarm(
            "dead",
            _QUEUES,
            "ApproximateNumberOfMessagesVisible",
            {"QueueName": dead},
            0,
            f"Events lie in the dead-letter queue of {name}: read their reasons and fix them.",
        ),
        Alarm(
            "waiting",
            stack,
            OLDEST,
            about,
            _TOO_OLD,
            f"The function of {name} was given an event that is over 15 minutes old: what it goes "
            "to is down, too slow, or refuses the login, or was until now.",
            unit="Seconds",
            among=_MINUTES,
        ),
        Alarm(
            "unread",
            _QUEUES,
            "ApproximateAgeOfOldestMessage",
            {"QueueName": queue},
            LATE_SECONDS if paused else _TOO_OLD,
            f"A message of {name}, which is off, has waited for over {_NEARLY_DROPPED_DAYS} days, "
            f"and SQS drops it after {RETENTION_DAYS}."
            if paused
            else f"A message of {name} has waited for over 15 minutes and was hardly tried: its "
            "function does not run, or does not keep up.",
        ),
        Alarm(
            "in-flight",
            _QUEUES,
            "ApproximateNumberOfMessagesNotVisible",
            {"QueueName": queue},
            _MANY,
            f"Over {_MANY:,} messages of {name} are in flight: at 120,000 SQS gives out no more.",
        ),
    )


def of_function(name: str, function: str) -> Alarm:
    """Return the alarm on errors of a function."""
    text = (
        f"The function of {name} broke off in two of the last twelve five minutes: too little "
        "memory or time, or a fault; read its log."
    )
    return _of_calls("failing", "Errors", function, text)


def of_calls(name: str, function: str) -> Alarm:
    """Return the alarm on throttled calls of a function.

    For a function that no queue feeds; messages in a queue just wait.
    """
    text = (
        f"Calls of {name} were turned away in two of the last twelve five minutes: the account, or "
        "its reserved_concurrency, has no more calls at once."
    )
    return _of_calls("throttled", "Throttles", function, text)


def _of_calls(part: str, metric: str, function: str, description: str) -> Alarm:
    """Return the alarm on calls that failed in two of the last twelve five minutes."""
    return Alarm(
        part,
        _FUNCTIONS,
        metric,
        {"FunctionName": function},
        0,
        description,
        statistic="Sum",
        period=300,
        among=_HOUR,
        at_least=2,
    )


def of_lost(name: str, queue: str) -> Alarm:
    """Return the alarm on a queue of failed work."""
    return Alarm(
        "dead",
        _QUEUES,
        "ApproximateNumberOfMessagesVisible",
        {"QueueName": queue},
        0,
        f"A run of a job failed, or a scan could not be started: {name} says which. Delete the "
        "message when it is dealt with.",
    )
