"""A bucket's content, read from an S3 Inventory report.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/storage-inventory.html
"""

from botocore.exceptions import ClientError
from pyspark.sql import SparkSession

from glue_jobs.aws import client
from glue_jobs.listing.inventory.manifest import Manifest, read_manifest, read_newest
from glue_jobs.listing.inventory.rows import rows
from glue_jobs.listing.schema import Listing


def read(spark: SparkSession, bucket: str, source: str, *, prefix: str = "") -> Listing:
    """Read a report of the bucket.

    `source` is the URL of a manifest.json, or of the folder of a configuration, for its newest
    finished report. Spark reads the files that the manifest names, and no others. A damaged file or
    a bad row ends the job as it is read, and `glue_jobs.reason` reports it.

    Raises:
        BucketcastError: the manifest is missing, damaged or another bucket's.
    """
    find = read_manifest if source.endswith("/manifest.json") else read_newest
    report = find(source, bucket)
    listed, note = _read_filter(report, bucket)
    return Listing(
        objects=rows(spark, report, bucket, prefix),
        versions=report.versions,
        taken=report.taken,
        name=f"S3 Inventory {report.id} of {report.taken:%Y-%m-%d %H:%M} UTC",
        lacking=report.lacking,
        prefix=listed,
        notes=(note,) if note else (),
        report=report.id,
    )


def _read_filter(report: Manifest, bucket: str) -> tuple[str | None, str]:
    """Return the prefix of a report's keys, which no manifest has, and a note about it.

    None is not known: the configuration was removed since, or may not be read.
    """
    try:
        response = client("s3").get_bucket_inventory_configuration(Bucket=bucket, Id=report.id)
    except ClientError as error:
        return None, (
            f"Which keys {report.id} lists is not known, as its configuration cannot be read, so "
            f"nothing counts as gone: {error}; it needs s3:GetInventoryConfiguration on {bucket}"
        )
    prefix = response.get("InventoryConfiguration", {}).get("Filter", {}).get("Prefix", "")
    return prefix, f"{report.id} lists only keys that begin with {prefix}" if prefix else ""
