"""The scanner's counting on Spark, beside DuckDB and polars on the same Inventory report.

Each engine has a process of its own, two threads and the same question: objects with more than
1,000 versions or at least 1 TiB, prefixes with more than 50,000 sub-folders. The answers must be
equal. `wall` and `cpu` are of the question alone, after the imports and Spark's start, and for
Spark with the reading of the manifest and its check of all files' MD5s shown apart; `peak` is the
memory of the process and its children, the JVM among them.

Run: `python -m benchmarks.scanner [--rows 1 10 50] [--shapes skewed even] [--keep]` (in millions).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import duckdb
import polars as pl
import psutil
from pyspark.sql import SparkSession

from benchmarks import inventory
from glue_jobs import listing
from glue_jobs.scanner import folders, versions

MANY_VERSIONS: Final = 1_000
LARGE: Final = 1 << 40
MANY_FOLDERS: Final = 50_000
ENGINES: Final = ("spark", "duckdb", "polars")
_VERSIONS_SQL: Final = """
with counted as (
    select key, count(*) as versions, coalesce(sum(size), 0)::bigint as bytes
    from {files} group by key having versions > {many} or bytes >= {large}
)
select 'ManyVersions', * from counted where versions > {many} union all
select 'LargeVersions', * from counted where bytes >= {large}"""
# Each folder once, and from it the one above it, up to the bucket.
_FOLDERS_SQL: Final = """
with recursive folder(path) as (
    select distinct left(key, length(key) - strpos(reverse(key), '/') + 1)
    from {files} where contains(key, '/')
    union select {above} from folder where path != ''
)
select 'BigPrefix', {above} as key, count(*) as folders from folder
where path != '' group by all having folders > {many}"""
_ABOVE_SQL: Final = """
case when contains(left(path, length(path) - 1), '/')
    then left(path, length(path) - strpos(reverse(left(path, length(path) - 1)), '/'))
    else '' end"""
_SCRATCH: Final = Path(".local/benchmark-inventory")
_HEADINGS: Final = (
    "shape",
    "rows",
    "engine",
    "check s",
    "wall s",
    "rows/s",
    "cpu s",
    "peak MB",
    "load",
)


def main() -> None:
    """Print a line for each shape, size and engine, and Spark's ratio to the better other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[1, 10, 50], help="in millions")
    parser.add_argument("--shapes", nargs="*", default=["skewed", "even"])
    parser.add_argument("--keep", action="store_true", help="leave the reports for the next run")
    parser.add_argument("--engine", choices=ENGINES, help=argparse.SUPPRESS)
    parser.add_argument("--manifest", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine:
        print(json.dumps(_measured(options.engine, options.manifest.absolute())))
        return
    print(" | ".join(_HEADINGS))
    for shape in options.shapes:
        for millions in options.rows:
            _compare(shape, millions, keep=options.keep)


def _compare(shape: inventory.Shape, millions: int, *, keep: bool) -> None:
    folder = _SCRATCH / f"{shape}-{millions}"
    try:
        manifest = inventory.write(folder, millions * 1_000_000, shape)
        found = {engine: _run(engine, manifest) for engine in ENGINES}
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    for engine, each in found.items():
        pace = round(millions * 1_000_000 / each["wall"])
        figures = (each["check"], each["wall"], pace, each["cpu"], each["peak"], each["load"])
        print(" | ".join(map(str, (shape, f"{millions} M", engine, *figures))), flush=True)
    if any(each["answer"] != found["spark"]["answer"] for each in found.values()):
        raise SystemExit(f"the answers differ: {found}")
    ratios = {
        unit: found["spark"][unit] / min(found["duckdb"][unit], found["polars"][unit])
        for unit in ("wall", "cpu")
    }
    compared = ", ".join(f"{ratio:.2f} times in {unit}" for unit, ratio in ratios.items())
    findings = sum(map(len, found["spark"]["answer"]))
    print(f"{findings} findings; Spark beside the better one: {compared}", flush=True)


def _run(engine: str, manifest: Path) -> dict[str, Any]:
    """Run an engine in a process of its own; return its answer and peak memory."""
    command = [sys.executable, "-m", "benchmarks.scanner", "--engine", engine]
    environment = {
        **os.environ,
        "POLARS_MAX_THREADS": "2",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(Path.cwd()),
    }
    load = os.getloadavg()[0]
    with subprocess.Popen(
        [*command, "--manifest", str(manifest)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        peak = [0]
        watch = threading.Thread(target=_watch, args=(process.pid, peak))
        watch.start()
        answer = process.communicate()[0]
        watch.join()
    if process.returncode:
        raise SystemExit(f"{engine} ended with {process.returncode}; run {command} to see why")
    found: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return {**found, "peak": peak[0] >> 20, "load": round(load, 1)}


def _watch(pid: int, peak: list[int]) -> None:
    try:
        process = psutil.Process(pid)
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            family = [process, *process.children(recursive=True)]
            peak[0] = max(peak[0], sum(each.memory_info().rss for each in family))
            time.sleep(0.1)
    except psutil.NoSuchProcess:
        return


def _measured(engine: str, manifest: Path) -> dict[str, Any]:
    engines: dict[str, Callable[[Path], tuple[float, float, float, Any]]]
    engines = {"spark": _spark, "duckdb": _duckdb, "polars": _polars}
    check, wall, cpu, answer = engines[engine](manifest)
    figures = {"check": round(check, 1), "wall": round(wall, 2), "cpu": round(cpu, 1)}
    return {**figures, "answer": [sorted(map(list, part)) for part in answer]}


def _timed(ask: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return wall and CPU seconds, with those of child processes, and the answer."""
    begun, used = time.perf_counter(), _cpu()
    answer = ask()
    return time.perf_counter() - begun, _cpu() - used, answer


def _cpu() -> float:
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(each.cpu_times()[:2]) for each in family)


def _spark(manifest: Path) -> tuple[float, float, float, Any]:
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
        .config("spark.local.dir", str(_SCRATCH.absolute() / "spark"))
        .getOrCreate()
    )
    begun = time.perf_counter()
    objects = listing.read(spark, inventory.BUCKET, manifest.as_uri()).objects
    check = time.perf_counter() - begun

    def ask() -> Any:
        many = versions.findings(objects, many=MANY_VERSIONS, large=LARGE)
        return many.collect(), folders.findings(objects, many=MANY_FOLDERS).collect()

    wall, cpu, answer = _timed(ask)
    spark.stop()
    return check, wall, cpu, answer


def _duckdb(manifest: Path) -> tuple[float, float, float, Any]:
    files = f"'{_data(manifest)}'"
    counted = _VERSIONS_SQL.format(files=files, many=MANY_VERSIONS, large=LARGE)
    nested = _FOLDERS_SQL.format(files=files, above=_ABOVE_SQL, many=MANY_FOLDERS)
    with duckdb.connect(config={"threads": 2, "memory_limit": "12GB"}) as ready:
        return 0.0, *_timed(lambda: [ready.execute(each).fetchall() for each in (counted, nested)])


def _polars(manifest: Path) -> tuple[float, float, float, Any]:
    rows = pl.scan_parquet(_data(manifest))
    number, size = pl.len().cast(pl.Int64).alias("versions"), pl.col("size").sum().alias("bytes")
    above = pl.col("path").str.extract(r"^(?s)(.*/)[^/]*/$").fill_null("")

    def ask() -> Any:
        counted = rows.group_by("key").agg(number, size)
        counted = counted.filter((pl.col("versions") > MANY_VERSIONS) | (pl.col("bytes") >= LARGE))
        found = counted.collect(engine="streaming").rows()
        objects = [("ManyVersions", *each) for each in found if each[1] > MANY_VERSIONS]
        objects += [("LargeVersions", *each) for each in found if each[2] >= LARGE]
        path = pl.col("key").str.replace(r"[^/]*$", "").alias("path")
        paths = rows.select(path).filter(pl.col("path") != "").unique()
        level = paths.collect(engine="streaming")
        seen = level
        while level.height:
            level = level.select(above.alias("path")).unique().filter(pl.col("path") != "")
            level = level.join(seen, on="path", how="anti")
            seen = pl.concat([seen, level])
        folders = seen.select(above.alias("key")).group_by("key").len()
        big = folders.filter(pl.col("len") > MANY_FOLDERS).rows()
        return objects, [("BigPrefix", *each) for each in big]

    return 0.0, *_timed(ask)


def _data(manifest: Path) -> Path:
    return manifest.parent.parent / "data" / "*.parquet"


if __name__ == "__main__":
    main()
