"""The objects of a manifest, as S3 Batch Operations takes it: a CSV of bucket, key and version.

It says nothing about the objects, so each is read by HeadObject, on all cores. An object that
cannot be read is listed among those that were not sent, and the others go on.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/batch-ops-create-job.html
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from itertools import islice
from typing import Final

from botocore.exceptions import ClientError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from bucketcast.settings.pipeline import Backfill
from glue_jobs import files, not_sent
from glue_jobs.aws import client
from glue_jobs.listing.schema import LISTING, Listing, Row
from glue_jobs.not_sent import NotSent

_TASKS_PER_CORE: Final = 4
_THREADS: Final = 16
_AT_ONCE: Final = 500
_BAD_PERCENT: Final = "%(?![0-9A-Fa-f]{2})"
_REASONS: Final = {
    HTTPStatus.NOT_FOUND: "there is no such object or version (404)",
    HTTPStatus.FORBIDDEN: "the job's role may not read it (403)",
    HTTPStatus.METHOD_NOT_ALLOWED: "it is a delete marker (405)",
    HTTPStatus.BAD_REQUEST: "its key is the customer's, or there is no such version (400)",
}
_NONCURRENT: Final = "it is not the current version, which alone is sent without --versions all"


def read(spark: SparkSession, settings: Backfill, refused: str) -> Listing:
    """Read the manifest, and each of its objects whose key has the prefix, once.

    The objects are read when the rows are. Those that cannot be sent are listed in files of the
    folder `refused`, which are right after the rows were read exactly once.

    Raises:
        FileError: the folder cannot be emptied. A manifest that does not exist, and a row of
            another bucket or another form end the job as they are read.
    """
    files.remove(refused)
    taken = datetime.now(UTC)
    tasks = _TASKS_PER_CORE * spark.sparkContext.defaultParallelism
    entries = _read_entries(spark, settings).dropDuplicates().repartition(tasks)
    rows = entries.rdd.mapPartitionsWithIndex(
        partial(_read_objects, settings.bucket, refused, versions=settings.versions == "all")
    )
    # Rows with and without a version may name one object.
    frame = spark.createDataFrame(rows, LISTING, verifySchema=False)
    frame = frame.dropDuplicates(["key", "version_id"])
    return Listing(frame, versions=True, taken=taken, name=f"the manifest {settings.manifest}")


def _read_entries(spark: SparkSession, settings: Backfill) -> DataFrame:
    path = files.hadoop_path(settings.manifest)
    columns = "bucket string, key string, version string, more string"
    frame = spark.read.schema(columns).option("escape", '"').csv(path)
    key = (
        sql.when(sql.col("more").isNotNull(), _reject("more", "bucket,key or bucket,key,version"))
        .when(~sql.col("bucket").eqNullSafe(settings.bucket), _reject("bucket", settings.bucket))
        .when(sql.col("key").isNull(), _reject("key", "a key"))
        .when(sql.col("key").rlike(_BAD_PERCENT), _reject("key", "a percent-encoded key"))
        .otherwise(sql.url_decode("key"))
    )
    entries = frame.select(key.alias("key"), "version")
    return entries.where(sql.col("key").startswith(settings.prefix)) if settings.prefix else entries


def _reject(column: str, wanted: str) -> Column:
    found = sql.coalesce(sql.col(column), sql.lit("nothing"))
    row = sql.concat_ws(",", "bucket", "key", "version")
    parts = (sql.input_file_name(), sql.lit(": found "), found, sql.lit(f", wanted {wanted}, in "))
    return sql.raise_error(sql.concat_ws("", *parts, row)).cast("string")


def _read_objects(
    bucket: str,
    refused: str,
    part: int,
    rows: Iterable[tuple[str, str | None]],
    *,
    versions: bool,
) -> Iterator[Row]:
    entries = iter(rows)
    read_object = partial(_read_object, bucket, versions=versions)
    left: list[NotSent] = []
    with ThreadPoolExecutor(_THREADS) as pool:
        while batch := list(islice(entries, _AT_ONCE)):
            for found in pool.map(read_object, *zip(*batch, strict=True)):
                if isinstance(found, NotSent):
                    left.append(found)
                else:
                    yield found
    not_sent.write(f"{refused}/{part}.csv", left)


def _read_object(bucket: str, key: str, version: str | None, *, versions: bool) -> Row | NotSent:
    """Return the object or version as S3 has it now, or the reason why it cannot be sent.

    Raises:
        FileError: S3 does not answer.
    """
    named = {"VersionId": version} if version and versions else {}
    with files.errors(f"s3://{bucket}/{key}"):
        try:
            head = client("s3").head_object(Bucket=bucket, Key=key, **named)
        except ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            if status not in _REASONS:
                raise
            return NotSent(bucket, key, version, _REASONS[HTTPStatus(status)])
    if version and version != head.get("VersionId", "null"):
        return NotSent(bucket, key, version, _NONCURRENT)
    return Row(
        bucket,
        key,
        head.get("VersionId"),
        is_latest=True,  # or asked for by its version
        is_delete_marker=False,
        size=head["ContentLength"],
        last_modified=head["LastModified"],
        etag=head["ETag"].strip('"'),
        storage_class=head.get("StorageClass", "STANDARD"),
    )
