"""One scan of a bucket at a time, by a lease that is renewed while it runs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.aws.scan_lease import RENEWAL_SECONDS, ScanLease
from bucketcast.errors import BucketcastError
from glue_jobs import rules
from glue_jobs.aws import client
from glue_jobs.background import running


@contextmanager
def acquired(bucket: str, table: str, run: str) -> Iterator[None]:
    """Hold the lease of a bucket, in the state table, while the block runs.

    Raises:
        BucketcastError: another run holds it, or the table cannot be used.
    """
    lease = ScanLease(table, bucket, run, client("dynamodb"))
    with rules.named(table):
        if not lease.take():
            owner = lease.owner() or "another run"
            raise BucketcastError(
                f"{bucket}: {owner} scans this bucket now; wait until it has ended"
            )
    try:
        with running("lease", partial(_renew, lease)):
            yield
    finally:
        with suppress(BotoCoreError, ClientError):  # then it expires
            lease.release()


def _renew(lease: ScanLease, ended: threading.Event) -> None:
    while not ended.wait(RENEWAL_SECONDS):
        with suppress(BotoCoreError, ClientError):
            if not lease.renew():
                return  # it had expired and was taken; the pointer's ETag refuses our writes
