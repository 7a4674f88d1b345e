"""A Glue whose runs end as a test wants, and the S3 that they write to."""

import io
import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import IO, Any

from botocore.exceptions import ClientError

from tests.unit.moto_aws import REGION, MotoAws, refusal

POSTGRES = "arn:minio:sqs::main:postgresql"
WEBHOOK = "arn:minio:sqs::primary:webhook"
TO_WEBHOOK = ("backfill", "uploads", "--target", WEBHOOK)


def row(dimension: str, name: str, *numbers: int | None) -> Mapping[str, Any]:
    """Return a row of a scan's usage, with its first four numbers."""
    names = ("objects", "noncurrent", "delete_markers", "bytes")
    return {"dimension": dimension, "name": name, **dict(zip(names, numbers, strict=True))}


SCANNED: Mapping[str, Any] = {
    "bucket": "uploads",
    "findings": [
        {
            "kind": "ManyVersions",
            "key": "a.csv",
            "state": "new",
            "since": "2026-03-01T12:00:00+00:00",
            "count": 1001,
            "alerted": None,
            "bytes": 20_000,
        }
    ],
    "usage": [
        row("total", "", 13_000_000_000, 4, 2, 60 << 30),
        row("storage_class", "GLACIER", 1, None, None, None),
        row("size_class", "LESS_THAN_1024_B", 9, 0, 0, 9),
        *(row("prefix", f"{nth}/" + "long/" * 20, 5, 0, 0, 5) for nth in range(9)),
        row("uploads", "", 37, None, None, 1536),
    ],
    "report": "s3://pipeline/runs/scan/1/report/index.html",
    "events": 1,
    "numbers": {"ManyVersions": {"new": 100, "same": 54}, "BigPrefix": {"cleared": 1}},
    "notes": ["the source lists no versions"],
}


SCANS = {"archive": {"source": "s3://inventories/archive/weekly", "alert_worse": "50"}}


class FakePipeline:
    """A Glue whose runs pass through `states`, and the S3 that they write to."""

    def __init__(self, result: Mapping[str, Any] | None) -> None:
        self.states = ["STARTING", "RUNNING", "SUCCEEDED"]
        self.error = ""
        self.started: list[tuple[str, dict[str, str]]] = []
        self.removed: list[str] = []
        self.written: dict[str, Any] = {}
        self.result = {"status": "success", **result} if result is not None else None
        self.glue = SimpleNamespace(
            start_job_run=self._start,
            get_job_run=self._get_run,
            meta=SimpleNamespace(region_name=REGION),
        )
        self.s3 = SimpleNamespace(
            head_bucket=self._head_bucket,
            get_object=self._get_object,
            put_object=self._put_object,
            delete_object=lambda Bucket, Key: self.removed.append(Key),  # noqa: ARG005, N803
            exceptions=SimpleNamespace(ClientError=ClientError),
        )

    def _start(self, JobName: str, Arguments: dict[str, str], **queuing: bool) -> Any:  # noqa: N803
        assert queuing == {"JobRunQueuingEnabled": True}
        self.started.append((JobName, Arguments))
        return {"JobRunId": "jr_1"}

    def _get_run(self, JobName: str, RunId: str) -> Any:  # noqa: N803, ARG002
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"JobRun": {"JobRunState": state, "ErrorMessage": self.error}}

    def _head_bucket(self, Bucket: str) -> None:  # noqa: N803
        if Bucket == "absent":
            raise refusal("404", "HeadBucket")

    def _put_object(self, Bucket: str, Key: str, Body: bytes | IO[bytes]) -> None:  # noqa: N803
        assert Bucket == "pipeline"
        self.written[Key] = json.loads(Body) if isinstance(Body, bytes) else Body.read()

    def _get_object(self, Bucket: str, Key: str) -> Any:  # noqa: N803
        assert Bucket == "pipeline"
        progress = {"stage": "sending", "done": 3, "total": 5, "unit": "events"}
        documents = {"result.json": self.result, "progress.json": progress}
        document = documents.get(Key.rpartition("/")[2], self.written.get(Key))
        if document is None:
            raise refusal("NoSuchKey", "GetObject")
        return {"Body": io.BytesIO(json.dumps(document).encode())}


def deploy(aws: MotoAws, result: Mapping[str, Any] | None) -> FakePipeline:
    pipeline = FakePipeline(result)
    jobs = {job: f"Bucketcast-{job}" for job in ("scan", "backfill", "reconcile")}
    aws.outputs["PipelineOutput1"] = json.dumps(
        {"bucket": "pipeline", "jobs": jobs, "scans": SCANS}
    )
    aws.s3, aws.glue = pipeline.s3, pipeline.glue  # type: ignore[assignment]  # fakes
    return pipeline
