"""The graphs of the dashboard.

The metrics of our functions are searched for, which finds dynamic targets too; those of queues and
functions are named one by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.limits import OLDEST_METRIC
from bucketcast.telemetry import LATENCY
from bucketcast_cdk.alarms import MonitoredQueue
from bucketcast_cdk.function import functions_in

Row = Sequence[cloudwatch.IWidget]
FULL: Final = 24
_FIVE_MINUTES: Final = Duration.minutes(5)
_WORST: Final = 'SORT(METRICS("m"), MAX, DESC, 10)'


def event_rows(stack: str) -> Iterator[Row]:
    """Yield graphs of the events in and out, their latency and the age of the oldest."""
    ingress = {"target": "ingress"}
    received = [
        _metric(stack, name, ingress, "Sum") for name in ("EventsReceived", "EventsMatched")
    ]
    outcomes = ("EventsDelivered", "EventsRetried", "EventsDead")
    sums = [_expression(f"SUM({_search(stack, name, 'Sum')})", name) for name in outcomes]
    yield [
        _graph("Events in five minutes", [*received, *sums]),
        _search_graph(
            stack, "Oldest event, s, if over a minute", OLDEST_METRIC, "Maximum", by="queue"
        ),
    ]
    yield [
        _search_graph(stack, "Latency from eventTime to delivery, p50, ms", LATENCY, "p50"),
        _search_graph(stack, "p99, ms", LATENCY, "p99"),
    ]


def queue_rows(monitored: Sequence[MonitoredQueue]) -> Iterator[Row]:
    """Yield graphs of waiting messages and dead letters."""
    queues = {queue.name: _name(queue.queue) for queue in monitored}
    dead = {queue.name: _name(queue.dead) for queue in monitored}
    waiting = ("ApproximateNumberOfMessagesVisible", "Maximum")
    yield [
        _worst("Messages waiting", "AWS/SQS", "QueueName", queues, waiting),
        _worst("Dead letters", "AWS/SQS", "QueueName", dead, waiting),
    ]


def function_rows(scope: Construct) -> Iterator[Row]:
    """Yield graphs of errors and throttled calls of our functions."""
    resources = (function.function.node.default_child for function in functions_in(scope))
    names = [str(node.function_name) for node in resources if isinstance(node, lambda_.CfnFunction)]
    named = dict(zip(names, names, strict=True))
    yield [
        _worst("Function errors", "AWS/Lambda", "FunctionName", named, ("Errors", "Sum")),
        _worst("Throttled calls", "AWS/Lambda", "FunctionName", named, ("Throttles", "Sum")),
    ]


def _worst(
    title: str, namespace: str, dimension: str, named: Mapping[str, str], metric: tuple[str, str]
) -> cloudwatch.IWidget:
    """Return a graph of the ten highest values of a metric, given as its name and statistic."""
    metric_name, statistic = metric
    using = {
        f"m{number}": _metric(namespace, metric_name, {dimension: name}, statistic, label=label)
        for number, (label, name) in enumerate(named.items())
    }
    highest = cloudwatch.MathExpression(
        expression=_WORST, using_metrics=using, label="", period=_FIVE_MINUTES
    )
    return _graph(title, [highest])


def _search_graph(
    stack: str, title: str, name: str, statistic: str, by: str = "target"
) -> cloudwatch.IWidget:
    """Return a graph of the ten targets or queues with the highest of our metric of this name."""
    highest = _expression(f"SORT({_search(stack, name, statistic, by)}, MAX, DESC, 10)", "")
    return _graph(title, [highest])


def _search(stack: str, name: str, statistic: str, by: str = "target") -> str:
    return (
        f'SEARCH(\'{{"{stack}",{by}}} MetricName="{name}"\', '
        f"'{statistic}', {_FIVE_MINUTES.to_seconds():g})"
    )


def _expression(expression: str, label: str) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(
        expression=expression, using_metrics={}, label=label, period=_FIVE_MINUTES
    )


def _metric(
    namespace: str, name: str, dimensions: Mapping[str, str], statistic: str, *, label: str = ""
) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=namespace,
        metric_name=name,
        dimensions_map=dict(dimensions),
        statistic=statistic,
        label=label or name,
        period=_FIVE_MINUTES,
    )


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric]) -> cloudwatch.IWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=FULL // 2, height=6)


def _name(queue: sqs.Queue) -> str:
    """Return a queue's name, as text: a reference would be one more parameter of a stack."""
    cfn = queue.node.default_child
    return str(cfn.queue_name) if isinstance(cfn, sqs.CfnQueue) else queue.queue_name
