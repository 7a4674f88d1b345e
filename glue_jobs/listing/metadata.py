"""A bucket's content from its S3 Metadata inventory table (Iceberg, about an hour behind).

https://docs.aws.amazon.com/AmazonS3/latest/userguide/metadata-tables-inventory-schema.html
"""

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from bucketcast.errors import BucketcastError
from glue_jobs.listing.schema import Listing, shaped
from glue_jobs.reason import reason

CATALOG: Final = "s3md"
LAG: Final = timedelta(hours=1)
_COLUMNS: Final = (
    "bucket",
    "key",
    "sequence_number",
    "version_id",
    "is_delete_marker",
    "size",
    "last_modified_date",
    "e_tag",
    "storage_class",
)
_CONF: Final = (
    "start the job with --conf spark.sql.catalog.{0}=org.apache.iceberg.spark.SparkCatalog "
    "--conf spark.sql.catalog.{0}.catalog-impl=org.apache.iceberg.aws.glue.GlueCatalog "
    "--conf spark.sql.catalog.{0}.glue.id=ACCOUNT:s3tablescatalog/aws-s3 "
    "--conf spark.sql.catalog.{0}.warehouse=s3://ANY/ and, on Glue, --datalake-formats iceberg"
)


class _Snapshot(NamedTuple):
    id: int
    committed: datetime


def read(spark: SparkSession, bucket: str, table: str = "", *, prefix: str = "") -> Listing:
    """Read the newest snapshot of the bucket's table, with all versions.

    `table` is `catalog.namespace.table`; S3's own is `s3md.b_<bucket, "." as "_">.inventory`. S3
    puts changes into it within an hour, so `taken` is an hour before the snapshot.

    Raises:
        BucketcastError: no catalog, no such table, no permission, other columns, other buckets.
    """
    parts = table.split(".") if table else [CATALOG, f"b_{bucket.replace('.', '_')}", "inventory"]
    name = ".".join(parts)
    _has_catalog(spark, parts, name)
    quoted = ".".join("`" + part.replace("`", "``") + "`" for part in parts)
    try:
        snapshot = _newest(spark, quoted, name)
        # Pinned: a job reads more than once, and S3 goes on writing.
        frame = spark.sql(f"SELECT * FROM {quoted} VERSION AS OF {snapshot.id}")  # noqa: S608
        _usable(frame, bucket, name)
    except (PySparkException, Py4JJavaError) as error:
        raise BucketcastError(_explained(error, name, bucket)) from error
    if prefix:
        frame = frame.where(F.col("key").startswith(prefix))
    return Listing(
        objects=_listed(frame, bucket),
        versions=True,
        taken=snapshot.committed - LAG,
        name=f"S3 Metadata table {name} of {snapshot.committed:%Y-%m-%d %H:%M} UTC",
    )


def _has_catalog(spark: SparkSession, parts: list[str], name: str) -> None:
    if len(parts) < 3 or not all(parts):  # noqa: PLR2004  # catalog, namespace, table
        raise BucketcastError(
            f"metadata:{name}: found no CATALOG.NAMESPACE.TABLE; name the table with all three, or "
            "only metadata for S3's own"
        )
    if spark.conf.get(f"spark.sql.catalog.{parts[0]}", None) is None:
        raise BucketcastError(
            f"{name}: Spark knows no catalog {parts[0]}; {_CONF.format(parts[0])}"
        )


def _newest(spark: SparkSession, quoted: str, name: str) -> _Snapshot:
    when = F.unix_millis("committed_at").alias("ms")
    snapshots = spark.table(f"{quoted}.snapshots").select(when, "snapshot_id")
    found = snapshots.orderBy(F.desc("ms")).first()
    if found is None:
        raise BucketcastError(
            f"{name}: the table is empty: S3 is still filling it, which takes minutes to hours; "
            "wait for its status to be ACTIVE, or read the listing"
        )
    return _Snapshot(found[1], datetime.fromtimestamp(found[0] / 1000, UTC))


def _usable(frame: DataFrame, bucket: str, name: str) -> None:
    missing = [column for column in _COLUMNS if column not in frame.columns]
    if missing:
        raise BucketcastError(
            f"{name}: found no column {', '.join(missing)} among {', '.join(frame.columns)}; name "
            "an S3 Metadata inventory table, not its journal"
        )
    other = frame.where(~F.col("bucket").eqNullSafe(bucket)).select("bucket").first()
    if other:
        raise BucketcastError(
            f"{name}: found rows of bucket {other[0]}, wanted only {bucket}; name the table of "
            f"{bucket}"
        )


def _explained(error: PySparkException | Py4JJavaError, name: str, bucket: str) -> str:
    if "[TABLE_OR_VIEW_NOT_FOUND]" in str(error):
        return (
            f"{name}: there is no such table; turn on the inventory table in the S3 Metadata "
            f"configuration of {bucket}, grant the job's role SELECT on it in Lake Formation, or "
            "name the table with metadata:CATALOG.NAMESPACE.TABLE"
        )
    return f"{name}: Spark cannot read the table: {reason(error)}"


def _listed(frame: DataFrame, bucket: str) -> DataFrame:
    marker = F.coalesce("is_delete_marker", F.lit(col=False))
    columns = {
        "bucket": F.lit(bucket),
        "key": F.col("key"),
        "version_id": F.coalesce("version_id", F.lit("null")),
        "is_latest": _latest(),
        "is_delete_marker": marker,
        "size": F.when(marker, F.lit(0)).otherwise(F.col("size")),
        "last_modified": F.col("last_modified_date"),
        "etag": F.col("e_tag"),
        "storage_class": F.col("storage_class"),
    }
    return shaped(frame, columns)


def _latest() -> Column:
    """Return which version is the latest, by the order of a key's sequence numbers.

    Spark skips this and its sort for a job that does not use the column.
    """
    newest_first = Window.partitionBy("key").orderBy(
        F.desc("sequence_number"), F.desc("last_modified_date")
    )
    return F.row_number().over(newest_first) == 1
