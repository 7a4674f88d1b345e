"""A bucket's content as S3 lists it, with all versions, on all cores of the cluster at once.

Documents: ListObjectVersions and GetBucketVersioning of the Amazon S3 API.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from pyspark.sql import DataFrame, SparkSession

from bucketcast.errors import BucketcastError
from glue_jobs.aws import client
from glue_jobs.listing.ranges import Page, Range, plan
from glue_jobs.listing.schema import LISTING, Listing

_RANGES_OF_A_CORE: Final = 8  # a core that is done early takes another
_LOOKS_AT_ONCE: Final = 16
_KEYS_OF_A_LOOK: Final = 100  # S3 answers sooner, and the driver reads the answer sooner
_KEYS_OF_A_PAGE: Final = 1000  # the most that S3 gives
_HINTS: Final = {
    "NoSuchBucket": "there is no such bucket",
    "AccessDenied": "grant the job's role s3:ListBucketVersions and s3:GetBucketVersioning on it",
}


def read(spark: SparkSession, bucket: str, *, prefix: str = "") -> Listing:
    """List a bucket, whether or not it has versions; each action on the rows lists it anew.

    The ranges that the cores list are planned here, with a number of calls that depends on the
    number of cores alone. What is written meanwhile may be among the rows or not.

    Raises:
        BucketcastError: there is no such bucket, or it may not be listed.
    """
    taken = datetime.now(UTC)
    with _explained(bucket):
        versioned = "Status" in client("s3").get_bucket_versioning(Bucket=bucket)
        with ThreadPoolExecutor(_LOOKS_AT_ONCE) as pool:
            parts = _RANGES_OF_A_CORE * spark.sparkContext.defaultParallelism
            few = partial(look, bucket, prefix, keys=_KEYS_OF_A_LOOK)
            ranges = plan(few, parts, pool.map)
    objects = listed(spark, bucket, prefix, ranges, versioned=versioned)
    return Listing(objects, versions=True, taken=taken, name=f"the listing of {bucket}/{prefix}")


def look(bucket: str, prefix: str, after: str, keys: int) -> Page | None:
    """Return a page of the keys after one, all of whose versions are skipped."""
    where = {"Bucket": bucket, "Prefix": prefix, "KeyMarker": after, "MaxKeys": keys}
    answer = client("s3").list_object_versions(**where)
    found = sorted(each["Key"] for each in _entries(answer))
    if not found:
        return None
    return Page(found[0], found[len(found) // 2], found[-1], answer["IsTruncated"])


def listed(
    spark: SparkSession, bucket: str, prefix: str, ranges: list[Range], *, versioned: bool
) -> DataFrame:
    """Return the rows of key ranges, each listed by a task of its own, one page at a time."""

    def rows(parts: Iterable[Range]) -> Iterator[tuple[Any, ...]]:
        for part in parts:
            yield from listed_range(bucket, prefix, part, versioned=versioned)

    tasks = spark.sparkContext.parallelize(ranges, len(ranges))
    return spark.createDataFrame(tasks.mapPartitions(rows), LISTING, verifySchema=False)


def listed_range(
    bucket: str, prefix: str, part: Range, *, versioned: bool
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of one range, in `LISTING`'s order of columns.

    Raises:
        BucketcastError: S3 refused.
    """
    with _explained(bucket):
        for entries in _pages(bucket, prefix, part.after, versioned=versioned):
            for entry in entries:
                if part.after < entry["Key"] and part.reaches(entry["Key"]):
                    yield _row(bucket, entry, versioned=versioned)
            if not all(part.reaches(entry["Key"]) for entry in entries):
                return


def _pages(bucket: str, prefix: str, after: str, *, versioned: bool) -> Iterator[list[Any]]:
    where = {"Bucket": bucket, "Prefix": prefix, "KeyMarker": after, "MaxKeys": _KEYS_OF_A_PAGE}
    more = True
    while more:
        answer = client("s3").list_object_versions(**where)
        yield _entries(answer)
        more = answer["IsTruncated"]
        where["KeyMarker"] = answer.get("NextKeyMarker")
        if versioned:  # else the key has no version to go on from
            where["VersionIdMarker"] = answer.get("NextVersionIdMarker")


def _entries(answer: Any) -> list[Any]:
    """Return versions and delete markers, which S3 lists together and boto3 separates."""
    return [*answer.get("Versions", ()), *answer.get("DeleteMarkers", ())]


def _row(bucket: str, entry: Any, *, versioned: bool) -> tuple[Any, ...]:
    etag = entry.get("ETag")
    return (
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


@contextmanager
def _explained(bucket: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        about: Any = error.response.get("Error", {})
        code = about.get("Code", "")
        text = _HINTS.get(code) or about.get("Message") or str(error)
        message = f"the bucket {bucket} cannot be listed: {text} ({code})"
        raise BucketcastError(message) from error
    except BotoCoreError as error:
        message = f"the bucket {bucket} cannot be listed: S3 cannot be reached: {error}"
        raise BucketcastError(message) from error
