"""Read what `bucketcast doctor` checks, an area a module, and the traces in the logs.

`queues`, `buckets` and `targets` call AWS and give the results to the pure checks of `diagnose`;
their functions return findings. `logs` reads trace lines, for `bucketcast trace` and `test`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from bucketcast.aws.clients import AwsError, aws_errors
from bucketcast.finding import Finding, not_checked

T = TypeVar("T")
_AT_ONCE = 16


def run_parallel(call: Callable[[T], Iterable[Finding]], items: Sequence[T]) -> list[Finding]:
    """Return the findings of all items, read in parallel, in their order."""
    if not items:
        return []
    with ThreadPoolExecutor(min(_AT_ONCE, len(items))) as pool:
        return [
            finding
            for findings in pool.map(lambda item: list(call(item)), items)
            for finding in findings
        ]


def report_unread(check: str, subject: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings; an error of AWS becomes the last one, that the rest was not checked."""
    try:
        with aws_errors():
            yield from findings
    except AwsError as error:
        yield not_checked(check, subject, str(error))
