"""The rows of a report's data files, as rows of `LISTING`.

Plain selections and casts: a job that wants keys and sizes reads no other column of Parquet or ORC.
"""

import re
from typing import Any, Final
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from bucketcast.errors import BucketcastError
from glue_jobs.listing.inventory import checks
from glue_jobs.listing.inventory.manifest import Manifest
from glue_jobs.listing.schema import LISTING, shaped

_CSV: Final = {
    "Bucket": "bucket",
    "Key": "key",
    "VersionId": "version_id",
    "IsLatest": "is_latest",
    "IsDeleteMarker": "is_delete_marker",
    "Size": "size",
    "LastModifiedDate": "last_modified_date",
    "ETag": "e_tag",
    "StorageClass": "storage_class",
}
_TYPES: Final = {
    "is_latest": "boolean",
    "is_delete_marker": "boolean",
    "size": "bigint",
    "last_modified_date": "timestamp",
}
"""The types of the columns that are not text. A CSV has text only."""

_BROKEN: Final = "%(?![0-9A-Fa-f]{2})"
_MALFORMED: Final = "malformed row"


def rows(spark: SparkSession, manifest: Manifest, bucket: str, prefix: str) -> DataFrame:
    """Return a report's rows whose keys begin with the prefix.

    Raises:
        BucketcastError: a column that fileSchema names is missing, or rows are of another bucket.
    """
    if not manifest.files:
        return spark.createDataFrame([], LISTING)
    read = _csv if manifest.format == "CSV" else _columnar
    frame = read(spark, manifest, bucket)
    if prefix:
        frame = frame.where(F.col("key").startswith(prefix))
    frame = frame.withColumn("key", _present(manifest))
    return _listed(frame, bucket, versions=manifest.versions)


def _listed(frame: DataFrame, bucket: str, *, versions: bool) -> DataFrame:
    def column(name: str) -> Column:
        return F.col(name) if name in frame.columns else F.lit(None)

    def text(name: str) -> Column:
        return F.when(column(name) != "", column(name))

    marker = F.coalesce(column("is_delete_marker"), F.lit(col=False))
    columns = {
        "bucket": F.lit(bucket),
        "key": F.col("key"),
        "version_id": F.coalesce(text("version_id"), F.lit("null")) if versions else F.lit(None),
        "is_latest": F.coalesce(column("is_latest"), F.lit(col=True)),
        "is_delete_marker": marker,
        "size": F.when(marker, F.lit(0)).otherwise(column("size")),
        "last_modified": column("last_modified_date"),
        "etag": text("e_tag"),
        "storage_class": text("storage_class"),
    }
    return shaped(frame, columns)


def _columnar(spark: SparkSession, manifest: Manifest, bucket: str) -> DataFrame:
    _in_utc(spark, manifest)
    frame = spark.read.format(manifest.format.lower()).load(_paths(manifest))
    missing = (set(_CSV.values()) & set(manifest.columns)) - set(frame.columns)
    if missing:
        raise BucketcastError(
            f"{manifest.url}: fileSchema names {', '.join(sorted(missing))}, but the data files "
            f"have only {', '.join(frame.columns)}; take a report as S3 wrote it"
        )
    checks.of_bucket(frame, manifest, bucket)
    return frame


def _present(manifest: Manifest) -> Column:
    lost = F.raise_error(F.lit(f"{manifest.url}: found a row without a key in its data files"))
    return F.coalesce("key", lost.cast("string"))


def _in_utc(spark: SparkSession, manifest: Manifest) -> None:
    """Check that the JVM is in UTC: ORC times have no zone, and Spark uses the JVM's."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001  # nobody else knows
    zone = jvm.java.util.TimeZone.getDefault()
    if manifest.format == "ORC" and (zone.getRawOffset() or zone.useDaylightTime()):
        raise BucketcastError(
            f"{manifest.url}: Spark would read the times of its ORC files in the zone "
            f"{zone.getID()}, but they are in UTC; start it with --conf "
            "spark.driver.extraJavaOptions=-Duser.timezone=UTC and "
            "spark.executor.extraJavaOptions likewise"
        )


def _csv(spark: SparkSession, manifest: Manifest, bucket: str) -> DataFrame:
    """Read CSV columns by fileSchema; rows with more or fewer columns or bad values are refused.

    Rows are text that must be parsed in full anyway, so errors are found as a row is read, with its
    key, which every job needs.
    """
    names = (*manifest.columns, _MALFORMED)
    frame = (
        spark.read.schema(", ".join(f"`{name}` string" for name in names))
        .option("mode", "PERMISSIVE")
        .option("columnNameOfCorruptRecord", _MALFORMED)
        .option("columnPruning", False)  # noqa: FBT003  # or nobody counts a row's columns
        .option("escape", '"')
        .csv(_paths(manifest))
    )
    values = {_CSV[name]: _value(name) for name in manifest.columns if name in _CSV}
    row = F.col(_MALFORMED)
    values["key"] = (
        F.when(row.isNotNull(), _refused(row, f"{len(manifest.columns)} columns"))
        .when(~F.col("Bucket").eqNullSafe(bucket), _refused(F.col("Bucket"), f"bucket {bucket}"))
        .when(F.col("Key").rlike(_BROKEN), _refused(F.col("Key"), "a percent-encoded key"))
        .otherwise(F.url_decode("Key"))
    )
    return frame.select(*(value.alias(name) for name, value in values.items()))


def _value(name: str) -> Column:
    """Cast a CSV's text to its column's type; empty is null."""
    text = F.col(name)
    kind = _TYPES.get(_CSV[name])
    if kind is None:
        return text
    value = F.coalesce(
        F.expr(f"try_cast(`{name}` AS {kind})"), _refused(text, f"{kind} in {name}").cast(kind)
    )
    return F.when(text != "", value)


def _refused(found: Column, wanted: str) -> Column:
    end = F.lit(f", wanted {wanted}, in the row of ")
    parts = (F.input_file_name(), F.lit(": found "), found, end, F.col("Key"))
    return F.raise_error(F.concat_ws("", *parts)).cast("string")


def _paths(manifest: Manifest) -> list[str]:
    """Return paths for Hadoop: not percent-encoded, with its wildcards escaped."""
    urls = (manifest.data_url(file) for file in manifest.files)
    plain = (unquote(each) if each.startswith("file:") else each for each in urls)
    return [re.sub(r"([\\*?\[\]{}])", r"\\\1", each) for each in plain]
