"""The cold start of each function, compared with an empty one: until it polls for an invocation.

Each start is one of AWS's runtime interface client in an empty environment that has boto3, as
Lambda has it, and the function's own bundle and layers with their bytecode, on Lambda's Python. The
functions take turns, for two minutes. Run after `make setup`: `python -m benchmarks.coldstart`.
"""

import json
import statistics
import tempfile
import time
from pathlib import Path

from bucketcast import targets
from bucketcast.settings.environment import DeployedTargets, ObjectFacts
from tests.awslambda.bundled import folders
from tests.awslambda.function import Function, version

ROUNDS = 15
EMPTY = "import boto3\nboto3.client('sqs')\ndef handler(event, context): return {}\n"
START = "functions.startup.handler"
URL = "http://127.0.0.1:4566/000000000000/Bucketcast-"


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
    durations: dict[str, list[float]] = {name: [] for name in starts}
    for _ in range(ROUNDS):
        for name, (handler, kind, path) in starts.items():
            variables = _variables(name.partition(" ")[0], kind)
            begun = time.perf_counter()
            with Function(folder, handler, variables, path):
                durations[name].append(time.perf_counter() - begun)
    medians = {name: statistics.median(times) * 1e3 for name, times in durations.items()}
    empty = medians["empty handler + boto3"]
    print(f"Python {version()}")
    print(f"{'function':<24} {'start ms':>8} {'over empty':>11}")
    for name, median in medians.items():
        print(f"{name:<24} {median:>8.0f} {median - empty:>+11.0f}")


def _variables(function: str, kind: str) -> dict[str, str]:
    return {
        "BUCKETCAST_HANDLER": f"functions.{function}.handler",
        "BUCKETCAST_STATE_TABLE": "state",
        "BUCKETCAST_TARGET_QUEUES": f"{URL}*",
        "BUCKETCAST_INGRESS_DEAD_QUEUE_URL": f"{URL}ingress-dead",
        "BUCKETCAST_KIND": kind,
        "BUCKETCAST_ID": "_",
        "BUCKETCAST_SETTINGS": json.dumps({}),
        "BUCKETCAST_QUEUE_URL": f"{URL}{kind}-_",
        "BUCKETCAST_DEAD_QUEUE_URL": f"{URL}{kind}-_-dead",
        "BUCKETCAST_OBJECT_FACTS": ObjectFacts().to_text(),
        "BUCKETCAST_TARGETS": DeployedTargets.of(()).to_text(),
        "POWERTOOLS_SERVICE_NAME": "bucketcast",
    }


if __name__ == "__main__":
    main()
