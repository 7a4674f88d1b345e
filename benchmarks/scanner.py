"""The scanner's counting on Spark, of a generated Inventory report in Parquet with all versions.

The query: objects with more versions, and prefixes with more sub-folders, than the default
thresholds of a scan. `wall` and `cpu` are of the query alone, after Spark's start; reading the
manifest with its check of all files' MD5s is shown apart. `peak` is the memory of this process and
its children, the JVM among them; the report is written by a process of its own.

The report has about two versions of a key and a hundred rows in a folder, three folders deep. Of
each hundred rows one is in a few hot keys, two are each in a sub-folder of their own of a single
prefix, and one lies forty levels deep. Run: `python -m benchmarks.scanner [--millions 10]`.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil
from pyspark.sql import SparkSession

from bucketcast.settings.options import read
from bucketcast.settings.pipeline import Alerts
from glue_jobs import listing
from glue_jobs.scanner import usage
from glue_jobs.scanner.counting import find
from glue_jobs.scanner.sums import Thresholds, sum_up

_SCRATCH: Final = Path(".local/benchmark-inventory").absolute()
_BUCKET: Final = "uploads"
_ROWS_A_FILE: Final = 2_500_000
_SCHEMA: Final = (
    "message s3.inventory { required binary bucket (UTF8); required binary key (UTF8); "
    "optional binary version_id (UTF8); optional boolean is_latest; "
    "optional boolean is_delete_marker; optional int64 size; "
    "optional int64 last_modified_date (TIMESTAMP(MILLIS,true)); optional binary e_tag (UTF8); "
    "optional binary storage_class (UTF8); }"
)
_ROWS: Final = """
    select '{bucket}' as bucket,
        case
            when lot = 0 then concat('data/hot/key-', pmod(mark, 1 + {rows} div 1000000))
            when lot in (1, 2) then concat('data/wide/child-', row, '/object')
            when lot = 3 then concat(repeat('level/', 40), row % 5000)
            else concat(
                'data/team-', key div 200000, '/run-', (key div 50) % 4000, '/part-', key, '.csv'
            )
        end as key,
        md5(string(row * 3)) as version_id, mark % 2 = 0 as is_latest,
        mark % 100 = 0 as is_delete_marker, if(mark % 100 = 0, 0, mark % 10000000) as size,
        timestamp_seconds(1577836800 + mark % 150000000) as last_modified_date,
        md5(string(row * 3 + 1)) as e_tag, if(mark % 5 = 0, 'GLACIER', 'STANDARD') as storage_class
    from (
        select id as row, pmod(xxhash64(id, 7), 100) as lot,
            pmod(xxhash64(id, 13), 1000000000) as mark, pmod(xxhash64(id, 29), {keys}) as key
        from range(0, {rows}, 1, {files})
    )
"""
_HEADINGS: Final = ("rows", "findings", "check s", "wall s", "rows/s", "cpu s", "peak MB", "load")


def main() -> None:
    """Print the figures of a report of one size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, default=10, help="rows of the report")
    millions = parser.parse_args().millions
    rows = millions * 1_000_000
    manifest = _SCRATCH / _BUCKET / "all" / "2026-01-02T01-00Z" / "manifest.json"
    shutil.rmtree(_SCRATCH, ignore_errors=True)
    try:
        writer = multiprocessing.get_context("spawn").Process(target=_write, args=(manifest, rows))
        writer.start()
        writer.join()
        if writer.exitcode:
            raise SystemExit(f"the report was not written: {writer.exitcode}")
        load = os.getloadavg()[0]
        with _measure_peak() as peak:
            findings, check, wall, cpu = _measure(manifest)
    finally:
        shutil.rmtree(_SCRATCH, ignore_errors=True)
    figures = (f"{check:.1f}", f"{wall:.2f}", round(rows / wall), f"{cpu:.1f}", peak[0] >> 20)
    print(" | ".join(_HEADINGS))
    print(" | ".join(map(str, (f"{millions} M", findings, *figures, f"{load:.1f}"))))


def _write(manifest: Path, rows: int) -> None:
    """Write a report of so many rows: its data files, its manifest and the checksum of that."""
    spark = _spark()
    data = manifest.parents[1] / "data"
    files = -(-rows // _ROWS_A_FILE)
    query = _ROWS.format(bucket=_BUCKET, rows=rows, keys=rows // 2, files=files)
    spark.sql(query).write.parquet(data.as_uri())
    spark.stop()
    document = {
        "sourceBucket": _BUCKET,
        "destinationBucket": "arn:aws:s3:::inventories",
        "version": "2016-11-30",
        "creationTimestamp": "1767315600000",
        "fileFormat": "Parquet",
        "fileSchema": _SCHEMA,
        "files": [
            {
                "key": path.relative_to(_SCRATCH).as_posix(),
                "size": path.stat().st_size,
                "MD5checksum": _md5(path),
            }
            for path in sorted(data.glob("*.parquet"))
        ],
    }
    manifest.parent.mkdir()
    manifest.write_text(json.dumps(document))
    manifest.with_name("manifest.checksum").write_text(_md5(manifest))


def _md5(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "md5").hexdigest()


def _measure(manifest: Path) -> tuple[int, float, float, float]:
    """Return the number of findings, and seconds: of the check, of the query, of its CPU."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(Path.cwd())}
    spark, alerts = _spark(), read(Alerts, {})
    begun = time.perf_counter()
    content = listing.read(spark, _BUCKET, manifest.as_uri())
    check = time.perf_counter() - begun
    begun, cpu_before = time.perf_counter(), _cpu()
    limits = Thresholds(
        alerts.alert_excess_versions,
        alerts.alert_versions_size,
        alerts.alert_excess_folders,
    )
    sums = sum_up(content.objects, content.taken, limits)
    findings = find(content.objects, sums, limits).collect()
    usage.rows(sums, content)
    wall, cpu = time.perf_counter() - begun, _cpu() - cpu_before
    spark.stop()
    return len(findings), check, wall, cpu


def _spark() -> SparkSession:
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.extraJavaOptions", "-XX:+UseParallelGC")
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "16")
        .config("spark.ui.enabled", "false")
        .config("spark.local.dir", str(_SCRATCH / "spark"))
        .getOrCreate()
    )


def _cpu() -> float:
    """Return the CPU seconds of this process and its children."""
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(process.cpu_times()[:2]) for process in family)


@contextmanager
def _measure_peak() -> Iterator[list[int]]:
    """Yield a list with the peak memory of this process and its children, in bytes."""
    peak, stop = [0], threading.Event()

    def sample() -> None:
        while not stop.wait(0.1):
            family = [psutil.Process(), *psutil.Process().children(recursive=True)]
            try:
                peak[0] = max(peak[0], sum(process.memory_info().rss for process in family))
            except psutil.NoSuchProcess:
                continue

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield peak
    finally:
        stop.set()
        sampler.join()


if __name__ == "__main__":
    main()
