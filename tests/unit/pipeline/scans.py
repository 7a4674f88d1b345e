"""The pipeline's bucket in moto, with the results of scans."""

import json
from collections.abc import Mapping
from typing import Any, Final

from tests.unit.moto_aws import MotoAws, client

PIPELINE: Final = "pipeline"


def make_pipeline(aws: MotoAws) -> None:
    jobs = {job: f"Bucketcast-{job}" for job in ("scan", "backfill", "reconcile")}
    aws.outputs["PipelineOutput1"] = json.dumps({"bucket": PIPELINE, "jobs": jobs})
    client("s3").create_bucket(Bucket=PIPELINE)


def put_file(run: str, name: str, content: str) -> None:
    client("s3").put_object(Bucket=PIPELINE, Key=f"runs/scan/{run}/{name}", Body=content.encode())


def usage(dimension: str, name: str, objects: int, bytes_: int | None = 0) -> dict[str, Any]:
    """Return a row of a scan's usage; the bytes of its older versions are 1."""
    row = {"dimension": dimension, "name": name, "objects": objects, "bytes": bytes_}
    return row | {"noncurrent": 2, "delete_markers": 0, "noncurrent_bytes": bytes_ and 1}


def put_scan(run: str, taken: str, objects: int, bytes_: int, **more: Any) -> Mapping[str, Any]:
    """Write the result of a scan of `uploads` that succeeded, without findings; return it."""
    result = {
        "status": "success",
        "bucket": "uploads",
        "prefix": "",
        "source": "listing",
        "taken": taken,
        "versions": True,
        "usage": [
            usage("total", "", objects, bytes_),
            usage("storage_class", "STANDARD", objects, bytes_),
            usage("prefix", "photos/", objects, bytes_),
        ],
        "findings": [],
        "numbers": {},
        "report": f"s3://{PIPELINE}/runs/scan/{run}/report/index.html",
        "notes": [],
    } | more
    put_file(run, "result.json", json.dumps(result))
    return result
