"""The scanner's counting on Spark, of a generated Inventory report.

The question: objects with more than 1,000 versions or at least 1 TiB, prefixes with more than
50,000 sub-folders. `wall` and `cpu` are of the question alone, after Spark's start; reading the
manifest with its check of all files' MD5s is shown apart. `peak` is the memory of this process and
its children, the JVM among them; the report is written by a process of its own.

Run: `python -m benchmarks.scanner [--millions 10] [--shape skewed] [--keep]`.
"""

import argparse
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

from benchmarks import inventory
from bucketcast.settings.jobs import LARGE_VERSIONS, MANY_FOLDERS, MANY_VERSIONS
from glue_jobs import listing
from glue_jobs.scanner import folders, versions

_SCRATCH: Final = Path(".local/benchmark-inventory").absolute()
_HEADINGS: Final = (
    "shape",
    "rows",
    "findings",
    "check s",
    "wall s",
    "rows/s",
    "cpu s",
    "peak MB",
    "load",
)


def main() -> None:
    """Print a line for a shape and a size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, default=10, help="rows of the report")
    parser.add_argument("--shape", choices=["skewed", "even"], default="skewed")
    parser.add_argument("--keep", action="store_true", help="leave the report for the next run")
    options = parser.parse_args()
    rows = options.millions * 1_000_000
    folder = _SCRATCH / f"{options.shape}-{options.millions}"
    try:
        _write(folder, rows, options.shape)
        load = os.getloadavg()[0]
        with _peak() as most:
            findings, check, wall, cpu = _measured(inventory.manifest(folder))
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    figures = (f"{check:.1f}", f"{wall:.2f}", round(rows / wall), f"{cpu:.1f}", most[0] >> 20)
    print(" | ".join(_HEADINGS))
    size = f"{options.millions} M"
    print(" | ".join(map(str, (options.shape, size, findings, *figures, f"{load:.1f}"))))


def _write(folder: Path, rows: int, shape: inventory.Shape) -> None:
    """Write the report, unless an earlier run kept it."""
    if inventory.manifest(folder).exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    spawn = multiprocessing.get_context("spawn")
    writer = spawn.Process(target=inventory.write, args=(folder, rows, shape))
    writer.start()
    writer.join()
    if writer.exitcode:
        raise SystemExit(f"the report was not written: {writer.exitcode}")


def _measured(manifest: Path) -> tuple[int, float, float, float]:
    """Return the number of findings, and seconds: of the check, of the question, of its CPU."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(Path.cwd())}
    spark = (
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
    begun = time.perf_counter()
    objects = listing.read(spark, inventory.BUCKET, manifest.as_uri()).objects
    check = time.perf_counter() - begun
    begun, used = time.perf_counter(), _cpu()
    many = versions.findings(objects, many=MANY_VERSIONS, large=LARGE_VERSIONS).collect()
    many += folders.findings(objects, many=MANY_FOLDERS).collect()
    wall, cpu = time.perf_counter() - begun, _cpu() - used
    spark.stop()
    return len(many), check, wall, cpu


def _cpu() -> float:
    """Return the CPU seconds of this process and its children."""
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(each.cpu_times()[:2]) for each in family)


@contextmanager
def _peak() -> Iterator[list[int]]:
    """Yield a list with the peak memory of this process and its children, in bytes."""
    most, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            family = [psutil.Process(), *psutil.Process().children(recursive=True)]
            try:
                most[0] = max(most[0], sum(each.memory_info().rss for each in family))
            except psutil.NoSuchProcess:
                continue

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield most
    finally:
        over.set()
        watcher.join()


if __name__ == "__main__":
    main()
