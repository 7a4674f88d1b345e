"""The distributed listing equals boto3's own, with the local S3.

The local S3 differs from S3 in three ways. It ignores `encoding-type=url`, so keys and markers with
characters that XML does not have get the response 500; S3 encodes them and boto3 decodes them. With
a delimiter its pages end after a common prefix; no test here uses one. And a version marker does
not skip an object that is older than its bucket's versioning: boto3's own pages repeat it.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from botocore.stub import Stubber
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from glue_jobs.aws import client
from glue_jobs.listing import live
from glue_jobs.listing.ranges import Range
from glue_jobs.listing.schema import LISTING
from tests.glue.emulator import Emulator

Row = tuple[Any, ...]
XML = st.characters(
    min_codepoint=0x20, exclude_categories=["Cs", "Cn", "Cc"], exclude_characters="\ufffe\uffff"
)
KEYS = st.text(st.one_of(st.sampled_from("aab/+% &<é😀"), XML), min_size=1, max_size=5)
HISTORY = st.lists(st.tuples(KEYS, st.booleans()), max_size=25)
PROPERTY = settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def s3(aws: Emulator) -> Any:
    return aws.client("s3")


@pytest.fixture
def make(s3: Any) -> Callable[..., str]:
    """Make a new bucket whose objects are put (True) or deleted (False) in this order."""

    def make_bucket(history: list[tuple[str, bool]], versions: str = "Enabled") -> str:
        name = f"live-{uuid4().hex[:12]}"
        s3.create_bucket(Bucket=name)
        if versions:
            configuration = {"Status": versions}
            s3.put_bucket_versioning(Bucket=name, VersioningConfiguration=configuration)
        for key, put in history:
            if put:
                s3.put_object(Bucket=name, Key=key, Body=key.encode())
            else:
                s3.delete_object(Bucket=name, Key=key)
        return name

    return make_bucket


@pytest.fixture
def set_page_size(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Set the size of this process's pages; Spark's workers keep theirs."""

    def set_entries(entries: int) -> None:
        monkeypatch.setattr(live, "_KEYS_PER_PAGE", entries)
        monkeypatch.setattr(live, "_KEYS_PER_PROBE", entries)

    return set_entries


def listed_by_s3(s3: Any, bucket: str, prefix: str = "") -> list[Row]:
    """Return all entries of one response of S3, as sorted rows."""
    response = s3.list_object_versions(Bucket=bucket, Prefix=prefix)
    assert not response["IsTruncated"]
    rows: list[Row] = []
    for entry in [*response.get("Versions", ()), *response.get("DeleteMarkers", ())]:
        version = (bucket, entry["Key"], entry["VersionId"], entry["IsLatest"], "ETag" not in entry)
        etag = entry.get("ETag", "").strip('"') or None
        content = entry.get("Size", 0), entry["LastModified"], etag, entry.get("StorageClass")
        rows.append((*version, *content))
    return sorted(rows, key=repr)


def in_order(rows: Any) -> list[Row]:
    return sorted((tuple(row) for row in rows), key=repr)


@example([("0", False), ("0", False), ("\u8000", False), ("00", False)], [], 3)
@given(HISTORY, st.lists(KEYS, max_size=6, unique=True), st.integers(1, 3))
@PROPERTY
def test_ranges_cut_anywhere_hold_each_version_once(
    s3: Any,
    make: Callable[..., str],
    set_page_size: Callable[[int], None],
    history: list[tuple[str, bool]],
    more: list[str],
    page: int,
) -> None:
    set_page_size(page)
    bucket = make(history)
    cuts = sorted({key for key, _ in history[::2]} | set(more))
    ranges = [Range(*ends) for ends in zip(["", *cuts], [*cuts, None], strict=True)]
    assert rows(bucket, ranges) == listed_by_s3(s3, bucket)


def rows(bucket: str, ranges: list[Range]) -> list[Row]:
    return in_order(
        row for part in ranges for row in live.list_range(bucket, "", part, versioned=True)
    )


def test_pages_continue_in_a_bucket_without_versions(
    make: Callable[..., str], set_page_size: Callable[[int], None]
) -> None:
    set_page_size(2)
    bucket = make([(key, True) for key in "abcde"], versions="")
    rows = live.list_range(bucket, "", Range("a"), versioned=False)
    assert [(row.key, row.version_id) for row in rows] == [(key, None) for key in "bcde"]


@pytest.mark.both_sparks
def test_a_cluster_lists_all_versions(
    spark: SparkSession, s3: Any, make: Callable[..., str], set_page_size: Callable[[int], None]
) -> None:
    set_page_size(4)
    bucket = make(
        [
            *((f"photos/{nth:02d}", True) for nth in range(40)),
            *((f"photos/{nth:02d}", True) for nth in range(0, 40, 3)),
            *((f"photos/{nth:02d}", False) for nth in range(0, 40, 5)),
            *[("photos", True), ("é/ü+ %41", True), ("zebra", False)],
        ]
    )
    before = datetime.now(UTC)
    listing = live.read(spark, bucket)
    assert before <= listing.taken <= datetime.now(UTC)
    assert listing.versions
    assert listing.name == f"the listing of {bucket}/"
    assert listing.objects.schema == LISTING
    assert listing.objects.rdd.getNumPartitions() > 1
    assert in_order(with_zones(listing.objects.collect())) == listed_by_s3(s3, bucket)

    below = live.read(spark, bucket, prefix="photos/1")
    assert below.objects.count() == len(listed_by_s3(s3, bucket, "photos/1")) > 10


def with_zones(rows: list[Any]) -> Iterator[Row]:
    """Add the zone to Spark's times, which are of this machine's zone and do not have it."""
    for row in rows:
        yield tuple((row.asDict() | {"last_modified": row.last_modified.astimezone(UTC)}).values())


@pytest.mark.parametrize(("versions", "named"), [("", None), ("Suspended", "null")])
def test_a_version_without_an_id_is_null_or_none(
    spark: SparkSession, make: Callable[..., str], versions: str, named: str | None
) -> None:
    row = live.read(spark, make([("key", True)], versions)).objects.collect()[0]
    assert (row.key, row.version_id, row.is_latest) == ("key", named, True)
    assert (row.size, row.etag) == (3, "3c6e0b8a9c15224a8228b9a98ca1531d")


@pytest.mark.usefixtures("aws")
def test_a_bucket_that_may_not_be_listed_names_the_option(spark: SparkSession) -> None:
    with Stubber(client("s3")) as stubber:
        stubber.add_client_error("get_bucket_versioning", "AccessDenied", "Access Denied")
        with pytest.raises(BucketcastError, match=r"^s3://theirs/: .*Versioning.*`buckets` in"):
            live.read(spark, "theirs")
