"""What each function adds to a cold start: import and init, over an empty handler with boto3.

Each start is a fresh interpreter that sees what the deployed function sees: boto3, as Lambda has
it, and the function's own bundle and layers. The functions take turns. The interpreter's own start
is not counted, as Lambda has done that before it times the init. Run after `make setup`:
`python -m benchmarks.coldstart`.
"""

import json
import os
import statistics
import subprocess
from pathlib import Path

from bucketcast import targets
from bucketcast.settings import DeployedTargets, ObjectFacts
from stacks.bundling import Bundles
from stacks.platform import local_platform

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".local" / "ministack-venv" / "bin" / "python"
"""The environment that the local AWS runs functions in: boto3 and none of ours."""
ROUNDS = 15
AWS = {
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
}
EMPTY = "import boto3\nboto3.client('sqs')\ndef handler(event, context): return {}"
TIMED = "import time\nstart = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"


def main() -> None:
    starts: dict[str, tuple[str, dict[str, str]]] = {"empty handler + boto3": (EMPTY, {})}
    starts["ingest"] = ("import functions.ingest.handler", _environ("ingest"))
    for kind in targets.kinds():
        code = "import functions.dispatch.handler"
        starts[f"dispatch {kind}"] = (code, _environ("dispatch", kind))
    spent: dict[str, list[float]] = {name: [] for name in starts}
    for _ in range(ROUNDS):
        for name, (code, environ) in starts.items():
            spent[name].append(_start(code, environ))
    medians = {name: statistics.median(times) * 1e3 for name, times in spent.items()}
    empty = medians["empty handler + boto3"]
    print(f"{'function':<24} {'init ms':>8} {'over empty':>11}")
    for name, median in medians.items():
        print(f"{name:<24} {median:>8.0f} {median - empty:>+11.0f}")


def _start(code: str, environ: dict[str, str]) -> float:
    run = subprocess.run(
        [PYTHON, "-c", TIMED.format(code=code)],
        env={"PATH": os.environ["PATH"], **AWS, **environ},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout.splitlines()[-1])


def _environ(function: str, kind: str = "") -> dict[str, str]:
    bundles = Bundles(ROOT, local_platform())
    layers = [bundles.core(), bundles.packages("runtime", ROOT / "layers/runtime/requirements.txt")]
    if kind:
        pinned = ROOT / "layers" / "clients" / kind / "requirements.txt"
        layers.append(bundles.packages(f"client-{kind}", pinned))
    paths = [bundles.function(function), *(layer / "python" for layer in layers if layer)]
    url = "http://127.0.0.1:4566/000000000000/Bucketcast-"
    return {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "BUCKETCAST_RULES_TABLE": "rules",
        "BUCKETCAST_QUEUE_PREFIX": url,
        "BUCKETCAST_INGRESS_DEAD_QUEUE_URL": f"{url}ingress-dead",
        "BUCKETCAST_KIND": kind,
        "BUCKETCAST_ID": "_",
        "BUCKETCAST_SETTINGS": json.dumps({}),
        "BUCKETCAST_QUEUE_URL": f"{url}{kind}-_",
        "BUCKETCAST_DEAD_QUEUE_URL": f"{url}{kind}-_-dead",
        "BUCKETCAST_SYNC_EVENTS": "off",
        "BUCKETCAST_OBJECT_FACTS": ObjectFacts().to_text(),
        "BUCKETCAST_TARGETS": DeployedTargets.of(()).to_text(),
        "POWERTOOLS_SERVICE_NAME": "bucketcast",
    }


if __name__ == "__main__":
    main()
