"""What each job takes a row, and so a billion: `python -m benchmarks.scanner.jobs`.

All jobs run in one session at several sizes, after a small run that warms it up, and a line through
their CPU seconds gives a billion rows. Each case runs once: 500,000 findings of 300,000 candidates,
the same after a thousand newer scans of prefixes, and a report of a tenth of the bucket beside a
mirror of it all. Executors are processes of their own, so that the driver can be told apart.

Half of a report's rows are current objects. A mirror's rows are kept here, and go through Python:
what a target's database takes is not in it. `listing` lists the bucket of
`benchmarks.scanner.pages`, whose CPU is not counted, nor is that of the local AWS.

Run: `python -m benchmarks.scanner.jobs [--millions 0.15 0.3 0.6] [--jobs scan listing …]`
"""

import argparse
import io
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, redirect_stdout
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

import psutil
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from benchmarks.scanner import report
from benchmarks.scanner.aws import QUEUE, local_aws
from benchmarks.scanner.model import fit
from benchmarks.scanner.spark import BUCKET, TARGET, session, settings
from bucketcast.cost.prices import prices
from bucketcast.event.names import from_words
from bucketcast.event.scanner import KINDS
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from glue_jobs import files
from glue_jobs.aws import client
from glue_jobs.backfill.backfill import backfill
from glue_jobs.listing import inventory
from glue_jobs.outbox import sender
from glue_jobs.reconcile import mirror
from glue_jobs.reconcile.reconcile import reconcile
from glue_jobs.run import Run
from glue_jobs.scanner.coverage import Coverage
from glue_jobs.scanner.scan import scan
from glue_jobs.scanner.state import Generation, StateStore
from tests.glue import local_files
from tests.glue.stages import finished_stages, jobs
from tests.servers.machine import ports
from tests.unit.moto_aws import TABLE

_ALL: Final = {"alert_excess_versions": "0", "alert_versions_size": "7000000"}
"""What finds each key, and two thirds of them twice."""
_PART: Final = "data/team-0/run-1"
_FITTED: Final = ("scan", "listing", "backfill", "reconcile")
_CASES: Final[Mapping[str, tuple[Any, Mapping[str, str]]]] = {
    "scan": (scan, {}),
    "backfill": (backfill, {}),
    "reconcile": (reconcile, {}),
    "listing": (scan, {"source": "listing"}),
    "findings": (scan, _ALL),
    "prefixes": (scan, _ALL),
    "part": (reconcile, {}),
}
"""The job behind each name, with its options."""
_CASES_MILLIONS: Final = {0.67: ("findings", "prefixes"), 1.07: ("part",)}
"""Rows with 300,000 keys, and those of which `_PART` begins a tenth."""
_SESSION: Final = {
    "spark.master": "local-cluster[1,2,3072]",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "3g",
    "spark.python.daemon.module": "tests.glue.daemon",
}
_WAITING: Final = {"listing": 100.0, "backfill": 1e6 / 2 / sender.TASK_RATE}
"""Seconds of a core for a million rows that no CPU works: S3's 100 ms for a page, and sending."""
_DPUS: Final = 10
_CORES: Final = 4 * (_DPUS - 1)
"""One of the workers drives, each of which has a DPU of four:
https://docs.aws.amazon.com/glue/latest/dg/worker-types.html"""
_SLOWER: Final = 2 * 1.5
"""A vCPU is half of a core here, and half as much again is for stragglers and S3."""
_START: Final = 120.0


_HEADINGS: Final = ("CPU s", "MB shuffled", "MB returned", "MB of heap", "MB of Python")
"""Of all processes; to the driver; and the driver's Java and Python at most, also until then."""


