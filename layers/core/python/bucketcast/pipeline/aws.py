"""Runs of the pipeline's jobs: started on Glue or locally, with their progress and results.

A run writes `progress.json` and `result.json` into its folder, `runs/<job>/<id>` of the pipeline's
bucket, wherever it runs. If `BUCKETCAST_SPARK_SUBMIT` is set, as in the local AWS's environment, it
names the command that runs a Glue job on this machine.
"""

import json
import os
import secrets
import shlex
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from bucketcast.aws.clients import Aws, aws_errors
from bucketcast.deployment import Deployed, DeployedPipeline
from bucketcast.errors import BucketcastError
from bucketcast.settings import pipeline as jobs

HERE: Final = "BUCKETCAST_SPARK_SUBMIT"
_GOING: Final = frozenset({"STARTING", "RUNNING", "STOPPING", "WAITING"})
_TAIL_LINES: Final = 15
_SIGNALLED: Final = 128
_ABSENT: Final = frozenset({"404", "NoSuchBucket", "NoSuchKey"})


class RunResult(NamedTuple):
    """How a run ended; `why` is empty if it succeeded."""

    why: str


class StartedRun(ABC):
    """A started run; `link` is the URL of its console page or log."""

    link: str

    @abstractmethod
    def ended(self) -> RunResult | None:
        """Return how it ended; None while it runs.

        Raises:
            AwsError: AWS cannot be reached.
        """

    @abstractmethod
    def ended_well(self) -> None:
        """Remove what was kept for a failure; then `link` is empty."""


class GlueRun(StartedRun):
    """A run on Glue."""

    def __init__(self, job: str, arguments: Mapping[str, str], aws: Aws) -> None:
        self._aws = aws
        self._job = job
        with aws_errors():
            run = aws.glue.start_job_run(JobName=job, Arguments=arguments)
        self._id = run["JobRunId"]
        region = aws.glue.meta.region_name
        console = f"https://{region}.console.aws.amazon.com/gluestudio/home?region={region}"
        self.link = f"{console}#/job/{job}/run/{self._id} (logs: /aws-glue/jobs/output, error)"

    def ended(self) -> RunResult | None:
        with aws_errors():
            run = self._aws.glue.get_job_run(JobName=self._job, RunId=self._id)["JobRun"]
        state = run["JobRunState"]
        if state in _GOING:
            return None
        return RunResult("" if state == "SUCCEEDED" else f"{state}: {run.get('ErrorMessage', '')}")

    def ended_well(self) -> None:
        """Do nothing: Glue keeps its logs itself."""


class LocalRun(StartedRun):
    """A run on this machine, by the command that the local AWS's environment names."""

    def __init__(
        self, command: str, job: str, arguments: Mapping[str, str], *, detached: bool
    ) -> None:
        words = [word for pair in arguments.items() for word in pair]
        descriptor, self.link = tempfile.mkstemp(prefix=f"{job}-", suffix=".log")
        try:
            with os.fdopen(descriptor, "wb") as output:
                self._process = subprocess.Popen(  # noqa: S603 - the environment's own command
                    [*shlex.split(command), job, *words],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=detached,
                )
        except OSError as error:
            raise BucketcastError(f"{HERE} is '{command}': {error}; `make up` sets it") from None

    def ended(self) -> RunResult | None:
        code = self._process.poll()
        if code is None:
            return None
        if not code:
            return RunResult("")
        tail = Path(self.link).read_text(errors="replace").splitlines()[-_TAIL_LINES:]
        return RunResult("\n".join([f"{_ended_with(code)}:", *tail]))

    def ended_well(self) -> None:
        Path(self.link).unlink(missing_ok=True)
        self.link = ""


def _ended_with(code: int) -> str:
    """Describe an exit code; a shell adds 128 to the number of a signal."""
    number = -code if code < 0 else code - _SIGNALLED
    if number not in signal.valid_signals():
        return f"it ended with {code}"
    name = signal.Signals(number).name
    why = ", as the system does when memory runs out" if name == "SIGKILL" else ""
    return f"it was ended by {name}{why}; the end of its log"


class Runs:
    """The runs of a deployment.

    Raises:
        BucketcastError: it has no jobs.
    """

    def __init__(self, deployment: Deployed, aws: Aws) -> None:
        if deployment.pipeline is None:
            raise BucketcastError(
                f"the stack {deployment.stack} has no jobs: add a table [pipeline] to "
                "bucketcast.toml, then deploy"
            )
        self._pipeline: DeployedPipeline = deployment.pipeline
        self._aws = aws

    def require(self, bucket: str) -> None:
        """Check that the bucket exists; the job itself finds out whether it may read it.

        Raises:
            BucketcastError: it does not exist.
        """
        s3 = self._aws.s3
        try:
            s3.head_bucket(Bucket=bucket)
        except s3.exceptions.ClientError as error:
            if error.response["Error"]["Code"] in _ABSENT:
                raise BucketcastError(f"there is no bucket {bucket}") from None

    def folder(self, job: str, run: str) -> str:
        return f"s3://{self._pipeline.bucket}/runs/{job}/{run}"

    def require_run(self, job: str, run: str) -> None:
        """Check that an earlier run left files, so that it can be resumed.

        Raises:
            BucketcastError: it left nothing, or lifecycle has removed it.
        """
        with aws_errors():
            found = self._aws.s3.list_objects_v2(
                Bucket=self._pipeline.bucket, Prefix=f"runs/{job}/{run}/", MaxKeys=1
            )
        if not found["KeyCount"]:
            folder = self.folder(job, "")
            raise BucketcastError(
                f"there is no run {run} of {job}: those there are lie in {folder}, for 30 days; "
                "without --resume a new one begins"
            )

    def start(self, job: str, run: str, values: Mapping[str, str], *, detached: bool) -> StartedRun:
        """Start a job for the run with this id; `detached` outlives this process.

        Raises:
            AwsError: Glue refused.
        """
        arguments = jobs.arguments({**values, "run": self.folder(job, run)})
        name = self._pipeline.jobs[job]
        if command := os.environ.get(HERE):
            return LocalRun(command, name, arguments, detached=detached)
        return GlueRun(name, arguments, self._aws)

    def forget(self, job: str, run: str) -> None:
        """Remove the progress and result of an earlier attempt."""
        for name in ("progress.json", "result.json"):
            with aws_errors():
                self._aws.s3.delete_object(
                    Bucket=self._pipeline.bucket, Key=f"runs/{job}/{run}/{name}"
                )

    def says(self, job: str, run: str, name: str) -> dict[str, Any] | None:
        """Return a run's `progress.json` or `result.json`; None before it is written."""
        s3 = self._aws.s3
        with aws_errors():
            try:
                found = s3.get_object(Bucket=self._pipeline.bucket, Key=f"runs/{job}/{run}/{name}")[
                    "Body"
                ].read()
            except s3.exceptions.ClientError as error:
                if error.response["Error"]["Code"] in _ABSENT:
                    return None
                raise
        said: dict[str, Any] = json.loads(found)
        return said


def new_id() -> str:
    """Return a new run's id: its time in UTC, and a random part."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(2)}"
