"""What `bucketcast doctor` reads, by area; a function of an area returns its findings."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from bucketcast.aws.clients import AwsError
from bucketcast.finding import Finding, not_checked

T = TypeVar("T")
_AT_ONCE = 16


def at_once(call: Callable[[T], Iterable[Finding]], items: Sequence[T]) -> list[Finding]:
    """Return the findings of all items, read in parallel, in their order."""
    if not items:
        return []
    with ThreadPoolExecutor(min(_AT_ONCE, len(items))) as pool:
        return [each for found in pool.map(lambda item: list(call(item)), items) for each in found]


def unless_unread(check: str, subject: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings, and the last one for what AWS does not let this login read."""
    try:
        yield from findings
    except AwsError as error:
        yield not_checked(check, subject, str(error))
