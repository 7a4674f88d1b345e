"""A bucket's content from its S3 Metadata inventory table (Iceberg, about an hour behind).

https://docs.aws.amazon.com/AmazonS3/latest/userguide/metadata-tables-inventory-schema.html
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession, Window
from pyspark.sql import functions as sql

from bucketcast.errors import BucketcastError
from glue_jobs.listing.schema import Listing, select_rows
from glue_jobs.reason import reason

CATALOG: Final = "s3md"
LAG: Final = timedelta(hours=1)


def read(spark: SparkSession, bucket: str, *, prefix: str = "") -> Listing:
    """Read the newest snapshot of the bucket's inventory table, with all versions.

    It is `s3md.b_<bucket, "." as "_">.inventory`. S3 puts changes into it within an hour, so
    `taken` is an hour before the snapshot.

    Raises:
        BucketcastError: there is no catalog or table, or it may not be read.
    """
    namespace = f"b_{bucket.replace('.', '_')}"
    name, quoted = f"{CATALOG}.{namespace}.inventory", f"{CATALOG}.`{namespace}`.inventory"
    if spark.conf.get(f"spark.sql.catalog.{CATALOG}", None) is None:
        raise BucketcastError(
            f'{name}: Spark knows no catalog {CATALOG}: set metadata = "on" in [pipeline], and '
            "deploy that"
        )
    try:
        snapshot, committed = _newest_snapshot(spark, quoted, name)
        # Pinned: a job reads more than once, and S3 goes on writing.
        frame = spark.sql(f"SELECT * FROM {quoted} VERSION AS OF {snapshot}")  # noqa: S608
    except (PySparkException, Py4JJavaError) as error:
        raise BucketcastError(_error_message(error, name, bucket)) from error
    if prefix:
        frame = frame.where(sql.col("key").startswith(prefix))
    frame = frame.withColumn("is_latest", _is_latest())
    return Listing(
        objects=select_rows(frame, bucket, versions=True),
        versions=True,
        taken=committed - LAG,
        name=f"S3 Metadata table {name} of {committed:%Y-%m-%d %H:%M} UTC",
    )


def _newest_snapshot(spark: SparkSession, quoted: str, name: str) -> tuple[int, datetime]:
    """Return the id of the newest snapshot, and the time of its commit."""
    committed = sql.unix_millis("committed_at").alias("ms")
    snapshots = spark.table(f"{quoted}.snapshots").select(committed, "snapshot_id")
    newest = snapshots.orderBy(sql.desc("ms")).first()
    if newest is None:
        raise BucketcastError(
            f"{name}: the table is empty: S3 is still filling it, which takes minutes to hours; "
            "wait for its status to be ACTIVE, or read the listing"
        )
    return newest[1], datetime.fromtimestamp(newest[0] / 1000, UTC)


def _error_message(error: PySparkException | Py4JJavaError, name: str, bucket: str) -> str:
    if "[TABLE_OR_VIEW_NOT_FOUND]" in str(error):
        return (
            f"{name}: there is no such table; turn on the inventory table in the S3 Metadata "
            f"configuration of {bucket}, and grant the job's role SELECT on it in Lake Formation"
        )
    return f"{name}: Spark cannot read the table: {reason(error)}"


def _is_latest() -> Column:
    """Return True for the latest version, by the order of a key's sequence numbers.

    Spark skips this and its sort for a job that does not use the column.
    """
    newest_first = Window.partitionBy("key").orderBy(
        sql.desc("sequence_number"), sql.desc("last_modified_date")
    )
    return sql.row_number().over(newest_first) == 1
