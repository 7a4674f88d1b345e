"""One scan of a bucket at a time, by a file that its owner touches again and again.

No clock is compared with another machine's: who finds the file held watches it for as long as its
owner may be silent. If it changes, the owner lives; if not, it has ended without a word.
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

SILENCE: Final = 30.0
"""The seconds after which a silent owner counts as gone; it speaks three times as often."""


class BusyError(BucketcastError):
    """Another run holds the lease; the text names it."""


@contextmanager
def held(url: str, run: str) -> Iterator[None]:
    """Hold the lease while the block runs.

    Raises:
        BusyError: another run holds it.
    """
    lease = _Lease(url, run)
    lease.take()
    ended = threading.Event()
    voice = threading.Thread(target=lease.hold, args=(ended,), name="lease", daemon=True)
    voice.start()
    try:
        yield
    finally:
        ended.set()
        voice.join()
        lease.release()


class _Lease:
    def __init__(self, url: str, run: str) -> None:
        self._url = url
        self._run = run
        self._mark = files.ABSENT

    def take(self) -> None:
        with suppress(files.MissingFileError):
            content, self._mark = files.marked(self._url)
            owner = json.loads(content)["run"]
            if owner:
                sleep(SILENCE)
                if files.marked(self._url)[1] != self._mark:
                    raise BusyError(_busy(self._url, owner))
        try:
            self._speak(self._run)
        except files.TakenError:
            raise BusyError(_busy(self._url, "another run")) from None

    def hold(self, ended: threading.Event) -> None:
        while not ended.wait(SILENCE / 3):
            try:
                self._speak(self._run)
            except files.TakenError:
                return  # given up for gone; what it writes is refused by the pointer's mark
            except files.FileError:
                continue

    def release(self) -> None:
        # Who comes next only waits a little longer if this fails.
        with suppress(files.FileError):
            self._speak("")

    def _speak(self, run: str) -> None:
        content = json.dumps({"run": run, "word": uuid4().hex}).encode()
        with suppress(files.TakenError):  # also said of a write whose answer was lost
            files.write(self._url, content, over=self._mark, kind="application/json")
        now, mark = files.marked(self._url)
        if now != content:
            raise files.TakenError(f"{self._url} was written by somebody else meanwhile")
        self._mark = mark


def _busy(url: str, owner: str) -> str:
    return f"{url}: {owner} scans this bucket now; wait until it has ended"
