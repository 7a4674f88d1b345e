"""A bucket as rows of one schema, whatever it is read from."""

from pyspark.sql import SparkSession

from glue_jobs.listing import inventory, live, metadata
from glue_jobs.listing.schema import BadListingError, Listing


def read(spark: SparkSession, bucket: str, source: str, *, prefix: str = "") -> Listing:
    """What a bucket holds below a prefix, from the source that `bucketcast.jobs.Job` describes.

    Raises:
        BadListingError: the source is none of those, or cannot be used.
    """
    kind, _, table = source.partition(":")
    if source == "listing":
        return live.read(spark, bucket, prefix=prefix)
    if kind == "metadata":
        return metadata.read(spark, bucket, table, prefix=prefix)
    if all(each.strip().startswith(("s3://", "file://")) for each in source.split(",")):
        return inventory.read(spark, bucket, source, prefix=prefix)
    raise BadListingError(
        f"--source: found {source!r}, allowed are listing, metadata, "
        "metadata:CATALOG.NAMESPACE.TABLE and the s3:// URL of an Inventory report, or of several "
        "with commas"
    )
