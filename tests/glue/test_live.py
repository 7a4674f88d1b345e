"""The distributed listing beside boto3's own, at the local S3.

The local S3 is not S3 in three things. It takes no notice of `encoding-type=url`, so that keys and
markers with characters that XML has not get the answer 500; S3 encodes them and boto3 decodes them,
which the stubbed answer below shows. With a delimiter its pages do not go on after a common prefix;
nothing here uses one. And a version marker does not skip an object that is older than its bucket's
versioning: boto3's own pages repeat it.
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
from glue_jobs.listing.ranges import Range, plan
from glue_jobs.listing.schema import LISTING
from tests.glue.emulator import Emulator

Row = tuple[Any, ...]
XML = st.characters(
    min_codepoint=0x20, exclude_categories=["Cs", "Cn", "Cc"], exclude_characters="\ufffe\uffff"
)
KEYS = st.text(st.one_of(st.sampled_from("aab/+% &<é😀"), XML), min_size=1, max_size=5)
HISTORY = st.lists(st.tuples(KEYS, st.booleans()), max_size=25)
PROPERTY = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def s3(aws: Emulator) -> Any:
    return aws.client("s3")


@pytest.fixture
def make(s3: Any) -> Callable[..., str]:
    """A new bucket with such objects, put (True) or deleted (False) in this order."""

    def made(history: list[tuple[str, bool]], versions: str = "Enabled") -> str:
        name = f"live-{uuid4().hex[:12]}"
        s3.create_bucket(Bucket=name)
        if versions:
            configuration = {"Status": versions}
            s3.put_bucket_versioning(Bucket=name, VersioningConfiguration=configuration)
        for key, last in history:
            if last:
                s3.put_object(Bucket=name, Key=key, Body=key.encode())
            else:
                s3.delete_object(Bucket=name, Key=key)
        return name

    return made


@pytest.fixture
def pages_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let this process ask for pages of so few entries; Spark's workers do not hear of it."""

    def few(entries: int) -> None:
        monkeypatch.setattr(live, "_KEYS_OF_A_PAGE", entries)
        monkeypatch.setattr(live, "_KEYS_OF_A_LOOK", entries)

    return few


def theirs(s3: Any, bucket: str, prefix: str = "") -> list[Row]:
    """All that one answer of S3 has, as rows."""
    answer = s3.list_object_versions(Bucket=bucket, Prefix=prefix)
    assert not answer["IsTruncated"]
    found: list[Row] = []
    for each in [*answer.get("Versions", ()), *answer.get("DeleteMarkers", ())]:
        about = (bucket, each["Key"], each["VersionId"], each["IsLatest"], "ETag" not in each)
        content = each.get("Size", 0), each["LastModified"], each.get("ETag", "").strip('"') or None
        found.append((*about, *content, each.get("StorageClass")))
    return sorted(found, key=repr)


def ours(rows: Any) -> list[Row]:
    return sorted((tuple(row) for row in rows), key=repr)


@example([("0", False), ("0", False), ("\u8000", False), ("00", False)], 1, 3)
@given(HISTORY, st.integers(1, 8), st.integers(1, 3))
@PROPERTY
def test_planned_ranges_hold_each_version_once(
    s3: Any,
    make: Callable[..., str],
    pages_of: Callable[[int], None],
    history: list[tuple[str, bool]],
    parts: int,
    page: int,
) -> None:
    pages_of(page)
    bucket = make(history)
    ranges = plan(lambda after: live.look(bucket, "", after, page), parts)
    assert rows(bucket, ranges) == theirs(s3, bucket)


@given(HISTORY, st.lists(KEYS, max_size=6, unique=True), st.integers(1, 3))
@PROPERTY
def test_any_cuts_do_keys_among_them(
    s3: Any,
    make: Callable[..., str],
    pages_of: Callable[[int], None],
    history: list[tuple[str, bool]],
    more: list[str],
    page: int,
) -> None:
    pages_of(page)
    bucket = make(history)
    cuts = sorted({key for key, _ in history[::2]} | set(more))
    ranges = [Range(*ends) for ends in zip(["", *cuts], [*cuts, None], strict=True)]
    assert rows(bucket, ranges) == theirs(s3, bucket)


