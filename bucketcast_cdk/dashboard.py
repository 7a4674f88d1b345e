"""The dashboard of a stack: the alarms first, then the worst targets.

The metrics of our functions are searched for, which finds dynamic targets too; those of queues and
functions are named one by one. CloudWatch places widgets that have no place one after another.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from aws_cdk import Aws, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from bucketcast.limits import OLDEST_METRIC
from bucketcast.telemetry import LATENCY
from bucketcast_cdk.alarms import MonitoredQueue
from bucketcast_cdk.function import functions_in
from bucketcast_cdk.outputs import output
from bucketcast_cdk.permissions import arn

_FULL: Final = 24
_ALARMS: Final = 100
"""Alarms in one widget, at most."""
_FIVE_MINUTES: Final = 300
_HEADING: Final = (
    "# {}\n`docs/operations.md` says what each alarm means and what to do. Graphs by target show "
    "the ten worst."
)


def make_dashboard(
    scope: Construct, *, queues: Sequence[MonitoredQueue], alarms: Sequence[str], local: bool
) -> None:
    """Make the dashboard `<stack>-<region>`: all regions of an account share names of dashboards.

    `alarms` are the names of the alarms in `scope`, of which those that changed last come first.
    """
    stack = Stack.of(scope)
    name = f"{stack.stack_name}-{Aws.REGION}"
    heading = {"markdown": _HEADING.format(stack.stack_name)}
    arns = [arn(scope, "cloudwatch", f"alarm:{alarm}") for alarm in alarms]
    widgets = [_widget("text", heading, _FULL, 2)]
    for batch in (arns[start : start + _ALARMS] for start in range(0, len(arns), _ALARMS)):
        last_first = {"title": "Alarms", "alarms": batch, "sortBy": "stateUpdatedTimestamp"}
        widgets.append(_widget("alarm", last_first, _FULL, min(2 + len(batch) // 8, 12)))
    for title, metrics in _graphs(stack.stack_name, queues, scope):
        graph = {"title": title, "metrics": metrics, "region": Aws.REGION, "period": _FIVE_MINUTES}
        widgets.append(_widget("metric", graph, _FULL // 2, 6))
    body = stack.to_json_string({"widgets": widgets})
    cloudwatch.CfnDashboard(scope, "Dashboard", dashboard_name=name, dashboard_body=body)
    if not local:
        console = f"https://{Aws.REGION}.console.aws.amazon.com/cloudwatch/home"
        link = f"{console}?region={Aws.REGION}#dashboards/dashboard/{name}"
        output(scope, "DashboardUrl", link)


def _widget(kind: str, properties: Mapping[str, Any], width: int, height: int) -> dict[str, Any]:
    return {"type": kind, "width": width, "height": height, "properties": properties}


def _graphs(
    stack: str, queues: Sequence[MonitoredQueue], scope: Construct
) -> Iterator[tuple[str, list[Any]]]:
    """Yield the title and the metrics of each graph."""
    received = [
        [stack, name, "target", "ingress", {"stat": "Sum", "label": name}]
        for name in ("EventsReceived", "EventsMatched")
    ]
    sums = [
        [{"expression": f"SUM({_search(stack, name, 'Sum')})", "label": name}]
        for name in ("EventsDelivered", "EventsRetried", "EventsDead")
    ]
    yield "Events in five minutes", [*received, *sums]
    oldest = _search(stack, OLDEST_METRIC, "Maximum", by="queue")
    yield "Oldest event, s, if over a minute", [_worst(oldest)]
    yield "Latency from eventTime to delivery, p50, ms", [_worst(_search(stack, LATENCY, "p50"))]
    yield "p99, ms", [_worst(_search(stack, LATENCY, "p99"))]
    waiting = ("AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName")
    yield "Messages waiting", _named(waiting, {each.name: _name(each.queue) for each in queues})
    yield "Dead letters", _named(waiting, {each.name: _name(each.dead) for each in queues})
    made = (function.function.node.default_child for function in functions_in(scope))
    functions = [str(each.function_name) for each in made if isinstance(each, lambda_.CfnFunction)]
    for title, metric in (("Function errors", "Errors"), ("Throttled calls", "Throttles")):
        named = dict(zip(functions, functions, strict=True))
        yield title, _named(("AWS/Lambda", metric, "FunctionName"), named, "Sum")


def _named(
    metric: tuple[str, str, str], named: Mapping[str, str], statistic: str = "Maximum"
) -> list[Any]:
    """Return the ten highest of a metric's values, by the labels of its dimension's."""
    every = [
        [*metric, name, {"id": f"m{number}", "stat": statistic, "label": label, "visible": False}]
        for number, (label, name) in enumerate(named.items())
    ]
    return [_worst('METRICS("m")'), *every]


def _worst(metrics: str) -> list[Any]:
    return [{"expression": f"SORT({metrics}, MAX, DESC, 10)"}]


def _search(stack: str, name: str, statistic: str, by: str = "target") -> str:
    return f"SEARCH('{{\"{stack}\",{by}}} MetricName=\"{name}\"', '{statistic}', {_FIVE_MINUTES})"


def _name(queue: sqs.Queue) -> str:
    """Return a queue's name, as text: a reference would be one more parameter of a stack."""
    cfn = queue.node.default_child
    return str(cfn.queue_name) if isinstance(cfn, sqs.CfnQueue) else queue.queue_name
