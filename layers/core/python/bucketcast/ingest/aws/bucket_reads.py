"""Reads from S3 side by side: a bucket that does not answer holds up no other.

A bucket has at most half of the threads. One of which several objects in a row cannot be read has a
breaker in this function's memory: one object is tried after a pause that grows, and meanwhile its
others fail at once. How long a read may take is the client's limit.
"""

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from threading import Lock
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from bucketcast.aws.function_clients import AT_ONCE
from bucketcast.delivery.breaker import Breaker, BreakerState, LocalStore
from bucketcast.errors import Retryable

FAILURES_IN_A_ROW: Final = 8
"""So many objects of a bucket that cannot be read, and none that can, open its breaker: fewer may
be the fault of these objects."""
LONGEST_PAUSE_SECONDS: Final = 60
PROBE_SECONDS: Final = 5.0
SLOW_SECONDS: Final = 0.5
"""A thread that waited for so long for a failure reads no more of the bucket in this batch."""

Fields = dict[str, Any]
"""Fields of an event; empty if the object is gone or unreadable."""
Answer = Fields | Exception


class Read(NamedTuple):
    """A call that reads an object of a bucket."""

    bucket: str
    key: str
    call: Callable[[], Fields]


@dataclass
class _Trouble:
    """The objects of a bucket that could not be read since the last that could."""

    error: Exception
    failed: set[str] = field(default_factory=set)
    breaker: Breaker = field(default_factory=lambda: Breaker(LocalStore()))

    def fail(self, key: str, error: Exception) -> None:
        self.error = error
        self.failed.add(key)
        if len(self.failed) >= FAILURES_IN_A_ROW:
            self.breaker.longest_pause = LONGEST_PAUSE_SECONDS
            self.breaker.record_failure(Retryable(type(error).__name__))


class BucketReads:
    """The reads of a function."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._lock = Lock()
        self._troubled: dict[str, _Trouble] = {}

    def __call__(self, reads: Sequence[Read], seconds: float) -> list[Answer]:
        """Return what each read found, or its error; what has no answer in `seconds` fails."""
        answers: list[Answer] = [TimeoutError("no answer in time")] * len(reads)
        queues: dict[str, deque[int]] = {}
        for index, read in enumerate(reads):
            queues.setdefault(read.bucket, deque()).append(index)

        def empty(queue: deque[int]) -> None:
            quick = True
            while queue and quick:
                with suppress(IndexError):  # another thread was quicker
                    index, began = queue.popleft(), time.monotonic()
                    answers[index] = self._read(reads[index])
                    failed = isinstance(answers[index], Exception)
                    quick = not failed or time.monotonic() - began < SLOW_SECONDS

        share = max(1, AT_ONCE // max(2, len(queues)))
        threads = [
            self._pool.submit(empty, queue)
            for queue in queues.values()
            for _ in range(min(share, len(queue)))
        ]
        wait(threads, seconds)
        for queue in queues.values():
            queue.clear()
        return list(answers)

    def _read(self, read: Read) -> Answer:
        with self._lock:
            trouble = self._troubled.get(read.bucket)
            if trouble and trouble.breaker.begin_batch(lambda: PROBE_SECONDS) is BreakerState.OPEN:
                return trouble.error
        try:
            found = read.call()
        except Exception as error:  # noqa: BLE001 - one object must not stop its neighbours
            if not _is_of_object(error):
                with self._lock:
                    self._troubled.setdefault(read.bucket, _Trouble(error)).fail(read.key, error)
            return error
        with self._lock:
            self._troubled.pop(read.bucket, None)
        return found


def _is_of_object(error: Exception) -> bool:
    """Return True if it is an answer about one object: others of its bucket may be read."""
    if not isinstance(error, ClientError):
        return False
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
