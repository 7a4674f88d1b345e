"""Logs and metrics, as Powertools for AWS Lambda writes them: JSON lines and EMF on stdout."""

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from bucketcast.delivery.latency import Histogram

__all__ = ["count", "flush", "latency", "logger", "oldest", "trace"]

LATENCY = "DeliveryLatency"

logger = Logger()
# A namespace for each stack: two of them in one account may have targets of one name.
_metrics = Metrics(namespace=os.environ.get("POWERTOOLS_METRICS_NAMESPACE", "Bucketcast"))
_latencies = Histogram()


def count(target: str = "", **numbers: int) -> None:
    """Add counts of events, by target if one is given; zeros are not written."""
    if not any(numbers.values()):
        return
    if target:
        _metrics.add_dimension(name="target", value=target)
    for name, number in numbers.items():
        if number:
            _metrics.add_metric(name=name, unit=MetricUnit.Count, value=number)


def oldest(target: str, seconds: float) -> None:
    """Record how long the oldest message of `target` has been waiting or retried."""
    _metrics.add_dimension(name="target", value=target)
    _metrics.add_metric(name="OldestEventAge", unit=MetricUnit.Seconds, value=max(0.0, seconds))


def latency(target: str, taken: Histogram) -> None:
    """Add how long events took from S3 to `target`, in milliseconds."""
    if not taken:
        return
    _metrics.add_dimension(name="target", value=target)
    if not _latencies:
        # Powertools does not support counts of values: `flush` adds them instead.
        _metrics.add_metric(name=LATENCY, unit=MetricUnit.Milliseconds, value=0)
    _latencies.update(taken)


def trace(lines: Iterable[str]) -> None:
    """Write trace lines; no log level suppresses them."""
    for line in lines:
        sys.stdout.write(f"{line}\n")


def flush() -> None:
    """Write the metrics since the last flush, if any."""
    if not _metrics.provider.metric_set:
        return
    if not _latencies:
        _metrics.flush_metrics()
        return
    written: dict[str, Any] = {**_metrics.provider.serialize_metric_set()}
    written[LATENCY] = _distribution(_latencies)
    _latencies.clear()
    _metrics.clear_metrics()
    sys.stdout.write(f"{json.dumps(written, separators=(',', ':'))}\n")


def _distribution(found: Histogram) -> float | dict[str, Any]:
    """Return values and their counts as CloudWatch's embedded metric format has them."""
    if found.total() == 1:
        return next(iter(found))
    return {
        "Values": list(found),
        "Counts": list(found.values()),
        "Min": min(found),
        "Max": max(found),
        "Sum": round(sum(value * count for value, count in found.items()), 1),
        "Count": found.total(),
    }
