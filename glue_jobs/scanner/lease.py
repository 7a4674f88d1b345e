"""One scan of a bucket at a time, by a lease file that its owner renews.

Clocks of two machines are never compared: a run that finds the lease held waits for its time-out.
If the file has changed by then, its owner is alive; if not, it ended without a release.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import sleep
from typing import Final
from uuid import uuid4

from bucketcast.errors import BucketcastError
from glue_jobs import files
from glue_jobs.background import running

LEASE_SECONDS: Final = 30.0
"""The seconds after which a lease that was not renewed is expired; a renewal is due at a third."""


class BusyError(BucketcastError):
    """Another run holds the lease; the text names it."""


@contextmanager
def acquired(url: str, run: str) -> Iterator[None]:
    """Hold the lease while the block runs.

    Raises:
        BusyError: another run holds it.
    """
    lease = _Lease(url, run)
    lease.take()
    try:
        with running("lease", lease.hold):
            yield
    finally:
        lease.release()


class _Lease:
    def __init__(self, url: str, run: str) -> None:
        self._url = url
        self._run = run
        self._etag = files.ABSENT

    def take(self) -> None:
        with suppress(files.MissingFileError):
            content, self._etag = files.read_with_etag(self._url)
            owner = json.loads(content)["run"]
            if owner:
                sleep(LEASE_SECONDS)
                if files.read_with_etag(self._url)[1] != self._etag:
                    raise BusyError(_busy(self._url, owner))
        try:
            self._renew(self._run)
        except files.TakenError:
            raise BusyError(_busy(self._url, "another run")) from None

    def hold(self, ended: threading.Event) -> None:
        while not ended.wait(LEASE_SECONDS / 3):
            try:
                self._renew(self._run)
            except files.TakenError:
                return  # the lease counted as expired; the pointer's ETag refuses our writes
            except files.FileError:
                continue

    def release(self) -> None:
        # If this fails, the next run only waits a little longer.
        with suppress(files.FileError):
            self._renew("")

    def _renew(self, run: str) -> None:
        content = json.dumps({"run": run, "word": uuid4().hex}).encode()
        with suppress(files.TakenError):  # also said of a write whose answer was lost
            files.write(self._url, content, over=self._etag, kind="application/json")
        now, etag = files.read_with_etag(self._url)
        if now != content:
            raise files.TakenError(f"{self._url} was written by somebody else meanwhile")
        self._etag = etag


def _busy(url: str, owner: str) -> str:
    return f"{url}: {owner} scans this bucket now; wait until it has ended"