def rows(bucket: str, ranges: list[Range]) -> list[Row]:
    return ours(
        row for each in ranges for row in live.listed_range(bucket, "", each, versioned=True)
    )


def test_pages_go_on_where_there_are_no_versions(
    make: Callable[..., str], pages_of: Callable[[int], None]
) -> None:
    pages_of(2)
    bucket = make([(each, True) for each in "abcde"], versions="")
    found = live.listed_range(bucket, "", Range("a"), versioned=False)
    assert [(row[1], row[2]) for row in found] == [(each, None) for each in "bcde"]


def test_a_cluster_lists_all_versions(
    spark: SparkSession, s3: Any, make: Callable[..., str], pages_of: Callable[[int], None]
) -> None:
    pages_of(4)
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
    assert ours(with_zones(listing.objects.collect())) == theirs(s3, bucket)

    below = live.read(spark, bucket, prefix="photos/1")
    assert below.objects.count() == len(theirs(s3, bucket, "photos/1")) > 10


def test_nothing_at_all(spark: SparkSession, make: Callable[..., str]) -> None:
    assert live.read(spark, make([])).objects.collect() == []


def with_zones(found: list[Any]) -> Iterator[Row]:
    """Spark gives the times of this machine's zone, without a word of it."""
    for row in found:
        yield tuple((row.asDict() | {"last_modified": row.last_modified.astimezone(UTC)}).values())


@pytest.mark.parametrize(("versions", "named"), [("", None), ("Suspended", "null")])
def test_the_one_version_that_has_no_name(
    spark: SparkSession, make: Callable[..., str], versions: str, named: str | None
) -> None:
    row = live.read(spark, make([("key", True)], versions)).objects.collect()[0]
    assert (row.key, row.version_id, row.is_latest) == ("key", named, True)
    assert (row.size, row.etag) == (3, "3c6e0b8a9c15224a8228b9a98ca1531d")


@pytest.mark.usefixtures("aws")
def test_a_bucket_that_is_not_there(spark: SparkSession) -> None:
    with pytest.raises(BucketcastError, match="no-such-one cannot be listed: there is no such"):
        live.read(spark, "no-such-one")


@pytest.mark.usefixtures("aws")
def test_a_bucket_that_may_not_be_listed(spark: SparkSession) -> None:
    with Stubber(client("s3")) as stubber:
        stubber.add_client_error("get_bucket_versioning", "AccessDenied", "Access Denied")
        with pytest.raises(BucketcastError, match="grant the job's role s3:ListBucketVersions"):
            live.read(spark, "theirs")


@pytest.mark.usefixtures("aws")
def test_keys_come_encoded_from_s3() -> None:
    entry = {
        "Key": "a%01b%2B+c",
        "VersionId": "1",
        "IsLatest": True,
        "LastModified": datetime.now(UTC),
        "ETag": '"0"',
        "Size": 0,
        "StorageClass": "STANDARD",
    }
    answer = {"EncodingType": "url", "IsTruncated": False, "Versions": [entry]}
    with Stubber(client("s3")) as stubber:
        stubber.add_response("list_object_versions", answer)
        (row,) = live.listed_range("bucket", "", Range(), versioned=True)
    assert row[1] == "a\x01b+ c"


def test_a_marker_skips_its_key_with_all_versions(s3: Any, make: Callable[..., str]) -> None:
    """What the ranges rely on, as S3 has it: the local S3 does the same."""
    bucket = make([("a", True), ("b", True), ("b", False), ("b", True), ("b/c", True)])
    after = s3.list_object_versions(Bucket=bucket, KeyMarker="b")
    assert [each["Key"] for each in after["Versions"]] == ["b/c"]
    assert "DeleteMarkers" not in after
