"""Inventory reports are read as S3 wrote them, in all three formats."""

from collections import Counter
from pathlib import Path
from typing import get_args

import pytest
from pyspark.sql import SparkSession

from glue_jobs import listing
from tests.glue.inventories import FIELDS, TAKEN, Format, Row, rows_of, write

FORMATS: tuple[Format, ...] = get_args(Format)
pytestmark = pytest.mark.usefixtures("unfiltered")
every_format = pytest.mark.parametrize("form", FORMATS)
ODD = [
    Row("b", key)
    for key in (
        " ",
        "a b",
        "a+b",
        "a%20b",
        "100%",
        "/lead",
        "trail/",
        "a//b",
        "ä/日本/🪣",
        'q"q,\n',
    )
]


@pytest.mark.both_sparks
@every_format
def test_any_content_is_read_by_the_names_of_its_columns(
    spark: SparkSession, tmp_path: Path, two_hundred: list[Row], form: Format
) -> None:
    names = [field.csv for field in reversed(FIELDS)]
    options = {"format": form, "versions": True, "fields": names, "files": 3}
    url = write(tmp_path, two_hundred, bucket="uploads", **options)
    read = listing.read(spark, "uploads", url)

    assert rows_of(read) == Counter(two_hundred)
    assert read.versions


def test_a_report_has_its_time_name_and_kind(spark: SparkSession, tmp_path: Path) -> None:
    read = listing.read(spark, "b", write(tmp_path, ODD, bucket="b"))

    assert (read.taken, read.versions) == (TAKEN, False)
    assert read.name == "S3 Inventory daily of 2026-01-02 01:00 UTC"


def test_a_plus_in_a_csv_key_is_a_blank(spark: SparkSession, tmp_path: Path) -> None:
    url = write(tmp_path, ODD, bucket="b", format="CSV", plus=True)

    assert rows_of(listing.read(spark, "b", url)) == Counter(ODD)


@pytest.mark.parametrize("form", ["CSV", "Parquet"])
def test_a_field_that_the_report_lacks_is_null(
    spark: SparkSession, tmp_path: Path, form: Format
) -> None:
    url = write(tmp_path, [Row("b", "a")], bucket="b", format=form, fields=["Bucket", "Key"])
    bare = Row("b", "a", size=None, last_modified=None, etag=None, storage_class=None)

    read = listing.read(spark, "b", url)
    assert rows_of(read) == Counter([bare])
    assert read.lacking == {"size", "last_modified", "storage_class"}


def test_the_report_of_an_empty_bucket_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    url = write(tmp_path, [], bucket="b", versions=True)
    read = listing.read(spark, "b", url)

    assert rows_of(read) == Counter()
    assert read.versions


def test_a_prefix_need_not_end_at_a_folder(spark: SparkSession, tmp_path: Path) -> None:
    rows = [Row("b", key) for key in ("a/b", "a-b", "ab", "b/a", "ä")]
    read = listing.read(spark, "b", write(tmp_path, rows, bucket="b", format="CSV"), prefix="a")

    assert sorted(row.key for row in rows_of(read)) == ["a-b", "a/b", "ab"]


@pytest.mark.both_sparks
def test_a_folder_with_special_characters_is_read(spark: SparkSession, tmp_path: Path) -> None:
    odd = tmp_path / "a b%20c+{d}[e]*"
    for form in FORMATS:
        url = write(odd, ODD, bucket="b", format=form, config_id=form)

        assert rows_of(listing.read(spark, "b", url)) == Counter(ODD)


@pytest.mark.both_sparks
@pytest.mark.parametrize("form", ["ORC", "Parquet"])
def test_only_the_requested_columns_are_read(
    spark: SparkSession, tmp_path: Path, form: Format
) -> None:
    url = write(tmp_path, ODD, bucket="b", format=form, versions=True)
    wanted = listing.read(spark, "b", url, prefix="a").objects.select("key", "version_id")
    plan = wanted._jdf.queryExecution().executedPlan().toString()

    assert "ReadSchema: struct<bucket:string,key:string,version_id:string>" in plan
    assert "StringStartsWith(key,a)" in plan
