"""The rows of a report's data files, as rows of `LISTING`.

Plain selections and casts: a job that wants keys and sizes reads no other column of Parquet or ORC.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from bucketcast.errors import BucketcastError
from glue_jobs import files
from glue_jobs.listing.inventory.manifest import Manifest
from glue_jobs.listing.schema import LISTING, select_rows

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

_BAD_PERCENT: Final = "%(?![0-9A-Fa-f]{2})"
_MALFORMED: Final = "malformed row"


def rows(spark: SparkSession, manifest: Manifest, bucket: str, prefix: str) -> DataFrame:
    """Return a report's rows whose keys begin with the prefix.

    Raises:
        BucketcastError: a column that fileSchema names is missing. A row without a key or of
            another bucket ends the job as it is read.
    """
    if not manifest.files:
        return spark.createDataFrame([], LISTING)
    read = _read_csv if manifest.format == "CSV" else _read_columnar
    frame = read(spark, manifest)
    if prefix:
        frame = frame.where(sql.col("key").startswith(prefix) | sql.col("key").isNull())
    frame = frame.withColumn("key", _checked_key(bucket))
    return select_rows(frame, bucket, versions=manifest.versions)


def _read_columnar(spark: SparkSession, manifest: Manifest) -> DataFrame:
    frame = spark.read.format(manifest.format.lower()).load(_paths(manifest))
    missing = (set(_CSV.values()) & set(manifest.columns)) - set(frame.columns)
    if missing:
        raise BucketcastError(
            f"{manifest.url}: fileSchema names {', '.join(sorted(missing))}, but the data files "
            f"have only {', '.join(frame.columns)}; take a report as S3 wrote it"
        )
    return frame


def _checked_key(bucket: str) -> Column:
    foreign = _reject(sql.col("bucket"), f"bucket {bucket}")
    return sql.when(~sql.col("bucket").eqNullSafe(bucket), foreign).otherwise(
        sql.coalesce("key", _reject(sql.lit("no key"), "one"))
    )


def _read_csv(spark: SparkSession, manifest: Manifest) -> DataFrame:
    """Read CSV columns by fileSchema; reject rows with more or fewer columns or bad values.

    Rows are text that must be parsed in full anyway, so errors are found as a row is read, with its
    key, which every job needs.
    """
    names = (*manifest.columns, _MALFORMED)
    frame = (
        spark.read.schema(", ".join(f"`{name}` string" for name in names))
        .option("mode", "PERMISSIVE")
        .option("columnNameOfCorruptRecord", _MALFORMED)
        .option("columnPruning", False)  # noqa: FBT003  # or Spark does not count a row's columns
        .option("escape", '"')
        .csv(_paths(manifest))
    )
    values = {_CSV[name]: _value(name) for name in manifest.columns if name in _CSV}
    row = sql.col(_MALFORMED)
    values["key"] = (
        sql.when(row.isNotNull(), _reject(row, f"{len(manifest.columns)} columns"))
        .when(sql.col("Key").rlike(_BAD_PERCENT), _reject(sql.col("Key"), "a percent-encoded key"))
        .otherwise(sql.url_decode("Key"))
    )
    return frame.select(*(value.alias(name) for name, value in values.items()))


def _value(name: str) -> Column:
    """Cast a CSV's text to its column's type; empty is null."""
    raw = sql.col(name)
    kind = _TYPES.get(_CSV[name])
    if kind is None:
        return raw
    value = sql.coalesce(
        sql.expr(f"try_cast(`{name}` AS {kind})"), _reject(raw, f"{kind} in {name}").cast(kind)
    )
    return sql.when(raw != "", value)


def _reject(value: Column, wanted: str) -> Column:
    end = sql.lit(f", wanted {wanted}, in the row of ")
    parts = (sql.input_file_name(), sql.lit(": found "), value, end, sql.col("Key"))
    return sql.raise_error(sql.concat_ws("", *parts)).cast("string")


def _paths(manifest: Manifest) -> list[str]:
    return [files.hadoop_path(url) for url in manifest.files]
