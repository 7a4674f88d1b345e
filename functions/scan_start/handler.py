"""Start a scan when S3 has written an Inventory report; called by a rule of EventBridge.

S3 writes `manifest.checksum` last; the scan reads the `manifest.json` beside it. The rule passes
the event's `id`, which names the run, the report's `bucket` and `key`, and the scan's `arguments`:
so there may be any number of scans, and each report starts those that read it. The rule's pattern
also matches folders below the source; if there are several configurations, each one's report would
clear the findings of the other, so such a report fails.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger

from bucketcast.aws import function_clients

if TYPE_CHECKING:
    from mypy_boto3_glue import GlueClient

_JOB = os.environ["BUCKETCAST_JOB"]
_RUNS = os.environ["BUCKETCAST_RUNS"]
_LAST = "/manifest.checksum"
_logger = Logger()
_glue: "GlueClient" = function_clients.client("glue")


@_logger.inject_lambda_context
def handler(event: Mapping[str, Any], _context: Any) -> None:
    if not event["key"].endswith(_LAST):
        return
    report = f"s3://{event['bucket']}/{event['key'].removesuffix(_LAST)}"
    folder, configured = report.rpartition("/")[0], event["arguments"]["--source"].rstrip("/")
    if folder != configured:
        raise ValueError(
            f"{report} was not scanned: its scan has source = '{configured}'; allowed is '{folder}'"
        )
    run = f"{_RUNS}/{event['arguments']['--bucket']}/{event['id']}"
    arguments = {**event["arguments"], "--source": f"{report}/manifest.json", "--run": run}
    # Glue heeds the job's own setting only where the run has the same.
    _glue.start_job_run(JobName=_JOB, JobRunQueuingEnabled=True, Arguments=arguments)
