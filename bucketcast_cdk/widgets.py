"""The graphs of the dashboard, in groups.

What our functions report is searched for, which finds targets made at run time too; the metrics of
queues and functions are named one by one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.cost.prices import prices
from bucketcast.delivery.alarms import OLDEST
from bucketcast.telemetry import LATENCY
from bucketcast_cdk.alarms import Watched
from bucketcast_cdk.function import functions_in

Row = Sequence[cloudwatch.IWidget]
FULL: Final = 24
_LOG_GROUPS: Final = 50
"""Log groups in one query, at most."""
_FIVE_MINUTES: Final = Duration.minutes(5)
_HOUR: Final = Duration.hours(1)
_WORST: Final = 'SORT(METRICS("m"), MAX, DESC, 10)'
_FAILURES: Final = (
    'filter message in ["not all events arrived", "events are lost"]',
    "stats sum(retried) as tried, sum(dead) as dead by coalesce(target, topic) as to, reason",
    "sort tried desc, dead desc",
    "limit 20",
)


class Group(NamedTuple):
    """Widgets that belong together, and how many metrics they read."""

    rows: Sequence[Row]
    metrics: int


def functions(scope: Construct) -> dict[str, int]:
    """Return the memory of each function of ours in MB, by its name."""
    found = [each.function.node.default_child for each in functions_in(scope)]
    return {
        str(each.function_name): int(each.memory_size or 0)
        for each in found
        if isinstance(each, lambda_.CfnFunction)
    }


def of_events(targets: int, stack: str) -> Group:
    """Return graphs of the events in and out, their latency and the age of the oldest."""
    about = {"service": "ingest", "target": "ingress"}
    received = [_metric(stack, name, about) for name in ("EventsReceived", "EventsMatched")]
    outcomes = ("EventsDelivered", "EventsRetried", "EventsDead")
    sums = [_expression(f"SUM({_search(stack, name, 'Sum')})", name) for name in outcomes]
    rows: list[Row] = [
        [_graph("Events in five minutes", [*received, *sums])],
        [
            _searched(stack, "Latency from eventTime to delivery, p50, ms", LATENCY, "p50"),
            _searched(stack, "p99, ms", LATENCY, "p99"),
        ],
        [
            _searched(stack, "Age of the oldest event, s", OLDEST, "Maximum"),
            _searched(stack, "Events delivered", "EventsDelivered", "Sum"),
        ],
        [
            _searched(stack, "Events tried again", "EventsRetried", "Sum"),
            _searched(stack, "Events given up: dead letters", "EventsDead", "Sum"),
        ],
    ]
    return Group(rows, len(received) + targets * (len(outcomes) + 6))


def of_queues(watched: Sequence[Watched], stack: str) -> Group:
    """Return graphs of waiting messages, their age, and dead letters."""
    queues = {each.name: _name(each.queue) for each in watched}
    dead = {each.name: _name(each.dead) for each in watched}
    age = ("ApproximateAgeOfOldestMessage", "Maximum")
    waiting = ("ApproximateNumberOfMessagesVisible", "Maximum")
    rows: list[Row] = [
        [
            _worst("Messages waiting", "AWS/SQS", "QueueName", queues, waiting),
            _worst("Dead letters", "AWS/SQS", "QueueName", dead, waiting),
        ],
        [
            _worst(
                "Age of the oldest message that was hardly tried, s",
                "AWS/SQS",
                "QueueName",
                queues,
                age,
            ),
            _graph("Messages of targets made at run time", [_expression(_run_time(stack), "")]),
        ],
    ]
    return Group(rows, 3 * len(watched))


def of_functions(functions: Mapping[str, int]) -> Group:
    """Errors, throttled calls and durations."""
    named = {name: name for name in functions}

    def graph(title: str, name: str, statistic: str) -> cloudwatch.IWidget:
        return _worst(title, "AWS/Lambda", "FunctionName", named, (name, statistic))

    rows: list[Row] = [
        [graph("Function errors", "Errors", "Sum"), graph("Throttled calls", "Throttles", "Sum")],
        [
            graph("Duration, p99, ms", "Duration", "p99"),
            graph("Calls at once", "ConcurrentExecutions", "Maximum"),
        ],
    ]
    return Group(rows, 4 * len(functions))


def of_cost(watched: Sequence[Watched], functions: Mapping[str, int]) -> Group:
    """Return graphs of the hourly cost of calls: Lambda's exactly, SQS's at least."""
    calls: dict[str, cloudwatch.IMetric] = {}
    for number, (name, size) in enumerate(functions.items()):
        about = {"FunctionName": name}
        calls[f"i{number}"] = _metric("AWS/Lambda", "Invocations", about, period=_HOUR)
        calls[f"d{size}x{number}"] = _metric("AWS/Lambda", "Duration", about, period=_HOUR)
    messages: dict[str, cloudwatch.IMetric] = {}
    for number, each in enumerate(watched):
        about = {"QueueName": _name(each.queue)}
        for short, name in (
            ("s", "NumberOfMessagesSent"),
            ("r", "NumberOfMessagesReceived"),
            ("e", "NumberOfEmptyReceives"),
        ):
            messages[f"{short}{number}"] = _metric("AWS/SQS", name, about, period=_HOUR)
    cost = prices().by_name
    seconds = " + ".join(
        f'SUM(METRICS("d{size}x"))/1000*{size / 1024:g}' for size in sorted({*functions.values()})
    )
    rows: list[Row] = [
        [
            _graph(
                f"Dollars an hour ({prices().region}); SQS at least, as if calls had ten messages",
                [
                    cloudwatch.MathExpression(
                        expression=f'SUM(METRICS("i"))*{cost["lambda_calls"].each:.10f} + '
                        f"({seconds})*{cost['lambda_seconds'].each:.10f}",
                        using_metrics=calls,
                        label="Lambda",
                        period=_HOUR,
                    ),
                    cloudwatch.MathExpression(
                        # Receive, keep in flight and delete: three calls for ten messages.
                        expression='(SUM(METRICS("s")) + SUM(METRICS("r"))*0.3 + '
                        f'SUM(METRICS("e")))*{cost["sqs"].each:.10f}',
                        using_metrics=messages,
                        label="SQS",
                        period=_HOUR,
                    ),
                ],
            )
        ]
    ]
    return Group(rows, len(calls) + len(messages))


def of_failures(functions: Mapping[str, int]) -> Iterator[Row]:
    """Why events were not delivered, from the logs: a query costs only when it is looked at."""
    groups = [f"/aws/lambda/{name}" for name in functions]
    for start in range(0, len(groups), _LOG_GROUPS):
        yield [
            cloudwatch.LogQueryWidget(
                title="Failures by reason",
                log_group_names=groups[start : start + _LOG_GROUPS],
                query_lines=list(_FAILURES),
                width=FULL,
                height=8,
            )
        ]


def _worst(
    title: str, namespace: str, dimension: str, named: Mapping[str, str], what: tuple[str, str]
) -> cloudwatch.IWidget:
    """Return a graph of the ten highest of some metrics; `what` is a name and a statistic."""
    using = {
        f"m{number}": _metric(namespace, what[0], {dimension: name}, what[1], label=label)
        for number, (label, name) in enumerate(named.items())
    }
    shown = cloudwatch.MathExpression(
        expression=_WORST, using_metrics=using, label="", period=_FIVE_MINUTES
    )
    return _graph(title, [shown], width=FULL // 2)


def _searched(stack: str, title: str, name: str, statistic: str) -> cloudwatch.IWidget:
    """Return a graph of the ten targets with the highest of our metric of this name."""
    shown = _expression(f"SORT({_search(stack, name, statistic)}, MAX, DESC, 10)", "")
    return _graph(title, [shown], width=FULL // 2)


def _search(stack: str, name: str, statistic: str) -> str:
    return (
        f'SEARCH(\'{{"{stack}",service,target}} MetricName="{name}"\', '
        f"'{statistic}', {_FIVE_MINUTES.to_seconds():g})"
    )


def _run_time(stack: str) -> str:
    """Search for queues by the words of their names: CloudWatch knows no beginning of a name."""
    words = " ".join(re.findall(r"[A-Za-z0-9]+", stack))
    return (
        'SORT(SEARCH(\'{AWS/SQS,QueueName} MetricName="ApproximateNumberOfMessagesVisible" '
        f"{words} runtime', 'Maximum', {_FIVE_MINUTES.to_seconds():g}), MAX, DESC, 10)"
    )


def _expression(text: str, label: str) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(
        expression=text, using_metrics={}, label=label, period=_FIVE_MINUTES
    )


def _metric(
    namespace: str,
    name: str,
    about: Mapping[str, str],
    statistic: str = "Sum",
    *,
    label: str = "",
    period: Duration = _FIVE_MINUTES,
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map=dict(about),
        statistic=statistic,
        label=label or name,
        period=period,
    )


def _graph(
    title: str, shown: Sequence[cloudwatch.IMetric], width: int = FULL
) -> cloudwatch.IWidget:
    return cloudwatch.GraphWidget(title=title, left=list(shown), width=width, height=6)


def _name(queue: sqs.Queue) -> str:
    """Return a queue's name, as text: a reference would be one more parameter of a stack."""
    cfn = queue.node.default_child
    return str(cfn.queue_name) if isinstance(cfn, sqs.CfnQueue) else queue.queue_name
