"""One function in an environment of its own: nothing of the tests' is there, as in Lambda."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from queue import Empty
from types import TracebackType
from typing import Any, Self

from bucketcast.settings.environment import DeployedTargets, ObjectFacts
from tests.awslambda.api import RuntimeApi

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".local" / "lambda-venv" / "bin" / "python"
BUILDER = ROOT / ".venv" / "bin" / "python"
SECONDS = 300.0
"""For what takes about one; a machine may be busy."""
UNREACHABLE = "http://127.0.0.1:9"
AWS = {
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ENDPOINT_URL": UNREACHABLE,
    "AWS_MAX_ATTEMPTS": "1",
}


@cache
def version() -> str:
    """Return the Python that functions run on here: `3.13`."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    return subprocess.run(
        [PYTHON, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@cache
def bundled(function: str, *layers: str) -> list[str]:
    """Return `tests.awslambda.bundled.folders` where a client alone may be installed."""
    command = ["-m", "tests.awslambda.bundled", version(), function, *layers]
    done = subprocess.run(
        [BUILDER, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr[-2_000:]
    return list(json.loads(done.stdout))


def variables_of(function: str, kind: str) -> dict[str, str]:
    """Return the variables that a function of queues needs to start, for a target of this kind."""
    queue = f"{UNREACHABLE}/000000000000/Bucketcast-"
    return {
        "BUCKETCAST_HANDLER": f"functions.{function}.handler",
        "BUCKETCAST_STATE_TABLE": "state",
        "BUCKETCAST_TARGET_QUEUES": f"{queue}*",
        "BUCKETCAST_INGRESS_DEAD_QUEUE_URL": f"{queue}ingress-dead",
        "BUCKETCAST_OBJECT_FACTS": ObjectFacts().to_text(),
        "BUCKETCAST_TARGETS": DeployedTargets.of(()).to_text(),
        "BUCKETCAST_KIND": kind,
        "BUCKETCAST_ID": "_",
        "BUCKETCAST_SETTINGS": "{}",
        "BUCKETCAST_QUEUE_URL": f"{queue}{kind}-_",
        "BUCKETCAST_DEAD_QUEUE_URL": f"{queue}{kind}-_-dead",
        "POWERTOOLS_SERVICE_NAME": function,
    }


class Function:
    """A context in which a function is started, answers, and stands still between two calls."""

    def __init__(
        self, folder: Path, handler: str, variables: Mapping[str, str], path: Sequence[str]
    ) -> None:
        self._handler = handler
        self._path = path
        self._api = RuntimeApi(handler, SECONDS)
        self._log = folder / "function.log"
        self._variables = variables
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        environment = {
            **AWS,
            "AWS_LAMBDA_RUNTIME_API": self._api.address,
            "LAMBDA_TASK_ROOT": self._path[0],
            # Lambda's own order: the function's folder first, then the layers.
            "PYTHONPATH": os.pathsep.join(self._path),
            "PATH": "/usr/bin:/bin",
            # Lambda's file system is read-only; here, what is written would be deployed.
            "PYTHONDONTWRITEBYTECODE": "1",
            "TZ": ":UTC",
            **self._variables,
        }
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [PYTHON, "-m", "awslambdaric", self._handler],
                cwd=self._path[0],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait_until_ready()
        self._signal(signal.SIGSTOP)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process:
            self._process.kill()
            self._process.wait()
        self._api.close()

    def __call__(self, event: Any) -> Any:
        """Return what the function answers to an event."""
        self._signal(signal.SIGCONT)
        self._api.give(event)
        answer = self._wait(self._api.answers)
        assert not answer.failed, f"{answer.document}\n{self.log}"
        self._wait_until_ready()
        self._signal(signal.SIGSTOP)
        return answer.document

    @property
    def log(self) -> str:
        """Return what it wrote so far."""
        return self._log.read_text("utf-8", errors="replace")[-5_000:]

    @property
    def peak(self) -> float:
        """Return the most memory that it has had, in MB."""
        return self._megabytes("VmHWM")

    @property
    def memory(self) -> float:
        """Return the memory that it has now, in MB."""
        return self._megabytes("VmRSS")

    @property
    def cpu(self) -> float:
        """Return the seconds that its threads have computed."""
        assert self._process
        threads = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        return sum(int(each.read_text().split()[0]) for each in threads) / 1e9

    def _megabytes(self, field: str) -> float:
        assert self._process
        status = Path(f"/proc/{self._process.pid}/status").read_text("utf-8")
        found = re.search(rf"{field}:\s+(\d+) kB", status)
        assert found
        return int(found[1]) / 1_024

    def _wait_until_ready(self) -> None:
        self._wait(self._api.ready)

    def _wait(self, queue: Any) -> Any:
        try:
            found = queue.get(timeout=SECONDS)
        except Empty:
            raise AssertionError(f"the function does nothing\n{self.log}") from None
        return found

    def _signal(self, number: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(number)
