"""Run one scan of a bucket at a time, by a lease that is renewed while it runs.

A lease only saves two scans from doing the same work: the pointer to their state decides which of
them sends its alerts.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.errors import BucketcastError
from bucketcast.state.lease import SCANS, Lease
from bucketcast.state.table import Partition
from glue_jobs.aws import client, state_table_errors
from glue_jobs.run import background_thread

LEASE_SECONDS: Final = 60
"""The seconds from a renewal until the lease ends."""
RENEWAL_SECONDS: Final = 10.0


@contextmanager
def hold(bucket: str, table: str, run: str) -> Iterator[None]:
    """Hold the lease of a bucket, in the state table, while the block runs.

    Raises:
        BucketcastError: another run holds it, or the table cannot be used.
    """
    lease = Lease(Partition(table, SCANS, client("dynamodb")), bucket, run=run)
    with state_table_errors(table):
        if not lease.take(_unix_ms(LEASE_SECONDS), _unix_ms()):
            owner = lease.read("run") or "another run"
            raise BucketcastError(
                f"{bucket}: {owner} scans this bucket now; wait until it has ended"
            )
    try:
        with background_thread("lease", partial(_renew, lease)):
            yield
    finally:
        with suppress(BotoCoreError, ClientError):  # then it expires
            lease.release()


def _renew(lease: Lease, ended: threading.Event) -> None:
    while not ended.wait(RENEWAL_SECONDS):
        with suppress(BotoCoreError, ClientError):
            if not lease.renew(_unix_ms(LEASE_SECONDS)):
                return  # it expired and another run took it; the pointer's ETag refuses our writes


def _unix_ms(delay: int = 0) -> int:
    return round((time.time() + delay) * 1_000)
