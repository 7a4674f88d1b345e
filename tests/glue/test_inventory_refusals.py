"""Reports that must not be used: the message has the file, the error and a hint."""

import gzip
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from glue_jobs import listing
from glue_jobs.listing.inventory.manifest import read_manifest
from glue_jobs.reason import reason
from tests.glue.inventories import Format, Row, sign, write

pytestmark = pytest.mark.usefixtures("unfiltered")
Change = Callable[[dict[str, Any]], object]
ROWS = [Row("b", "a"), Row("b", "c")]


def refusal(spark: SparkSession, source: str, bucket: str = "b") -> str:
    """Return the message that a user reads."""
    with pytest.raises(BucketcastError) as error:
        listing.read(spark, bucket, source)
    return str(error.value)


def manifest_of(url: str) -> Path:
    return Path(url.removeprefix("file://"))


def change_manifest(url: str, change: Change) -> str:
    """Change a report's manifest, with a valid checksum; return its URL."""
    path = manifest_of(url)
    content = json.loads(path.read_text())
    change(content)
    return sign(path, json.dumps(content))


def data_of(url: str) -> list[Path]:
    return sorted(manifest_of(url).parent.parent.glob("data/*"))


def test_an_invalid_manifest_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    url = write(tmp_path, ROWS, bucket="b")
    sign(manifest_of(url), "<Error/>")
    message = refusal(spark, url)

    assert message.startswith(f"{url}: ")
    assert "wanted is the manifest.json of an S3 Inventory report" in message


def test_a_manifest_cut_after_its_checksum_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    url = write(tmp_path, ROWS, bucket="b")
    manifest_of(url).write_text(manifest_of(url).read_text()[:-10])

    assert re.search(rf"{url}: its MD5 is \w+, manifest.checksum says \w+", refusal(spark, url))


def test_a_folder_without_a_finished_report_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    url = write(tmp_path, ROWS, bucket="b")
    manifest_of(url).with_name("manifest.checksum").unlink()
    message = refusal(spark, f"{tmp_path.as_uri()}/b/daily/")

    assert "found no finished report in it; name the folder" in message
    assert "SOURCE-BUCKET/CONFIGURATION-ID" in refusal(spark, tmp_path.as_uri())


def test_a_report_of_another_bucket_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    message = refusal(spark, write(tmp_path, ROWS, bucket="other"))

    assert "found a report of bucket other, wanted b" in message


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda m: m.update(version="2030-01-01"), "'2030-01-01' - at `$.version`"),
        (lambda m: m.update(creationTimestamp="now"), "at `$.creationTimestamp`"),
        (lambda m: m["files"][0].pop("key"), "at `$.files[0]`"),
        (lambda m: m["files"][0].update(key="b/weekly/data/x"), "found the data file 'b/weekly"),
        (lambda m: m["files"][0].update(key="b/daily/data/../x"), "found the data file"),
        (lambda m: m["files"].append(m["files"][0]), "b/daily/data/; take a report"),
        (lambda m: m.update(fileSchema=""), "fileSchema is '', without Bucket, Key"),
        (lambda m: m.update(fileSchema="Bucket, Size"), "'Bucket, Size', without Key"),
        (lambda m: m.update(fileSchema="Key, Size"), "'Key, Size', without Bucket"),
    ],
)
def test_an_invalid_field_is_refused(
    spark: SparkSession, tmp_path: Path, change: Change, expected: str
) -> None:
    url = change_manifest(write(tmp_path, ROWS, bucket="b", format="CSV"), change)
    message = refusal(spark, url)

    assert message.startswith(f"{url}: ")
    assert expected in message


def test_a_manifest_of_many_files_is_read_in_the_time_of_its_length(tmp_path: Path) -> None:
    """A report has thousands: each comparison with all others would take ten times as long."""
    url = write(tmp_path, ROWS, bucket="b")
    file = json.loads(manifest_of(url).read_text())["files"][0]["key"]
    files = [{"key": f"{file}{nth}"} for nth in range(20_000)]
    change_manifest(url, lambda manifest: manifest.update(files=files))
    began = time.process_time()
    assert len(read_manifest(url, "b").files) == 20_000
    assert time.process_time() - began < 1


