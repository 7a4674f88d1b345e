"""A bucket's content as rows of one schema, from any source."""

from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from glue_jobs.listing import inventory, live, metadata
from glue_jobs.listing.schema import Listing


def read(spark: SparkSession, bucket: str, source: str, *, prefix: str = "") -> Listing:
    """Read a bucket's content below a prefix; `source` is as in `settings.pipeline.Content`.

    Raises:
        BucketcastError: the source is unknown, or cannot be used.
    """
    kind, _, table = source.partition(":")
    if source == "listing":
        return live.read(spark, bucket, prefix=prefix)
    if kind == "metadata":
        return metadata.read(spark, bucket, table, prefix=prefix)
    if all(url.strip().startswith(("s3://", "file://")) for url in source.split(",")):
        return inventory.read(spark, bucket, source, prefix=prefix)
    raise BucketcastError(
        f"--source: found {source!r}, allowed are listing, metadata, "
        "metadata:CATALOG.NAMESPACE.TABLE and the s3:// URL of an Inventory report, or of several "
        "with commas"
    )
