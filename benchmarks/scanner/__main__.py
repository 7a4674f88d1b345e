"""Whole scans of a generated Inventory report in Parquet, beside DuckDB, in turns.

Each is a process of its own, from its start to its end: Spark with all that a scan does (lease,
counting, usage, report, state), DuckDB with the same findings and usage written to Parquet. `cpu`
and `peak` are of the process and its children, the JVM among them.

Run: `python -m benchmarks.scanner [--millions 1 10 50] [--rounds 1]`; 50 million rows need 6 GB of
disk. DuckDB is installed by uv when it is first needed.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from benchmarks.scanner.aws import local_aws
from benchmarks.scanner.model import fit
from benchmarks.scanner.spark import BUCKET

_SCRATCH: Final = Path(".local/benchmark-scanner").absolute()
_HEADINGS: Final = ("rows", "by", "wall s", "cpu s", "peak MB", "times DuckDB")


class Figures(NamedTuple):
    """One scan: seconds, seconds of CPU, peak memory in MB."""

    wall: float
    cpu: float
    peak: int


def main() -> None:
    """Print the figures of reports of several sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, nargs="+", default=[1, 10, 50], help="rows")
    parser.add_argument("--rounds", type=int, default=1, help="turns; medians are printed")
    arguments = parser.parse_args()
    os.environ["SPARK_LOCAL_DIRS"] = str(_SCRATCH / "spark")
    print(" | ".join(_HEADINGS))
    measured: dict[float, float] = {}
    for millions in arguments.millions:
        with _report(millions * 1_000_000) as manifest, local_aws(_SCRATCH / "aws") as aws:
            aws.client("s3").create_bucket(Bucket=BUCKET)
            measured[millions] = _compare(manifest, millions, arguments.rounds)
    if len(measured) > 2:
        fit(measured)


@contextmanager
def _report(rows: int) -> Iterator[Path]:
    shutil.rmtree(_SCRATCH, ignore_errors=True)
    manifest = _SCRATCH / BUCKET / "all" / "2026-01-02T01-00Z" / "manifest.json"
    try:
        words = [sys.executable, "-m", "benchmarks.scanner.report", str(manifest), str(rows)]
        subprocess.run(words, check=True, capture_output=True)
        yield manifest
    finally:
        shutil.rmtree(_SCRATCH, ignore_errors=True)


def _compare(manifest: Path, millions: int, rounds: int) -> float:
    """Print the figures of one report; return the CPU seconds of our scan."""
    uv = [sys.executable, "-m", "uv", "run", "--quiet", "--script"]
    scans: dict[str, Sequence[str]] = {
        "Bucketcast": [sys.executable, "-m", "benchmarks.scanner.spark", str(manifest)],
        "DuckDB": [*uv, "benchmarks/scanner/duckdb_scan.py", str(manifest.parents[1] / "data")],
    }
    figures: dict[str, list[Figures]] = {name: [] for name in scans}
    for _ in range(rounds):
        for name, words in scans.items():
            figures[name].append(_measure(words))
    medians = {name: _median(of) for name, of in figures.items()}
    for name, (wall, cpu, peak) in medians.items():
        cells = (f"{millions} M", name, f"{wall:.1f}", f"{cpu:.1f}", f"{peak:,}")
        print(" | ".join((*cells, f"{wall / medians['DuckDB'].wall:.2f}")), flush=True)
    return medians["Bucketcast"].cpu


def _measure(words: Sequence[str]) -> Figures:
    """Run a scan with a folder of its own."""
    folder = _SCRATCH / "scan"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    begun = time.perf_counter()
    log = folder.with_name("log")
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen([*words, str(folder)], stdout=output, stderr=output)
    cpu: dict[int, float] = {}
    peak = 0
    while process.poll() is None:
        resident = 0
        for member in _family(process.pid):
            try:
                cpu[member.pid] = sum(member.cpu_times()[:2])
                resident += member.memory_info().rss
            except psutil.NoSuchProcess:
                continue
        peak = max(peak, resident)
        time.sleep(0.05)
    if process.returncode:
        raise SystemExit(f"{log.read_text('utf-8')}\n{' '.join(words)}: {process.returncode}")
    return Figures(time.perf_counter() - begun, sum(cpu.values()), peak >> 20)


def _family(parent: int) -> Sequence[psutil.Process]:
    try:
        process = psutil.Process(parent)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _median(figures: Sequence[Figures]) -> Figures:
    wall, cpu, peak = zip(*figures, strict=True)
    return Figures(statistics.median(wall), statistics.median(cpu), int(statistics.median(peak)))


if __name__ == "__main__":
    main()
