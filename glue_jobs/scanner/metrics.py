"""The usage of whole buckets as metrics: of the gateway always, of CloudWatch if asked."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from bucketcast.errors import BucketcastError
from bucketcast.settings.pipeline import Scan
from bucketcast.state.usage import Usages
from glue_jobs.aws import client, state_table_errors
from glue_jobs.scanner.usage import Usage, summarise

_METRICS: Final = (
    ("total", "objects", "Objects"),
    ("total", "noncurrent", "NoncurrentVersions"),
    ("total", "delete_markers", "DeleteMarkers"),
    ("total", "bytes", "Bytes"),
    ("total", "noncurrent_bytes", "NoncurrentBytes"),
    ("uploads", "objects", "IncompleteUploads"),
    ("uploads", "bytes", "IncompleteUploadBytes"),
)


def put(settings: Scan, usage: Sequence[Usage], taken: datetime) -> None:
    """Store the usage of a whole bucket as of the time of its source.

    Raises:
        BucketcastError: DynamoDB or CloudWatch refused.
    """
    with state_table_errors(settings.table):
        usages = Usages(settings.table, client("dynamodb"))
        usages.put(settings.bucket, summarise(usage), taken.timestamp())
    if settings.usage_metrics:
        data = list(_data(settings.bucket, usage, taken))
        try:
            client("cloudwatch").put_metric_data(Namespace=settings.namespace, MetricData=data)
        except (BotoCoreError, ClientError) as error:
            raise BucketcastError(f"--usage_metrics: {settings.namespace}: {error}") from error


def _data(bucket: str, usage: Sequence[Usage], taken: datetime) -> Iterator[dict[str, Any]]:
    """Yield what the source tells."""
    rows = {row.dimension: row for row in usage}
    for dimension, column, name in _METRICS:
        value = getattr(rows.get(dimension), column, None)
        if value is not None:
            yield {
                "MetricName": name,
                "Dimensions": [{"Name": "bucket", "Value": bucket}],
                "Timestamp": taken,
                "Value": value,
                "Unit": "Bytes" if column.endswith("bytes") else "Count",
            }
