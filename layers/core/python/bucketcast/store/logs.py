"""What the functions' logs say of an object: the lines of `bucketcast.tracing`."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bucketcast import tracing
from bucketcast.store.access import Aws, explained


class Found(NamedTuple):
    """A line and when it was written, in Unix ms."""

    at: int
    line: tracing.Line


def about(mark: str, functions: Iterable[str], since: int, aws: Aws) -> Iterator[Found]:
    """The lines in which a mark occurs that begins so, of these functions, since Unix ms.

    Raises:
        AwsError: AWS cannot be asked.
    """
    client = aws.logs
    pages = client.get_paginator("filter_log_events")
    for function in functions:
        with explained():
            try:
                for page in pages.paginate(
                    logGroupName=f"/aws/lambda/{function}",
                    filterPattern=f'"{mark}"',
                    startTime=since,
                ):
                    for event in page["events"]:
                        line = tracing.read(event["message"])
                        if line is not None:
                            yield Found(event["timestamp"], line)
            except client.exceptions.ResourceNotFoundException:
                continue  # it never ran
