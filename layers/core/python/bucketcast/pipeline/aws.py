"""Runs of the pipeline's jobs: started on Glue or locally, with their progress and results.

A run writes `progress.json` and `result.json` into its folder, `runs/<job>/<id>` of the pipeline's
bucket, wherever it runs; the id of a scan begins with the scanned bucket. If
`BUCKETCAST_SPARK_SUBMIT` is set, as in the local AWS's environment, it names the command that runs
a Glue job on this machine.
"""

import json
import os
import secrets
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from bucketcast.aws.clients import Aws
from bucketcast.deployment import Deployed, DeployedPipeline
from bucketcast.errors import BucketcastError
from bucketcast.settings import pipeline as jobs

OPTIONS: Final = "options.json"
"""What a run of `backfill` was started with, for one that resumes it."""
SPARK_SUBMIT: Final = "BUCKETCAST_SPARK_SUBMIT"
_RUNNING_STATES: Final = frozenset({"STARTING", "RUNNING", "STOPPING", "WAITING"})
_TAIL_LINES: Final = 15
_AT_ONCE: Final = 16
_NOT_FOUND: Final = frozenset({"404", "NoSuchBucket", "NoSuchKey"})


class GlueRun:
    """A run on Glue; `link` is the URL of its console page."""

    def __init__(self, job: str, arguments: Mapping[str, str], aws: Aws) -> None:
        self._aws = aws
        self._job = job
        # Glue heeds the job's own setting only where the run has the same.
        run = aws.glue.start_job_run(JobName=job, JobRunQueuingEnabled=True, Arguments=arguments)
        self._id = run["JobRunId"]
        region = aws.glue.meta.region_name
        console = f"https://{region}.console.aws.amazon.com/gluestudio/home?region={region}"
        self.link = f"{console}#/job/{job}/run/{self._id} (logs: /aws-glue/jobs/output, error)"

    def poll(self) -> str | None:
        """Return its error, "" if it succeeded; None while it runs.

        Raises:
            BotoCoreError, ClientError: AWS cannot be reached.
        """
        run = self._aws.glue.get_job_run(JobName=self._job, RunId=self._id)["JobRun"]
        state = run["JobRunState"]
        if state in _RUNNING_STATES:
            return None
        return "" if state == "SUCCEEDED" else f"{state}: {run.get('ErrorMessage', '')}"

    def remove_log(self) -> None:
        """Do nothing: Glue keeps its logs."""


class LocalRun:
    """A run on this machine, by the command that the local AWS's environment names.

    `link` is the path of its log.
    """

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
            raise BucketcastError(
                f"{SPARK_SUBMIT} is '{command}': {error}; `make up` sets it"
            ) from None

    def poll(self) -> str | None:
        """Return its error, "" if it succeeded; None while it runs."""
        code = self._process.poll()
        if not code:
            return None if code is None else ""
        tail = Path(self.link).read_text(errors="replace").splitlines()[-_TAIL_LINES:]
        return "\n".join([f"it ended with {code}; the end of its log:", *tail])

    def remove_log(self) -> None:
        """Remove the log of a run that succeeded; then `link` is empty."""
        Path(self.link).unlink(missing_ok=True)
        self.link = ""


StartedRun = GlueRun | LocalRun


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

    def require_bucket(self, bucket: str) -> None:
        """Check that the bucket exists; the job itself finds out if it may be read.

        Raises:
            BucketcastError: it does not exist.
        """
        s3 = self._aws.s3
        try:
            s3.head_bucket(Bucket=bucket)
        except s3.exceptions.ClientError as error:
            if error.response["Error"]["Code"] in _NOT_FOUND:
                raise BucketcastError(f"there is no bucket {bucket}") from None

    def configured_scan(self, bucket: str) -> Mapping[str, str]:
        """Return the options of a bucket's configured scan, none if there is none."""
        return self._pipeline.scans.get(bucket, {})

    def folder(self, job: str, run: str) -> str:
        return f"s3://{self._pipeline.bucket}/runs/{job}/{run}"

    def read_options(self, job: str, run: str) -> dict[str, str]:
        """Return the options that a run was started with.

        Raises:
            BucketcastError: there is no such run, or lifecycle has removed it.
        """
        options = self.read(job, run, OPTIONS)
        if options is None:
            raise BucketcastError(
                f"there is no run {run} of {job}: existing runs are in {self.folder(job, '')}, for "
                "30 days"
            )
        return options

    def start(self, job: str, run: str, values: Mapping[str, str], *, detached: bool) -> StartedRun:
        """Start a job for the run with this id; `detached` outlives this process.

        Raises:
            BotoCoreError, ClientError: Glue refused.
        """
        arguments = jobs.arguments({**values, "run": self.folder(job, run)})
        name = self._pipeline.jobs[job]
        if command := os.environ.get(SPARK_SUBMIT):
            return LocalRun(command, name, arguments, detached=detached)
        return GlueRun(name, arguments, self._aws)

    def reset(self, job: str, run: str) -> None:
        """Remove the progress and result of an earlier attempt."""
        for name in ("progress.json", "result.json"):
            self._aws.s3.delete_object(**self._location(job, run, name))

    def read(self, job: str, run: str, name: str) -> dict[str, Any] | None:
        """Return a document in a run's folder; None before it is written."""
        s3 = self._aws.s3
        try:
            response = s3.get_object(**self._location(job, run, name))
            return dict(json.loads(response["Body"].read()))
        except s3.exceptions.ClientError as error:
            if error.response["Error"]["Code"] in _NOT_FOUND:
                return None
            raise

    def scans(self, bucket: str) -> list[dict[str, Any]]:
        """Return the results of a bucket's scans that succeeded, each with its run, in no order."""
        pages = self._aws.s3.get_paginator("list_objects_v2")
        folder = f"runs/scan/{bucket}/"
        found = pages.paginate(Bucket=self._pipeline.bucket, Prefix=folder, Delimiter="/")
        runs = [
            entry["Prefix"].removeprefix("runs/scan/").rstrip("/")
            for page in found
            for entry in page.get("CommonPrefixes", ())
        ]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            results = pool.map(lambda run: self.read("scan", run, "result.json"), runs)
            return [
                {"run": run, **result}
                for run, result in zip(runs, results, strict=True)
                if result and result.pop("status") == "success"
            ]

    def write(self, job: str, run: str, name: str, document: Mapping[str, Any]) -> None:
        """Write a document into a run's folder."""
        content = json.dumps(document).encode()
        self._aws.s3.put_object(**self._location(job, run, name), Body=content)

    def upload(self, job: str, run: str, name: str, path: Path) -> str:
        """Upload a file into a run's folder; return its URL."""
        with path.open("rb") as file:
            self._aws.s3.put_object(**self._location(job, run, name), Body=file)
        return f"{self.folder(job, run)}/{name}"

    def _location(self, job: str, run: str, name: str) -> Any:
        return {"Bucket": self._pipeline.bucket, "Key": f"runs/{job}/{run}/{name}"}


def new_id() -> str:
    """Return a new run's id: its time in UTC, and a random part."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(2)}"
