"""What each function adds to a cold start: import and init, over an empty handler with boto3.

Each start is a fresh interpreter; the functions take turns. The interpreter's own start is not
counted, as Lambda has done that before it times the init. Run: `python -m benchmarks.coldstart`.
"""

import json
import os
import statistics
import subprocess
import sys

from bucketcast import targets

ROUNDS = 15
EMPTY = "import boto3\nboto3.client('sqs')\ndef handler(event, context): return {}"
TIMED = "import time\nstart = time.perf_counter()\n{code}\nprint(time.perf_counter() - start)"


def main() -> None:
    starts: dict[str, tuple[str, dict[str, str]]] = {"empty handler + boto3": (EMPTY, {})}
    starts["ingest"] = ("import functions.ingest.handler", _environ())
    for kind in targets.kinds():
        starts[f"dispatch {kind}"] = ("import functions.dispatch.handler", _environ(kind))
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
        [sys.executable, "-c", TIMED.format(code=code)],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(run.stdout.splitlines()[-1])


def _environ(kind: str = "") -> dict[str, str]:
    url = "http://127.0.0.1:4566/000000000000/Bucketcast-"
    return {
        "AWS_DEFAULT_REGION": "us-east-1",
        "BUCKETCAST_RULES_TABLE": "rules",
        "BUCKETCAST_QUEUE_PREFIX": url,
        "BUCKETCAST_INGRESS_DEAD_QUEUE_URL": f"{url}ingress-dead",
        "BUCKETCAST_KIND": kind,
        "BUCKETCAST_ID": "_",
        "BUCKETCAST_SETTINGS": json.dumps({}),
        "BUCKETCAST_QUEUE_URL": f"{url}{kind}-_",
        "BUCKETCAST_DEAD_QUEUE_URL": f"{url}{kind}-_-dead",
        "BUCKETCAST_SYNC_EVENTS": "off",
        "POWERTOOLS_SERVICE_NAME": "bucketcast",
        "POWERTOOLS_METRICS_NAMESPACE": "Bucketcast",
    }


if __name__ == "__main__":
    main()
