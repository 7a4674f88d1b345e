"""Logs and metrics, as Powertools for AWS Lambda writes them: JSON lines and EMF on stdout."""

import sys
from collections.abc import Iterable

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

__all__ = ["count", "flush", "logger", "oldest", "trace"]

logger = Logger()
_metrics = Metrics(namespace="Bucketcast")


def count(target: str = "", **numbers: int) -> None:
    """Add counts of events, by target where there is one; a zero is not written."""
    if not any(numbers.values()):
        return
    if target:
        _metrics.add_dimension(name="target", value=target)
    for name, number in numbers.items():
        if number:
            _metrics.add_metric(name=name, unit=MetricUnit.Count, value=number)


def oldest(target: str, seconds: float) -> None:
    """Say for how long the oldest of what `target` was just given has been waiting or tried."""
    _metrics.add_dimension(name="target", value=target)
    _metrics.add_metric(name="OldestEventAge", unit=MetricUnit.Seconds, value=max(0.0, seconds))


def trace(lines: Iterable[str]) -> None:
    """Write lines that say where events went; no level holds them back."""
    for line in lines:
        sys.stdout.write(f"{line}\n")


def flush() -> None:
    """Write what was counted since the last flush, if anything was."""
    if _metrics.provider.metric_set:
        _metrics.flush_metrics()
