"""What the scans of a bucket have told, kept between them in generations.

::

    HOME/current.json         the generation that counts
    HOME/GENERATION/edges/    Parquet, rows of `edges.EDGES`
    HOME/GENERATION/outbox/   its alerts, written before it counts and sent after

A scan writes a generation of its own and then moves the pointer, on the condition that nobody else
has. What ends before that was never there; what ends after it left an outbox, which the next scan
sends to its end before it begins. So each alert goes once.
"""

import json
from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, SparkSession

from bucketcast.errors import BucketcastError
from glue_jobs import files
from glue_jobs.scanner.edges import EDGES


class ForgottenError(BucketcastError):
    """The memory of a bucket's scans cannot be used, or another scan was first."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The state after one scan, whose alerts have `events` events; before the first, no `folder`.

    `mark` is the pointer's, by which a change of it is noticed.
    """

    folder: str
    events: int
    mark: str

    @property
    def outbox(self) -> str:
        return f"{self.folder}/outbox"

    def edges(self, spark: SparkSession) -> DataFrame:
        """What was told and is remembered, as rows of `edges.EDGES`."""
        if not self.folder:
            return spark.createDataFrame([], EDGES)
        return spark.read.schema(EDGES).parquet(f"{self.folder}/edges")


class Memory:
    """The generations of one bucket; `home` is their folder's URL."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._pointer = f"{home}/current.json"

    def current(self) -> Generation:
        """The generation that counts.

        Raises:
            ForgottenError: the pointer is not one.
        """
        try:
            content, mark = files.marked(self._pointer)
        except files.MissingFileError:
            return Generation("", 0, files.ABSENT)
        try:
            told = json.loads(content)
            return Generation(f"{self._home}/{told['generation']}", int(told["events"]), mark)
        except (ValueError, KeyError, TypeError) as error:
            raise ForgottenError(
                f"{self._pointer}: found {content[:80]!r} ({error}), wanted what a scan writes; "
                "restore it, or remove it, and every finding is told once more"
            ) from None

    def begun(self, edges: DataFrame, at: datetime) -> Generation:
        """A new generation, written down; it does not count yet."""
        folder = f"{self._home}/{at:%Y-%m-%dT%H-%M-%S.%f}"
        edges.write.parquet(f"{folder}/edges")
        return Generation(folder, 0, files.ABSENT)

    def counts(self, new: Generation, *, instead_of: Generation) -> None:
        """Let a generation count, whose outbox is written.

        Raises:
            ForgottenError: another scan has put its own there meanwhile.
        """
        name = new.folder.removeprefix(f"{self._home}/")
        content = json.dumps({"generation": name, "events": new.events}).encode()
        try:
            files.write(self._pointer, content, over=instead_of.mark, kind="application/json")
        except files.TakenError:
            # A write that S3 did, and whose answer was lost, is tried again by its client.
            if self.current().folder != new.folder:
                raise ForgottenError(
                    f"{self._pointer}: another scan of this bucket has told its findings "
                    "meanwhile; nothing of this one was sent: start it again"
                ) from None

    def sweep(self, before: Generation) -> None:
        """Remove what is older than this generation, which a slower reader may still want."""
        last = before.folder.removeprefix(f"{self._home}/")
        for name in files.folders(self._home):
            if name < last:
                files.remove(f"{self._home}/{name}")
