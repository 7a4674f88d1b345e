"""Run one scan of a bucket, and one attempt of a backfill, at a time.

A lease is renewed while the job runs. Two scans would only do the same work, as the pointer to
their state decides which of them sends its alerts; two attempts of one backfill would both send
what neither has sent yet.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.state.lease import JOBS, Lease
from bucketcast.state.table import Partition
from glue_jobs.aws import client, state_table_errors
from glue_jobs.run import HeldError, background_thread

LEASE_SECONDS: Final = 60
"""The seconds from a renewal until the lease ends."""
RENEWAL_SECONDS: Final = 10.0


@contextmanager
def hold(name: str, table: str, run: str, activity: str) -> Iterator[None]:
    """Hold a lease, in the state table, while the block runs; the error tells its `activity`.

    Raises:
        HeldError: another run holds it.
        BucketcastError: the table cannot be used.
    """
    lease = Lease(Partition(table, JOBS, client("dynamodb")), name, run=run)
    with state_table_errors(table):
        if not lease.take(_unix_ms(LEASE_SECONDS), _unix_ms()):
            raise HeldError(lease.read("run"), activity)
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
