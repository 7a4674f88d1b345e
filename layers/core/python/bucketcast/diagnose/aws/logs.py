"""Read traces from the functions' logs: lines of `bucketcast.delivery.tracing`."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.delivery import tracing

ANY: Final = "trace"
"""The pattern that matches every trace line."""


def lines(pattern: str, functions: Iterable[str], since: int, aws: Aws) -> Iterator[tracing.Line]:
    """Yield the trace lines of these functions that contain the pattern, since Unix ms.

    Raises:
        AwsError: AWS cannot be reached.
    """
    for function in functions:
        for event in _events(function, f'"{pattern}"', since, aws):
            line = tracing.read(event["message"])
            if line is not None:
                yield line


def _events(function: str, pattern: str, since: int, aws: Aws) -> Iterator[Any]:
    """Yield the log events of a function; none if it never ran."""
    client = aws.logs
    pages = client.get_paginator("filter_log_events").paginate(
        logGroupName=f"/aws/lambda/{function}", filterPattern=pattern, startTime=since
    )
    with aws_errors():
        try:
            for page in pages:
                yield from page["events"]
        except client.exceptions.ResourceNotFoundException:
            return