@pytest.mark.both_sparks
@pytest.mark.parametrize("form", get_args(Format))
def test_a_missing_or_cut_data_file_ends_the_job(
    spark: SparkSession, tmp_path: Path, form: Format
) -> None:
    def refuse(damage: Callable[[Path], object]) -> str:
        url = write(tmp_path, ROWS, bucket="b", format=form)
        named = manifest_of(url).read_text()
        file = next(path for path in data_of(url) if path.name in named)
        damage(file)
        with pytest.raises(Exception, match=r".") as error:
            listing.read(spark, "b", url).objects.collect()
        return reason(error.value).replace(file.name, "FILE")

    assert re.search(r"FILE does not exist|does not exist: .*FILE", refuse(Path.unlink))
    assert refuse(lambda file: file.write_bytes(file.read_bytes()[:-1]))


def rewrite(url: str, rows: str | None = None, **columns: Any) -> str:
    """Replace the first data file of a report; return its URL."""
    file = data_of(url)[0]
    if rows is None:
        parquet.write_table(pa.table(columns), file)
    else:
        file.write_bytes(gzip.compress(rows.encode()))
    return url


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ('"b","x"', 'found "b","x", wanted 5 columns, in the row of x'),
        ('"b","x","1","true","","1"', "wanted 5 columns, in the row of x"),
        ('"other","x","1","true",""', "found other, wanted bucket b, in the row of x"),
        pytest.param(
            '"b","x","many","true",""',
            "found many, wanted bigint in Size, in the row of x",
            marks=pytest.mark.both_sparks,
        ),
        ('"b","x","1.5","true",""', "found 1.5, wanted bigint in Size, in the row of x"),
        ('"b","x","1","perhaps",""', "found perhaps, wanted boolean in IsLatest, in the row of x"),
        ('"b","x","1","true","once"', "found once, wanted timestamp in LastModifiedDate"),
        ('"b","%zz","1","true",""', "found %zz, wanted a percent-encoded key"),
    ],
)
def test_a_bad_value_in_a_later_row_ends_the_job(
    spark: SparkSession, tmp_path: Path, row: str, expected: str
) -> None:
    fields = ["Bucket", "Key", "Size", "IsLatest", "LastModifiedDate"]
    url = write(tmp_path, ROWS, bucket="b", format="CSV", fields=fields, versions=True)
    url = rewrite(url, f'"b","a","1","true",""\n{row}\n')
    objects = listing.read(spark, "b", url).objects

    with pytest.raises(Exception, match="/b/daily/data/") as error:
        objects.collect()
    assert reason(error.value).startswith(data_of(url)[0].as_uri())
    assert expected in reason(error.value)
    assert "SQLSTATE" not in reason(error.value)


def test_a_parquet_file_without_a_named_column_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    url = write(tmp_path, ROWS, bucket="b", files=1)
    message = refusal(spark, rewrite(url, bucket=["b"], size=[1]))

    assert "fileSchema names e_tag, key, last_modified_date, storage_class, but" in message


@pytest.mark.both_sparks
def test_a_parquet_row_of_another_bucket_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    rows = [Row("b", "a"), Row("c", "a"), Row("b", "b")]
    for form in ("ORC", "Parquet"):
        objects = listing.read(spark, "b", write(tmp_path, rows, bucket="b", format=form)).objects

        with pytest.raises(Exception, match="found c, wanted bucket b, in the row of a"):
            objects.select("key").collect()


@pytest.mark.both_sparks
def test_a_file_without_keys_ends_the_job(spark: SparkSession, tmp_path: Path) -> None:
    """Spark takes the columns from one file, and makes them null where other files lack them."""
    url = write(tmp_path, ROWS, bucket="b", fields=["Bucket", "Key"])
    url = rewrite(url, bucket=["b"], key=pa.array([None], pa.string()))
    for prefix in ("", "a"):
        objects = listing.read(spark, "b", url, prefix=prefix).objects

        with pytest.raises(Exception, match="found no key, wanted one"):
            objects.select("key").collect()
