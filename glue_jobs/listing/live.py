"""A bucket's content as S3 lists it, with all versions, on all cores of the cluster at once.

Documents: ListObjectVersions and GetBucketVersioning of the Amazon S3 API.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from glue_jobs import files
from glue_jobs.aws import client
from glue_jobs.listing.ranges import Page, Range, plan
from glue_jobs.listing.schema import LISTING, Listing, Row

_RANGES_PER_CORE: Final = 8  # a core that finishes early takes another
_PARALLEL_PROBES: Final = 16
_KEYS_PER_PROBE: Final = 100  # S3 answers sooner, and the driver reads the answer sooner
_KEYS_PER_PAGE: Final = 1000  # the most that S3 gives


def read(spark: SparkSession, bucket: str, *, prefix: str = "") -> Listing:
    """List a bucket, with or without versions; each action on the rows lists it again.

    The ranges that the cores list are planned here, with a number of calls that depends on the
    number of cores alone. Objects written during the listing may or may not be among the rows.

    Raises:
        FileError: there is no such bucket, or it may not be listed.
    """
    taken = datetime.now(UTC)
    with files.errors(f"s3://{bucket}/{prefix}"):
        versioned = "Status" in client("s3").get_bucket_versioning(Bucket=bucket)
        with ThreadPoolExecutor(_PARALLEL_PROBES) as pool:
            parts = _RANGES_PER_CORE * spark.sparkContext.defaultParallelism
            probe = partial(read_page, bucket, prefix, keys=_KEYS_PER_PROBE)
            ranges = plan(probe, parts, pool.map)
    objects = list_ranges(spark, bucket, prefix, ranges, versioned=versioned)
    return Listing(objects, versions=True, taken=taken, name=f"the listing of {bucket}/{prefix}")


def read_page(bucket: str, prefix: str, after: str, keys: int) -> Page | None:
    """Return a page of the keys that follow a key; all versions of that key are skipped."""
    request = {"Bucket": bucket, "Prefix": prefix, "KeyMarker": after, "MaxKeys": keys}
    response = client("s3").list_object_versions(**request)
    listed = sorted(entry["Key"] for entry in _entries(response))
    if not listed:
        return None
    return Page(listed[0], listed[len(listed) // 2], listed[-1], response["IsTruncated"])


def list_ranges(
    spark: SparkSession, bucket: str, prefix: str, ranges: list[Range], *, versioned: bool
) -> DataFrame:
    """Return the rows of key ranges, each listed by a task of its own, one page at a time."""

    def rows(parts: Iterable[Range]) -> Iterator[Row]:
        for part in parts:
            yield from list_range(bucket, prefix, part, versioned=versioned)

    tasks = spark.sparkContext.parallelize(ranges, len(ranges))
    return spark.createDataFrame(tasks.mapPartitions(rows), LISTING, verifySchema=False)


def list_range(bucket: str, prefix: str, part: Range, *, versioned: bool) -> Iterator[Row]:
    """Yield the rows of one range.

    Raises:
        FileError: the bucket cannot be listed.
    """
    with files.errors(f"s3://{bucket}/{prefix}"):
        for entries in _pages(bucket, prefix, part.after, versioned=versioned):
            for entry in entries:
                if part.after < entry["Key"] and part.reaches(entry["Key"]):
                    yield _row(bucket, entry, versioned=versioned)
            if not all(part.reaches(entry["Key"]) for entry in entries):
                return


def _pages(bucket: str, prefix: str, after: str, *, versioned: bool) -> Iterator[list[Any]]:
    request = {"Bucket": bucket, "Prefix": prefix, "KeyMarker": after, "MaxKeys": _KEYS_PER_PAGE}
    more = True
    while more:
        response = client("s3").list_object_versions(**request)
        yield _entries(response)
        more = response["IsTruncated"]
        request["KeyMarker"] = response.get("NextKeyMarker")
        if versioned:  # else the key has no version to continue from
            request["VersionIdMarker"] = response.get("NextVersionIdMarker")


def _entries(response: Any) -> list[Any]:
    """Return versions and delete markers, which S3 lists together and boto3 separates."""
    return [*response.get("Versions", ()), *response.get("DeleteMarkers", ())]


def _row(bucket: str, entry: Any, *, versioned: bool) -> Row:
    etag = entry.get("ETag")
    return Row(
        bucket,
        entry["Key"],
        entry["VersionId"] if versioned else None,
        entry["IsLatest"],
        etag is None,
        entry.get("Size", 0),
        entry["LastModified"],
        etag and etag.strip('"'),
        entry.get("StorageClass"),
    )
