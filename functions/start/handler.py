"""Starts a scan when S3 has written an Inventory report, as EventBridge tells of it.

S3 writes `manifest.checksum` last; `manifest.json` beside it is what the scan reads. The run is
called by the event's id.
"""

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import boto3

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient

_JOB = os.environ["BUCKETCAST_JOB"]
_RUNS = os.environ["BUCKETCAST_RUNS"]
# The arguments of each scan, by the folder that its reports are written to.
_SCANS: Mapping[str, Mapping[str, str]] = json.loads(os.environ["BUCKETCAST_SCANS"])
_glue: "GlueClient" = boto3.client("glue")


def handler(event: Mapping[str, Any], _: Any) -> None:
    written = event["detail"]
    url = f"s3://{written['bucket']['name']}/{written['object']['key']}"
    report = url.removesuffix("/manifest.checksum")
    for folder, arguments in _SCANS.items():
        if report != url and report.startswith(f"{folder}/"):
            source = {"--source": f"{report}/manifest.json", "--run": f"{_RUNS}/{event['id']}"}
            _glue.start_job_run(JobName=_JOB, Arguments={**arguments, **source})
