"""A bucket's content, read from S3 Inventory reports.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/storage-inventory.html
"""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from bucketcast.errors import BucketcastError
from glue_jobs.listing.inventory import checks
from glue_jobs.listing.inventory.manifest import Manifest, newest
from glue_jobs.listing.inventory.manifest import read as one
from glue_jobs.listing.inventory.rows import rows
from glue_jobs.listing.schema import Listing


def read(spark: SparkSession, bucket: str, source: str, *, prefix: str = "") -> Listing:
    """Read reports that together cover the bucket, or all of it that the job needs.

    `source` is URLs with commas between them: of a manifest.json, or of the folder of a
    configuration, for its newest finished report. Manifests and data files are checked first, on
    the cluster; then Spark reads the files that the manifests name, and no others. A CSV's rows are
    checked as they are read: a bad one ends the job, and `glue_jobs.reason` reports it.

    Raises:
        BucketcastError: a file is missing, damaged or another bucket's, or the reports do not
            fit together.
    """
    reports = [_report(url.strip(), bucket) for url in source.split(",")]
    _alike(reports)
    for report in reports:
        checks.check(spark, report, bucket)
    parts = [rows(spark, report, bucket, prefix) for report in reports]
    _apart(reports, parts)
    taken = min(report.taken for report in reports)
    names = " and ".join(report.id for report in reports)
    return Listing(
        objects=reduce(DataFrame.unionAll, parts),
        versions=reports[0].versions,
        taken=taken,
        name=f"S3 Inventory {names} of {taken:%Y-%m-%d %H:%M} UTC",
        sizes=all(report.sizes for report in reports),
    )


def _report(url: str, bucket: str) -> Manifest:
    return one(url, bucket) if url.endswith("/manifest.json") else newest(url, bucket)


def _alike(reports: Sequence[Manifest]) -> None:
    """Check that reports have different configurations, and all list versions or none does."""
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


def _apart(reports: Sequence[Manifest], parts: Sequence[DataFrame]) -> None:
    """Check that the reports do not overlap, which would count objects twice.

    The keys below a prefix are a range in the order of their bytes, so reports that share no key
    have ranges that do not touch. A manifest does not say its prefix: the keys are read once more,
    if there are several reports.
    """
    if not reports[1:]:
        return
    marked = [part.select(F.lit(nth).alias("nth"), "key") for nth, part in enumerate(parts)]
    found = reduce(DataFrame.unionAll, marked).groupBy("nth").agg(F.min("key"), F.max("key"))
    ranges = sorted((low, high, nth) for nth, low, high in found.collect())
    for (_, last, nth), (first, _, other) in pairwise(ranges):
        if first <= last:
            raise BucketcastError(
                f"{reports[nth].url} and {reports[other].url} overlap, both cover the key "
                f"{first!r}: name reports whose prefixes exclude each other"
            )
