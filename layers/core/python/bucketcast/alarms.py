"""The alarms of a queue and its function, whether a deploy makes them or a call does.

Two look at the age of what waits, because each is blind to something. SQS's own leaves out messages
that were received three times, which are all of a target that is down; ours needs a function that
runs. One that breaks off at every call is seen by neither.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from bucketcast.lifetime import RETENTION_DAYS

NAMESPACE: Final = "Bucketcast"
OLDEST: Final = "OldestEventAge"
_QUEUES: Final = "AWS/SQS"
_FUNCTIONS: Final = "AWS/Lambda"
_TOO_OLD: Final = 900
_NEARLY_DROPPED_DAYS: Final = 10
_DAY: Final = 86_400
# Of the 120,000 messages that SQS lets be in flight. At that number it gives out no more, and the
# queue stands still although its function is well.
_MANY: Final = 100_000
# The age is told when the function runs, and what waits comes back after 20 minutes at the longest.
# Over a shorter time the alarm would go off and on again with each try.
_MINUTES: Final = 30
_HOUR: Final = 12  # of five minutes


class Alarm(NamedTuple):
    """One alarm, which fires above `threshold` in `at_least` of the last `among` periods.

    `part` tells those of a queue apart; `period` is in seconds. Missing data is no breach.
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
    name: str, queue: str, dead: str, about: Mapping[str, str], *, paused: bool = False
) -> tuple[Alarm, ...]:
    """The alarms of the queue and the dead-letter queue of these names; `name` is in their texts.

    `about` are the dimensions of the function's own metrics. Where a target is `paused` its events
    are meant to wait, but not until SQS drops them.
    """
    return (
        Alarm(
            "dead",
            _QUEUES,
            "ApproximateNumberOfMessagesVisible",
            {"QueueName": dead},
            0,
            f"Events lie in the dead-letter queue of {name}: read their reason and cure it.",
        ),
        Alarm(
            "waiting",
            NAMESPACE,
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
            _NEARLY_DROPPED_DAYS * _DAY if paused else _TOO_OLD,
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
    """The alarm of the function of this name."""
    return Alarm(
        "failing",
        _FUNCTIONS,
        "Errors",
        {"FunctionName": function},
        0,
        f"The function of {name} broke off in two of the last twelve five minutes: too little "
        "memory or time, or a fault; read its log.",
        statistic="Sum",
        period=300,
        among=_HOUR,
        at_least=2,
    )


def of_calls(name: str, function: str) -> Alarm:
    """The alarm of calls that the function of this name was too busy for.

    For one that no queue waits for; to what a queue holds nothing happens.
    """
    return Alarm(
        "throttled",
        _FUNCTIONS,
        "Throttles",
        {"FunctionName": function},
        0,
        f"Calls of {name} were turned away in two of the last twelve five minutes: the account, or "
        "its reserved_concurrency, has no more calls at once.",
        statistic="Sum",
        period=300,
        among=_HOUR,
        at_least=2,
    )


def of_lost(name: str, queue: str) -> Alarm:
    """The alarm of a queue that holds what could not be done."""
    return Alarm(
        "dead",
        _QUEUES,
        "ApproximateNumberOfMessagesVisible",
        {"QueueName": queue},
        0,
        f"A run of a job failed, or a scan could not be started: {name} says which. Delete the "
        "message when it is dealt with.",
    )
