"""What the functions of queues import while they start: counted, since time depends on the machine.

`benchmarks/coldstart.py` measures it.
"""

import os
import subprocess
import sys

import pytest

from bucketcast import targets
from tests.awslambda.function import AWS, ROOT, variables_of

START = """
import gc, sys
import functions.startup
print(functions.startup.handler.__module__, gc.isenabled(), gc.get_freeze_count() > 0)
print(*sys.modules)
"""
NOT_NEEDED = {
    "asyncio",
    "aws_lambda_powertools.utilities.parameters",
    "boto3",
    "click",
    "difflib",
    "email.mime",
    "multiprocessing",
    "re2",
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
    started = subprocess.run(
        [sys.executable, "-c", START],
        env={**os.environ, **AWS, **variables_of(function, kind)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    handler, modules = started.stdout.splitlines()[-2:]
    return handler, {*modules.split()}
