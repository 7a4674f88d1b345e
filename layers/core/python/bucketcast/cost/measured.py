"""What a deployment costs, by what it used."""

from collections.abc import Iterator

from bucketcast.aws.usage import Usage, Used
from bucketcast.cost import calls
from bucketcast.cost.bill import DAYS_A_MONTH, Bill, Line
from bucketcast.cost.estimate import ALARMS, METRICS
from bucketcast.cost.prices import prices

_GB = 1_000_000_000


def measured(usage: Usage) -> Bill:
    """Return a month like the days that were measured."""
    times = DAYS_A_MONTH / usage.days
    lines = [line for used in usage.used for line in _of_queue(used)]
    lines += [
        Line("DynamoDB", "reads", "", usage.reads, "dynamodb_reads"),
        Line("DynamoDB", "writes", "", usage.writes, "dynamodb_writes"),
    ]
    month = [each._replace(units=each.units * times) for each in lines]
    month += [line for used in usage.used for line in _fixed(used)]
    return Bill([each for each in month if each.units], usage.events * times, prices())


def _of_queue(used: Used) -> Iterator[Line]:
    """Yield the costs of a queue and its function.

    SQS counts messages, not calls: each call of the function stands for one of each kind.
    """
    name = f"{'its' if used.target else 'the ingress'} queue"
    polls = max(used.calls, used.received / calls.MESSAGES_A_CALL)
    kept = polls if used.target else 0
    yield Line("SQS", name, used.target, used.sent + 2 * polls + kept, "sqs")
    yield Line("SQS", f"polls of {name} when idle", used.target, used.empty, "sqs", fixed=True)
    memory = used.memory / 1_024
    yield Line("Lambda", "calls", used.target, used.calls, "lambda_calls")
    yield Line("Lambda", "time", used.target, used.seconds * memory, "lambda_seconds")
    yield Line("CloudWatch", "logs", used.target, used.logged / _GB, "logs")


def _fixed(used: Used) -> Iterator[Line]:
    kind = "dispatch" if used.target else "ingest"
    yield Line("CloudWatch", "alarms", used.target, ALARMS[kind], "alarms", fixed=True)
    yield Line("CloudWatch", "metrics", used.target, METRICS[kind], "metrics", fixed=True)
