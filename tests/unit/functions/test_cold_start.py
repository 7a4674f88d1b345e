"""What the functions of queues import while they start: counted, since time depends on the machine.

`benchmarks/coldstart.py` measures it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bucketcast import targets
from bucketcast.settings.environment import DeployedTargets, ObjectFacts

ROOT = Path(__file__).parents[3]
START = """
import gc, sys
import functions.startup
print(functions.startup.handler.__module__, gc.isenabled(), gc.get_freeze_count() > 0)
print(*sys.modules)
"""
URL = "http://127.0.0.1:9/000000000000/Bucketcast-"
NOT_NEEDED = {
    "asyncio",
    "aws_lambda_powertools.utilities.parameters",
    "click",
    "difflib",
    "email.mime",
    "re2",
    "rich",
    "starlette",
    "tomllib",
    "unittest",
}
"""What takes a while to import, and the first event can do without."""
BY_ITS_CLIENT = {kind: {"asyncio"} for kind in ("amqp", "kafka", "nats", "redis")}
"""What the library of a kind imports, whether it is used or not."""


@pytest.mark.parametrize("kind", ["", *targets.kinds()])
def test_a_start_imports_what_the_function_needs(kind: str) -> None:
    function = "dispatch" if kind else "ingest"
    handler, loaded = _start(function, kind)
    assert handler == f"functions.{function}.handler True True"
    assert loaded & NOT_NEEDED == BY_ITS_CLIENT.get(kind, set())
    assert {name.split(".")[2] for name in loaded if name.startswith("bucketcast.targets.")} == (
        {"base", kind} if kind else {"base"}
    )


def _start(function: str, kind: str) -> tuple[str, set[str]]:
    """Return the handler's module and the state of the garbage collector, and all modules."""
    variables = {
        "BUCKETCAST_HANDLER": f"functions.{function}.handler",
        "BUCKETCAST_STATE_TABLE": "state",
        "BUCKETCAST_TARGET_QUEUES": f"{URL}*",
        "BUCKETCAST_INGRESS_DEAD_QUEUE_URL": f"{URL}ingress-dead",
        "BUCKETCAST_OBJECT_FACTS": ObjectFacts().to_text(),
        "BUCKETCAST_TARGETS": DeployedTargets.of(()).to_text(),
        "BUCKETCAST_KIND": kind,
        "BUCKETCAST_ID": "_",
        "BUCKETCAST_SETTINGS": json.dumps({}),
        "BUCKETCAST_QUEUE_URL": f"{URL}{kind}-_",
        "BUCKETCAST_DEAD_QUEUE_URL": f"{URL}{kind}-_-dead",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    started = subprocess.run(
        [sys.executable, "-c", START],
        env={**os.environ, **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    handler, modules = started.stdout.splitlines()[-2:]
    return handler, {*modules.split()}
