"""A bucket's content, read from S3 Inventory reports.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/storage-inventory.html
"""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise

from botocore.exceptions import ClientError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from bucketcast.errors import BucketcastError
from glue_jobs.aws import client
from glue_jobs.listing.inventory.checks import check_files
from glue_jobs.listing.inventory.manifest import Manifest, read_manifest, read_newest
from glue_jobs.listing.inventory.rows import rows
from glue_jobs.listing.schema import Listing


def read(spark: SparkSession, bucket: str, source: str, *, prefix: str = "") -> Listing:
    """Read reports that together cover the bucket, or all of it that the job needs.

    `source` is URLs separated by commas: of a manifest.json, or of the folder of a configuration,
    for its newest finished report. Manifests and data files are checked first, on the cluster; then
    Spark reads the files that the manifests name, and no others. Rows are checked as they are
    read: a bad one ends the job, and `glue_jobs.reason` reports it.

    Raises:
        BucketcastError: a file is missing, damaged or another bucket's, or the reports do not
            fit together.
    """
    reports = [_read_report(url.strip(), bucket) for url in source.split(",")]
    _check_alike(reports)
    for report in reports:
        check_files(spark, report)
    parts = [rows(spark, report, bucket, prefix) for report in reports]
    _check_apart(reports, parts)
    taken = min(report.taken for report in reports)
    names = " and ".join(report.id for report in reports)
    filters = [_read_filter(report, bucket) for report in reports]
    prefixes = [filter_ for filter_, _ in filters]
    return Listing(
        objects=reduce(DataFrame.unionAll, parts),
        versions=reports[0].versions,
        taken=taken,
        name=f"S3 Inventory {names} of {taken:%Y-%m-%d %H:%M} UTC",
        lacking=frozenset[str]().union(*(report.lacking for report in reports)),
        prefixes=() if None in prefixes else tuple(filter_ or "" for filter_ in prefixes),
        notes=tuple(note for _, note in filters if note),
    )


def _read_report(url: str, bucket: str) -> Manifest:
    return (read_manifest if url.endswith("/manifest.json") else read_newest)(url, bucket)


def _read_filter(report: Manifest, bucket: str) -> tuple[str | None, str]:
    """Return the prefix of a report's keys, which no manifest has, and a note about it.

    None is not known: the configuration was removed since, or may not be read.
    """
    if not report.url.startswith("s3:"):
        return "", ""
    try:
        response = client("s3").get_bucket_inventory_configuration(Bucket=bucket, Id=report.id)
    except ClientError as error:
        return None, (
            f"Which keys {report.id} lists is not known, as its configuration cannot be read, so "
            f"nothing counts as gone: {error}; it needs s3:GetInventoryConfiguration on {bucket}"
        )
    prefix = response.get("InventoryConfiguration", {}).get("Filter", {}).get("Prefix", "")
    return prefix, f"{report.id} lists only keys that begin with {prefix}" if prefix else ""


def _check_alike(reports: Sequence[Manifest]) -> None:
    """Check that the configurations differ, and that all or none of them list versions."""
    for nth, report in enumerate(reports):
        for other in reports[:nth]:
            if report.id == other.id:
                raise BucketcastError(
                    f"{report.url} and {other.url} are both of the configuration {report.id}: name "
                    "one of them"
                )
            if report.versions != other.versions:
                raise BucketcastError(
                    f"{report.url} and {other.url}: one has all versions, the other the current "
                    "ones; name reports that have the same"
                )


def _check_apart(reports: Sequence[Manifest], parts: Sequence[DataFrame]) -> None:
    """Check that the reports do not overlap, which would count objects twice.

    The keys below a prefix are a range in the order of their bytes, so reports that share no key
    have ranges that do not touch. A manifest does not say its prefix: the keys are read once more,
    if there are several reports.
    """
    if not reports[1:]:
        return
    marked = [part.select(sql.lit(nth).alias("nth"), "key") for nth, part in enumerate(parts)]
    bounds = reduce(DataFrame.unionAll, marked).groupBy("nth").agg(sql.min("key"), sql.max("key"))
    ranges = sorted((low, high, nth) for nth, low, high in bounds.collect())
    for (_, last, nth), (first, _, other) in pairwise(ranges):
        if first <= last:
            raise BucketcastError(
                f"{reports[nth].url} and {reports[other].url} overlap, both cover the key "
                f"{first!r}: name reports whose prefixes exclude each other"
            )
