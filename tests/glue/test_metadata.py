"""S3 Metadata's inventory table as rows: a real Iceberg table, in a folder."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from glue_jobs import listing
from glue_jobs.listing import metadata
from tests.glue.inventories import Row, rows_of

# https://docs.aws.amazon.com/AmazonS3/latest/userguide/metadata-tables-inventory-schema.html
COLUMNS = """
    bucket string NOT NULL, key string NOT NULL, sequence_number string NOT NULL,
    version_id string, is_delete_marker boolean, size bigint, last_modified_date timestamp_ntz,
    e_tag string, storage_class string, is_multipart boolean, encryption_status string,
    is_bucket_key_enabled boolean, kms_key_arn string, checksum_algorithm string,
    object_tags map<string, string>, user_metadata map<string, string>
"""
UNREAD = 7
"""The number of columns at the end that the jobs do not read."""


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    name = "s3md.`b_my-bucket_org`.inventory"
    spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING iceberg")
    yield name
    spark.sql(f"DROP TABLE {name}")


def fill(spark: SparkSession, table: str, rows: Iterable[Row]) -> None:
    """Append rows as S3 does: the null version has no id, a marker no size."""
    values = [
        (
            row.bucket,
            row.key,
            f"{row.is_latest:d}{nth:015x}",
            None if row.version_id == "null" else row.version_id,
            row.is_delete_marker,
            None if row.is_delete_marker else row.size,
            row.last_modified and row.last_modified.replace(tzinfo=None),
            row.etag,
            row.storage_class,
            *[None] * UNREAD,
        )
        for nth, row in enumerate(rows)
    ]
    spark.createDataFrame(values, spark.table(table).schema).writeTo(table).append()


@pytest.mark.both_sparks
def test_any_content_is_read_unchanged(
    spark: SparkSession, table: str, two_hundred: list[Row]
) -> None:
    rows = [row._replace(bucket="my-bucket.org") for row in two_hundred]
    fill(spark, table, rows)
    read = listing.read(spark, "my-bucket.org", "metadata")

    assert rows_of(read) == Counter(rows)
    assert read.versions


def test_a_table_is_of_the_hour_before_its_newest_snapshot(spark: SparkSession, table: str) -> None:
    before = datetime.now(UTC)
    fill(spark, table, [Row("my-bucket.org", "a/b", "null"), Row("my-bucket.org", "c", "null")])
    read = listing.read(spark, "my-bucket.org", "metadata", prefix="a")
    fill(spark, table, [Row("my-bucket.org", "a/late", "null")])

    assert [row.key for row in rows_of(read)] == ["a/b"]
    assert before - timedelta(seconds=1) <= read.taken + timedelta(hours=1) <= datetime.now(UTC)
    assert read.name.startswith("S3 Metadata table s3md.b_my-bucket_org.inventory of 20")
    again = listing.read(spark, "my-bucket.org", "metadata", prefix="a")
    assert sorted(row.key for row in rows_of(again)) == ["a/b", "a/late"]


@pytest.mark.both_sparks
def test_a_job_that_needs_no_latest_versions_sorts_nothing(spark: SparkSession, table: str) -> None:
    fill(spark, table, [Row("my-bucket.org", "a", "null")])
    objects = listing.read(spark, "my-bucket.org", "metadata").objects
    plan = objects.select("key", "size")._jdf.queryExecution().executedPlan().toString()

    assert "Sort" not in plan
    assert "Window" not in plan
    assert "Exchange" not in plan


def refusal(spark: SparkSession, bucket: str = "my-bucket.org") -> str:
    with pytest.raises(BucketcastError) as error:
        listing.read(spark, bucket, "metadata")
    return str(error.value)


def test_a_missing_catalog_is_refused_with_its_setting(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "CATALOG", "other")

    assert 'Spark knows no catalog other: set metadata = "on" in [pipeline]' in refusal(spark)


@pytest.mark.both_sparks
def test_a_catalog_that_cannot_be_loaded_is_refused(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark.conf.set("spark.sql.catalog.broken", "org.example.Catalog")
    monkeypatch.setattr(metadata, "CATALOG", "broken")

    assert "broken.b_b.inventory: Spark cannot read the table" in refusal(spark, "b")


@pytest.mark.both_sparks
def test_a_missing_table_is_refused(spark: SparkSession) -> None:
    message = refusal(spark, "elsewhere")

    assert message.startswith("s3md.b_elsewhere.inventory: there is no such table; turn on")


def test_an_empty_table_is_refused(spark: SparkSession, table: str) -> None:
    assert spark.table(table).count() == 0
    assert "the table is empty: S3 is still filling it" in refusal(spark)
