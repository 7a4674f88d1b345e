"""One run of a job: its arguments, its Spark session, its progress and its result.

Whoever started the run follows two small files in its folder, on AWS and locally alike::

    progress.json   {"stage": "sending", "done": 1200, "total": 20000, "unit": "events"}
    result.json     {"status": "success", …the job's result…} | {"status": "error", "error": "…"}
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from bucketcast.settings.pipeline import Job, parse
from glue_jobs import files
from glue_jobs.reason import reason

T = TypeVar("T", bound=Job)
_REPORT_SECONDS: Final = 1.0
"""The time between two reports of one stage: each is a PUT."""
_TASK_REPORT_SECONDS: Final = 2.0


def start(name: str, options: type[T], job: Callable[[SparkSession, T, "Run"], None]) -> None:
    """Run a job with the options that the command line gives."""
    settings = parse(options, sys.argv[1:])
    with Run(settings.run) as run, session(name) as spark:
        job(spark, settings, run)


@contextmanager
def session(name: str) -> Iterator[SparkSession]:
    """Open a session with times in UTC, and stop it after the block.

    Settings needed before Spark starts (catalogs, file systems, memory) come with `--conf` from
    whoever submits the job.
    """
    spark = SparkSession.builder.appName(name).getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        yield spark
    finally:
        with suppress(Py4JError, OSError):  # a Spark that has ended cannot be stopped
            spark.stop()


class HeldError(BucketcastError):
    """Another run does this work; `owner` is its folder."""

    def __init__(self, owner: str, activity: str) -> None:
        super().__init__(f"{owner or 'another run'} {activity} now; wait until it has ended")
        self.owner = owner


class Run:
    """A run in progress; `folder` is its URL, without a trailing slash."""

    def __init__(self, folder: str) -> None:
        self.folder = folder.rstrip("/")
        self._next_report = 0.0
        self._stage = ""
        self._result: Mapping[str, Any] = {}

    def path(self, name: str) -> str:
        """Return the URL of a file or folder of this run."""
        return f"{self.folder}/{name}"

    def temporary(self, name: str) -> str:
        """Return the URL of a folder that is removed when the run ends, however it does."""
        return self.path(f"temporary/{name}")

    def report(self, stage: str, done: int = 0, total: int = 0, unit: str = "") -> None:
        """Report the progress: a new stage at once, the rest about once a second."""
        now = time.monotonic()
        if stage == self._stage and now < self._next_report and done < total:
            return
        self._stage, self._next_report = stage, now + _REPORT_SECONDS
        progress = {"stage": stage, "done": done, "total": total, "unit": unit}
        self._write("progress.json", progress)
        sys.stdout.write(f"{stage}: {done} of {total} {unit}\n" if total else f"{stage}\n")
        sys.stdout.flush()

    @contextmanager
    def report_tasks(self, spark: SparkSession, stage: str) -> Iterator[None]:
        """Report the stage, and the number of finished Spark tasks while the block runs.

        Spark works in several stages with tasks of their own: the total is of the active ones.
        """
        self.report(stage)
        with background_thread("progress", partial(self._report_tasks, spark, stage)):
            yield

    def _report_tasks(self, spark: SparkSession, stage: str, ended: threading.Event) -> None:
        tracker = spark.sparkContext.statusTracker()
        # Progress must not end the job: the next call reports what is wrong.
        with suppress(Py4JError, OSError, BucketcastError):
            while not ended.wait(_TASK_REPORT_SECONDS):
                active = map(tracker.getStageInfo, tracker.getActiveStageIds())
                stages = [info for info in active if info]
                done = sum(info.numCompletedTasks for info in stages)
                if total := sum(info.numTasks for info in stages):
                    self.report(stage, done, total, "tasks")

    def set_result(self, result: Mapping[str, Any]) -> None:
        """Set the result, which is written when the run succeeds."""
        self._result = result

    def _write(self, name: str, document: Mapping[str, Any]) -> None:
        content = json.dumps(document, ensure_ascii=False, default=str).encode()
        files.write(self.path(name), content, media_type="application/json")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if isinstance(error, HeldError) and error.owner == self.folder:
            return  # the folder is another attempt's, which goes on
        with suppress(files.FileError):  # it expires with the run
            files.remove(self.temporary(""))
        if error is None:
            self._write("result.json", {"status": "success", **self._result})
            return
        self._write("result.json", {"status": "error", "error": reason(error)})


@contextmanager
def background_thread(name: str, work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Call `work` in a thread while the block runs; it returns when its event is set."""
    ended = threading.Event()
    thread = threading.Thread(target=work, args=(ended,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
