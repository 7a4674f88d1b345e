"""What a stack has used, from CloudWatch: calls of its queues and functions, its table and logs."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.aws.deployed import Deployed
from bucketcast.errors import BucketcastError

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.type_defs import MetricDataQueryTypeDef

_QUERIES_A_CALL: Final = 500
_HOUR: Final = 3_600
_QUEUES: Final = "AWS/SQS"


class NothingMeasuredError(BucketcastError):
    """CloudWatch has no metrics of the stack's queues for this time."""


class Used(NamedTuple):
    """What one queue and its function used; `target` is "" for ingest.

    `seconds` are those of the function's calls, of `memory` MB; `logged` are bytes.
    """

    target: str
    sent: float
    received: float
    empty: float
    calls: float
    seconds: float
    memory: int
    logged: float


class Usage(NamedTuple):
    """What a stack used in some days; table units are DynamoDB's request units."""

    days: float
    events: float
    used: Sequence[Used]
    reads: float
    writes: float


class _Metric(NamedTuple):
    namespace: str
    name: str
    dimension: str
    value: str


def usage(deployment: Deployed, since: timedelta, aws: Aws) -> Usage:
    """Return what the stack used since then, in whole hours.

    Raises:
        NothingMeasuredError: there are no metrics of its queues, as in a local AWS.
        AwsError: AWS does not answer.
    """
    whose = [
        ("", deployment.ingest_function, deployment.ingress_queue),
        *((each.arn, each.function, each.queue) for each in deployment.targets if not each.made),
    ]
    wanted = [metric for _, *names in whose for metric in _of_queue(*names)]
    table = [
        _Metric("AWS/DynamoDB", name, "TableName", deployment.rules_table)
        for name in ("ConsumedReadCapacityUnits", "ConsumedWriteCapacityUnits")
    ]
    with aws_errors():
        found = _sums([*wanted, *table], since, aws)
        memory = {
            function: aws.functions.get_function_configuration(FunctionName=function)["MemorySize"]
            for _, function, _ in whose
        }
    # Lambda polls the queues of an idle stack too, so on AWS an hour always has some of theirs.
    # The local AWS writes those of functions only, which would make a bill of no events.
    if not any(value for metric, value in found.items() if metric.namespace == _QUEUES):
        raise NothingMeasuredError(
            f"CloudWatch has no metrics of the queues of {deployment.stack} for this time: the "
            "local AWS writes none; after a deploy to AWS wait until the next full hour"
        )
    used = [_used(arn, function, queue, found, memory[function]) for arn, function, queue in whose]
    reads, writes = (found[each] for each in table)
    return Usage(since / timedelta(days=1), used[0].sent, used, reads, writes)


def _of_queue(function: str, queue: str) -> Iterator[_Metric]:
    name = queue.rpartition("/")[2]
    for each in ("NumberOfMessagesSent", "NumberOfMessagesReceived", "NumberOfEmptyReceives"):
        yield _Metric(_QUEUES, each, "QueueName", name)
    for each in ("Invocations", "Duration"):
        yield _Metric("AWS/Lambda", each, "FunctionName", function)
    yield _Metric("AWS/Logs", "IncomingBytes", "LogGroupName", f"/aws/lambda/{function}")


def _used(arn: str, function: str, queue: str, found: Mapping[_Metric, float], memory: int) -> Used:
    sent, received, empty, calls, milliseconds, logged = (
        found[each] for each in _of_queue(function, queue)
    )
    return Used(arn, sent, received, empty, calls, milliseconds / 1_000, memory, logged)


def _sums(metrics: Sequence[_Metric], since: timedelta, aws: Aws) -> dict[_Metric, float]:
    """Return the sum of each metric."""
    end = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    sums: dict[_Metric, float] = {}
    for start in range(0, len(metrics), _QUERIES_A_CALL):
        some = metrics[start : start + _QUERIES_A_CALL]
        pages = aws.cloudwatch.get_paginator("get_metric_data").paginate(
            MetricDataQueries=[_query(number, each) for number, each in enumerate(some)],
            StartTime=end - since,
            EndTime=end,
        )
        results: list[Any] = [each for page in pages for each in page["MetricDataResults"]]
        for number, metric in enumerate(some):
            mine = (each["Values"] for each in results if each["Id"] == f"m{number}")
            sums[metric] = sum(sum(values) for values in mine)
    return sums


def _query(number: int, metric: _Metric) -> "MetricDataQueryTypeDef":
    return {
        "Id": f"m{number}",
        "MetricStat": {
            "Metric": {
                "Namespace": metric.namespace,
                "MetricName": metric.name,
                "Dimensions": [{"Name": metric.dimension, "Value": metric.value}],
            },
            "Period": _HOUR,
            "Stat": "Sum",
        },
    }
