"""The cold start of each function, compared with an empty one: until it polls for an invocation.

It prints medians: milliseconds by the clock and of CPU, which a busy machine changes little; what
both are over the empty function; and the memory that it then has.

Each start is one of AWS's runtime interface client in an empty environment that has boto3, as
Lambda has it, and the function's own bundle and layers with their bytecode, on Lambda's Python. The
functions take turns, for two minutes. Run after `make setup`: `python -m benchmarks.coldstart`.
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bucketcast import targets
from tests.awslambda.bundled import folders
from tests.awslambda.function import Function, variables_of, version

ROUNDS = 15
EMPTY = "import boto3\nboto3.client('sqs')\ndef handler(event, context): return {}\n"
START = "functions.startup.handler"


class _Start(NamedTuple):
    """Milliseconds by the clock and of CPU, and megabytes."""

    wall: float
    cpu: float
    memory: float


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        _measure(Path(folder))


def _measure(folder: Path) -> None:
    (folder / "empty.py").write_text(EMPTY, encoding="utf-8")
    shared = ["core", "shared"]
    starts = {
        "empty handler + boto3": ("empty.handler", "", [str(folder)]),
        "ingest": (START, "", folders(version(), "ingest", shared)),
    }
    for kind in targets.kinds():
        path = folders(version(), "dispatch", [*shared, f"client-{kind}"])
        starts[f"dispatch {kind}"] = (START, kind, path)
    starting: dict[str, list[_Start]] = {name: [] for name in starts}
    for _ in range(ROUNDS):
        for name, (handler, kind, path) in starts.items():
            variables = variables_of(name.partition(" ")[0], kind)
            begun = time.perf_counter()
            with Function(folder, handler, variables, path) as function:
                wall = time.perf_counter() - begun
                starting[name].append(_Start(wall * 1e3, function.cpu * 1e3, function.memory))
    medians = {
        name: _Start(*map(statistics.median, zip(*each, strict=True)))
        for name, each in starting.items()
    }
    empty = medians["empty handler + boto3"]
    print(f"Python {version()}")
    print(f"{'function':<24} {'start ms':>8} {'over':>6} {'CPU ms':>8} {'over':>6} {'MB':>6}")
    for name, median in medians.items():
        print(
            f"{name:<24} {median.wall:>8.0f} {median.wall - empty.wall:>+6.0f}"
            f" {median.cpu:>8.0f} {median.cpu - empty.cpu:>+6.0f} {median.memory:>6.0f}"
        )


if __name__ == "__main__":
    main()
