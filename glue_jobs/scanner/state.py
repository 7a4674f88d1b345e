"""The alert states of a bucket's scans, in generations.

::

    FOLDER/current.json                the current generation, without its rows
    FOLDER/GENERATION/alert_states/    Parquet, rows of `alert_states.ALERT_STATES`
    FOLDER/GENERATION/outbox/          its alerts, written before it is current and sent after

A scan writes a generation of its own and then moves the pointer, on the condition that no other
scan has. A scan that ends before that changes nothing; one that ends after it leaves an outbox,
which the next scan sends before it begins. So each alert is sent once.
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession

from bucketcast.errors import BucketcastError
from glue_jobs import files
from glue_jobs.scanner.alert_states import ALERT_STATES
from glue_jobs.scanner.coverage import Coverage, Filter


class Generation(msgspec.Struct, frozen=True):
    """The state after one scan, with `events` alerts; before the first, `folder` is "".

    `coverage` is what scans have seen of the bucket, and `filters` are what they found in its
    configurations of reports, by their ids. `etag` is the pointer's, to detect changes.
    """

    folder: str
    events: int = 0
    coverage: tuple[Coverage, ...] = ()
    filters: Mapping[str, Filter] = {}
    etag: str = files.ABSENT

    @property
    def outbox(self) -> str:
        return f"{self.folder}/outbox"

    def alert_states(self, spark: SparkSession) -> DataFrame:
        """Return the alert states, as rows of `ALERT_STATES`."""
        if not self.folder:
            return spark.createDataFrame([], ALERT_STATES)
        return spark.read.schema(ALERT_STATES).parquet(f"{self.folder}/alert_states")


class StateStore:
    """The generations of one bucket; `folder` is their URL."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._pointer = f"{folder}/current.json"

    def current(self) -> Generation:
        """Return the current generation.

        Raises:
            BucketcastError: the pointer is damaged.
        """
        try:
            content, etag = files.read_with_etag(self._pointer)
        except files.MissingFileError:
            return Generation("")
        try:
            return replace(msgspec.json.decode(content, type=Generation), etag=etag)
        except msgspec.DecodeError as error:
            raise BucketcastError(
                f"{self._pointer}: found {content[:80]!r} ({error}), wanted a pointer as scans "
                "write it; restore it, or remove it, and every finding is alerted once more"
            ) from None

    def write(self, alert_states: DataFrame, at: datetime) -> Generation:
        """Write a new generation, which is not current yet."""
        folder = f"{self._folder}/{at:%Y-%m-%dT%H-%M-%S.%f}"
        alert_states.write.parquet(f"{folder}/alert_states")
        return Generation(folder)

    def commit(self, new: Generation, *, etag: str) -> None:
        """Make a generation current, whose outbox is written, in place of that with the ETag.

        Raises:
            BucketcastError: another scan has committed its own meanwhile.
        """
        content = msgspec.json.encode(new)
        try:
            files.write(self._pointer, content, replaces=etag, media_type="application/json")
        except files.ConflictError:
            # The client retries a write that succeeded but whose response was lost.
            if self.current().folder != new.folder:
                raise BucketcastError(
                    f"{self._pointer}: another scan of this bucket has sent its alerts "
                    "meanwhile; nothing of this one was sent: start it again"
                ) from None

    def sweep(self, before: Generation, new: Generation) -> None:
        """Remove generations older than `before`, which a slow reader may still need.

        `new` is the current one, also if a clock that was put back made it older.
        """
        last, current = (each.folder.removeprefix(f"{self._folder}/") for each in (before, new))
        for name in files.list_folders(self._folder):
            if name < last and name != current:
                files.remove(f"{self._folder}/{name}")
