"""What a whole scan makes Spark do: reads of the source, exchanges and jobs."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from pyspark.sql import SparkSession

from bucketcast.settings.pipeline import Scan
from glue_jobs.scanner.scan import scan
from tests.glue.inventories import Row, write
from tests.glue.jobs import run_job, settings_of
from tests.glue.stages import finished_stages, jobs

KEYS: Final = [Row("uploads", f"data/{nth % 50:03}/{nth:05}", "v") for nth in range(5_000)]
OLD: Final = [row._replace(version_id="w", is_latest=False) for row in KEYS]
VERSIONS: Final = [Row("uploads", "hot/key", f"v{nth}", nth == 0) for nth in range(1_500)]
FOLDERS: Final = [Row("uploads", f"wide/{nth:03}/o", "v") for nth in range(60)]


class Work(NamedTuple):
    """Spark's work: rows read and rows shuffled, per row of the source, exchanges and jobs."""

    reads: float
    shuffled: float
    exchanges: int
    jobs: int


@pytest.fixture
def folder(tmp_path: Path, unfiltered: None, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: ARG001
    """Return a folder for a scan without AWS: no lease, no rules, nothing to send."""
    monkeypatch.setattr("glue_jobs.lease.hold", lambda *_: nullcontext())
    monkeypatch.setattr("glue_jobs.scanner.scan.read_rules", lambda *_: [])
    monkeypatch.setattr("glue_jobs.scanner.uploads.count", lambda *_: ([], []))
    return tmp_path


@pytest.mark.parametrize(
    ("rows", "reads", "exchanges", "jobs"),
    [(KEYS, 1, 5, 24), ([*KEYS, *VERSIONS, *FOLDERS], 2, 10, 30)],
    ids=["without findings", "with findings"],
)
def test_a_scan_reads_its_source_once_and_again_for_findings(
    spark: SparkSession, folder: Path, rows: Sequence[Row], reads: int, exchanges: int, jobs: int
) -> None:
    work = work_of_scan(spark, folder, rows)
    assert round(work.reads, 1) == reads
    assert work.shuffled < 0.05
    assert work.exchanges <= exchanges
    assert work.jobs <= jobs


def test_each_task_sums_old_versions_by_few_hashes(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glue_jobs.scanner.sums._MIN_BUCKETS", 64)
    work = work_of_scan(spark, folder, [*KEYS, *OLD])
    assert work.shuffled < 0.05
    assert round(work.reads, 1) == 1, "none has more than 1,000"


def work_of_scan(spark: SparkSession, folder: Path, rows: Sequence[Row]) -> Work:
    options = {
        "bucket": "uploads",
        "run": f"{folder.as_uri()}/run",
        "state": f"{folder.as_uri()}/alerts",
        "ingress": "-",
        "table": "-",
        "alert_excess_versions": "1000",
        "alert_excess_folders": "60",
    }
    report = write(folder, rows, bucket="uploads", versions=True)
    settings = replace(settings_of(Scan, options), source=report)
    before = len(list(jobs(spark)))
    run_job(scan, spark, settings)
    new = list(jobs(spark))[before:]
    stages = finished_stages(spark, new)
    records = sum(stage.inputRecords() for stage in stages)
    shuffled = [stage.shuffleWriteRecords() for stage in stages if stage.shuffleWriteRecords()]
    return Work(records / len(rows), sum(shuffled) / len(rows), len(shuffled), len(new))