def main() -> None:
    """Print what each job takes, and what a billion rows would."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=float, nargs="+", default=[0.15, 0.3, 0.6], help="rows")
    parser.add_argument("--jobs", nargs="+", default=list(_CASES), choices=_CASES)
    arguments = parser.parse_args()
    local_files.install()
    with TemporaryDirectory() as folder, local_aws(Path(folder)):
        rule = Rule(bucket=BUCKET, arn=TARGET, events=from_words("put,scanner"))
        Rules(TABLE, client("dynamodb")).add(rule)
        port = ports(Path(folder, "pages"), "pages")["pages"]
        os.environ["AWS_ENDPOINT_URL_S3"] = f"http://127.0.0.1:{port}"
        with session(**_SESSION) as spark:
            _measure_all(spark, Path(folder), arguments.millions, arguments.jobs, port)


def _measure_all(
    spark: SparkSession, home: Path, millions: list[float], names: list[str], port: int
) -> None:
    cpu: dict[str, dict[float, float]] = {name: {} for name in _FITTED}
    print(" | ".join(("job", "million rows", *_HEADINGS, "result")), flush=True)
    sizes = dict.fromkeys((millions[0] / 10, *millions), _FITTED)
    for nth, (size, cases) in enumerate([*sizes.items(), *_CASES_MILLIONS.items()]):
        rows, folder = round(size * 1e6), home / str(nth)
        report.write(spark, _manifest(folder), rows)
        report.write(spark, _manifest(folder / "part"), rows, _PART)
        words = [sys.executable, "-m", "benchmarks.scanner.pages", str(port), str(rows)]
        with subprocess.Popen(words) as pages, ExitStack() as ended:
            ended.callback(pages.terminate)
            for name in (each for each in names if each in cases):
                figures, result = _measure(spark, name, folder)
                if nth:
                    cells = (f"{each:,.1f}" for each in figures)
                    print(name, f"{size:g}", *cells, result, sep=" | ", flush=True)
                    cpu.get(name, {})[size] = figures[0]
        shutil.rmtree(folder)
    for name, measured in cpu.items():
        if len(measured) > 2:
            _print_billion(name, measured)


def _print_billion(name: str, measured: Mapping[float, float]) -> None:
    print(end=f"{name}: ")
    start, slope = fit(measured)
    seconds = (start + slope * 1_000) * _SLOWER + _WAITING.get(name, 0) * 1_000
    hours = (seconds / _CORES + _START) / 3_600
    dollars = prices().of("glue", hours * _DPUS)
    print(f"a billion: {hours:.1f} h, ${dollars:.2f}", flush=True)


def _measure(spark: SparkSession, name: str, folder: Path) -> tuple[list[float], str]:
    """Run a job; return its figures, and the numbers of its result."""
    (job, options), home = _CASES[name], (folder / name).as_uri()
    part = _PART if name == "part" else ""
    if name == "prefixes":
        _pretend_scans(spark, f"{home}/alerts/{BUCKET}")
    manifest = _manifest(folder / "part" if part else folder)
    chosen = settings(job.__name__, home, manifest.as_uri(), **options)
    jvm: Any = spark._jvm  # noqa: SLF001
    beans = jvm.java.lang.management.ManagementFactory
    pools = [each for each in beans.getMemoryPoolMXBeans() if str(each.getType().name()) == "HEAP"]
    for pool in pools:
        pool.resetPeakUsage()
    earlier, cpu = len(list(jobs(spark))), _cpu()
    with (
        patch.object(inventory, "_read_filter", lambda *_: (part, "")),
        patch.object(mirror, "read_rows", partial(_read_mirror, _manifest(folder))),
        redirect_stdout(io.StringIO()),
        Run(chosen.run) as run,
    ):
        job(spark, chosen, run)
    cpu = _cpu() - cpu
    stages = finished_stages(spark, list(jobs(spark))[earlier:])
    sizes = (
        sum(stage.shuffleWriteBytes() for stage in stages),
        sum(stage.resultSize() for stage in stages),
        sum(pool.getPeakUsage().getUsed() for pool in pools),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
    )
    client("sqs").purge_queue(QueueUrl=QUEUE)
    result = json.loads(files.read(run.path("result.json")))
    shown = json.dumps({key: each for key, each in result.items() if isinstance(each, int | dict)})
    return [cpu, *(size / (1 << 20) for size in sizes)], shown


def _manifest(folder: Path) -> Path:
    return folder / BUCKET / "all" / "2026-01-02T01-00Z" / "manifest.json"


def _cpu() -> float:
    """Return the seconds of CPU of this process and all of Spark's, also of those that ended."""
    me = psutil.Process()
    sparks = [each for each in me.children() if "SparkSubmit" in " ".join(each.cmdline())]
    below = [each for spark in sparks for each in (spark, *spark.children(recursive=True))]
    return sum(me.cpu_times()[:2]) + sum(sum(each.cpu_times()[:4]) for each in below)


def _read_mirror(manifest: Path, spark: SparkSession, *_: object) -> DataFrame:
    """Return the rows of a mirror that agrees with a report, through Python as all mirrors' are."""
    listed = inventory.read(spark, BUCKET, manifest.as_uri()).objects
    keys = listed.where("is_latest and not is_delete_marker").select("key").distinct()
    at, unknown = sql.lit("2026-01-01T00:00:00.000Z"), (sql.lit(""), sql.lit(-1), sql.lit(None))
    rows = keys.select("key", sql.lit("0" * 32), at, *unknown).rdd.map(tuple)
    return spark.createDataFrame(rows, mirror.ROWS, verifySchema=False)


def _pretend_scans(spark: SparkSession, state: str) -> None:
    """Write the state after a thousand newer scans, each of a prefix."""
    limits = dict.fromkeys(KINDS, 0)
    seen = [Coverage(f"tenant-{nth}/", 1 << 42, True, limits) for nth in range(1_000)]  # noqa: FBT003
    store, before = StateStore(state), Generation("")
    new = store.write(before.alert_states(spark), datetime.now(UTC))
    store.commit(replace(new, coverage=tuple(seen)), etag=before.etag)


if __name__ == "__main__":
    main()
