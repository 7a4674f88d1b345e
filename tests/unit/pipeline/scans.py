"""The pipeline's bucket in moto, with the results of scans."""

import json
from typing import Any, Final

from tests.scan_results import scan_result
from tests.unit.moto_aws import MotoAws, client

PIPELINE: Final = "pipeline"


def make_pipeline(aws: MotoAws) -> None:
    jobs = {job: f"Bucketcast-{job}" for job in ("scan", "backfill", "reconcile")}
    aws.outputs["PipelineOutput1"] = json.dumps({"bucket": PIPELINE, "jobs": jobs, "scans": {}})
    client("s3").create_bucket(Bucket=PIPELINE)


def put_file(run: str, name: str, content: str) -> None:
    client("s3").put_object(Bucket=PIPELINE, Key=f"runs/scan/{run}/{name}", Body=content.encode())


def put_scan(nth: str, taken: str, objects: int, bytes_: int, **more: Any) -> None:
    """Write the result of a scan of `uploads` that succeeded."""
    run = f"uploads/{nth}"
    report = f"s3://{PIPELINE}/runs/scan/{run}/report/index.html"
    result = scan_result(taken, objects, bytes_, **{"report": report, **more})
    put_file(run, "result.json", json.dumps(result))
