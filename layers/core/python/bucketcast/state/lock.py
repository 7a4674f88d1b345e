"""Locks, for AWS documents without conditional writes.

A waiter watches the lease's holder by its own clock, and takes the lease when the holder has not
changed for `LEASE` seconds: so clocks need not agree, and a dead process does not keep it. Before
it writes, a holder checks that it still holds the lock.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from bucketcast.errors import BucketcastError
from bucketcast.state.lease import Lease
from bucketcast.state.table import Partition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

log = logging.getLogger(__name__)
KEY: Final = "#lock"
"""A partition key that no bucket name can be, so readers of rules do not see it."""
LEASE: Final = 60.0
TIMEOUT_SECONDS: Final = 150.0
_PAUSE: Final = 1.0


class Lock:
    """Locks by name, for which others wait `timeout` seconds; `clock` is monotonic."""

    def __init__(
        self,
        table: str,
        client: "DynamoDBClient",
        *,
        timeout: float = TIMEOUT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._items = Partition(table, KEY, client)
        self._timeout = timeout
        self._clock = clock
        self.sleep = sleep

    @contextmanager
    def hold(self, name: str) -> Iterator[Callable[[], bool]]:
        """Hold a lock; yield a function that returns True while there is time to write.

        Raises:
            BucketcastError: others held it for the whole timeout.
        """
        lease = Lease(self._items, name)
        held_since = self._take(name, lease)
        try:
            # The rest of the lease is for the following write with its retries.
            yield lambda: self._clock() - held_since < LEASE / 3
        finally:
            lease.release()

    def _take(self, name: str, lease: Lease) -> float:
        """Take it as soon as it is free; return when the lease began."""
        began = self._clock()
        holder, held_since = "", began
        while True:
            dead = holder if self._clock() - held_since >= LEASE else ""
            now = self._clock()
            if lease.take(round((time.time() + LEASE) * 1_000), former=dead):
                return now
            if now - began >= self._timeout:
                raise BucketcastError(
                    f"somebody else is changing {name} for over {self._timeout:.0f} s: try again"
                )
            if not holder:
                log.info("waiting for others who are changing %s", name)
            self.sleep(_PAUSE)
            if (current := lease.read()) != holder:
                holder, held_since = current, self._clock()
