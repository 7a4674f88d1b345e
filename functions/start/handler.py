"""Starts a scan when S3 has written an Inventory report, as a rule of EventBridge tells of it.

S3 writes `manifest.checksum` last; `manifest.json` beside it is what the scan reads. The rule hands
over the event's `id`, by which the run is called, the report's `bucket` and `key`, and the scan's
`arguments`: so there may be any number of scans, and each report starts those that read it.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import boto3

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient

_JOB = os.environ["BUCKETCAST_JOB"]
_RUNS = os.environ["BUCKETCAST_RUNS"]
_LAST = "/manifest.checksum"
_glue: "GlueClient" = boto3.client("glue")


def handler(event: Mapping[str, Any], _: Any) -> None:
    if not event["key"].endswith(_LAST):
        return
    report = f"s3://{event['bucket']}/{event['key'].removesuffix(_LAST)}"
    source = {"--source": f"{report}/manifest.json", "--run": f"{_RUNS}/{event['id']}"}
    _glue.start_job_run(JobName=_JOB, Arguments={**event["arguments"], **source})
