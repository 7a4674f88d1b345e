"""A long stage reports its progress."""

import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from glue_jobs.run import Run


class RecordingRun(Run):
    """A run that records its reports, and lets the tasks finish after the first about them."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder.as_uri())
        self.reported: list[tuple[str, int, int, str]] = []
        self._open = folder / "open"

    def report(self, stage: str, done: int = 0, total: int = 0, unit: str = "") -> None:
        super().report(stage, done, total, unit)
        self.reported.append((stage, done, total, unit))
        if total:
            self._open.touch()


@pytest.mark.both_sparks
def test_a_stage_reports_its_tasks(spark: SparkSession, tmp_path: Path) -> None:
    run = RecordingRun(tmp_path)
    gate = tmp_path / "open"

    def wait(_: Iterable[int]) -> Iterable[int]:
        while not gate.exists():
            time.sleep(0.1)
        return [1]

    with run.report_tasks(spark, "counting"):
        assert spark.sparkContext.parallelize(range(2), 2).mapPartitions(wait).sum() == 2
    assert run.reported[:2] == [("counting", 0, 0, ""), ("counting", 0, 2, "tasks")]
    before = len(run.reported)
    spark.range(1).count()
    assert len(run.reported) == before
