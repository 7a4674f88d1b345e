"""Reports where they lie: in a bucket."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError
from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from glue_jobs.aws import client
from glue_jobs.listing import inventory
from glue_jobs.listing.inventory.manifest import read_manifest, read_newest
from glue_jobs.listing.schema import LISTING
from tests.glue.emulator import Emulator
from tests.glue.inventories import DESTINATION, TAKEN, Row, sign, write

ROWS = [Row("b", "a"), Row("b", "c")]
HOME = f"s3://{DESTINATION}/reports/b/daily"


@pytest.fixture
def s3(aws: Emulator) -> Iterator[Any]:
    """Make a bucket for reports, and remove it after the test."""
    client = aws.client("s3")
    client.create_bucket(Bucket=DESTINATION)
    yield client
    for entry in client.list_objects_v2(Bucket=DESTINATION).get("Contents", ()):
        client.delete_object(Bucket=DESTINATION, Key=entry["Key"])
    client.delete_bucket(Bucket=DESTINATION)


def upload(s3: Any, folder: Path, **settings: Any) -> str:
    """Upload a report below reports/; return the URL of its manifest."""
    url = write(folder / "reports", ROWS, bucket="b", **settings)
    manifest = Path(url.removeprefix("file://"))
    content = json.loads(manifest.read_text())
    for file in content["files"]:
        file["key"] = Path(f"/{file['key']}").relative_to(folder).as_posix()
    sign(manifest, json.dumps(content))
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            key = path.relative_to(folder).as_posix()
            s3.put_object(Bucket=DESTINATION, Key=key, Body=path.read_bytes())
    return f"s3://{DESTINATION}/{manifest.relative_to(folder).as_posix()}"


def test_a_folder_is_read_as_its_newest_finished_report(s3: Any, tmp_path: Path) -> None:
    """A damaged one is refused, and no older one is taken for it."""
    day = timedelta(days=1)
    older, url = (upload(s3, tmp_path, taken=TAKEN + after) for after in (0 * day, day))
    s3.put_object(Bucket=DESTINATION, Key="reports/b/daily/2026-01-04T01-00Z/manifest.json")
    report = read_newest(f"{HOME}/", "b")

    assert (report.url, report.taken) == (url, TAKEN + day)
    assert report == read_manifest(url, "b") != read_manifest(older, "b")
    assert all(file.startswith(f"{HOME}/data/") for file in report.files)
    checksum = "reports/b/daily/2026-01-04T01-00Z/manifest.checksum"
    s3.put_object(Bucket=DESTINATION, Key=checksum, Body=b"0" * 32)
    with pytest.raises(BucketcastError, match=r"says 0+: it was changed or cut"):
        read_newest(HOME, "b")


def test_the_filter_of_a_configuration_is_the_prefix_of_its_report(
    spark: SparkSession, s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def configuration(**request: str) -> dict[str, Any]:
        assert request == {"Bucket": "b", "Id": "daily"}
        return {"InventoryConfiguration": {"Filter": {"Prefix": "logs/"}}}

    def refuse(**_: str) -> None:
        raise ClientError({"Error": {"Code": "AccessDenied"}}, "GetBucketInventoryConfiguration")

    url, rows = upload(s3, tmp_path), spark.createDataFrame(ROWS, LISTING)
    monkeypatch.setattr(inventory, "rows", lambda *_: rows)  # Spark has no S3 here
    monkeypatch.setattr(client("s3"), "get_bucket_inventory_configuration", configuration)
    filtered = inventory.read(spark, "b", url)
    assert filtered.prefix == "logs/"
    assert "lists only keys that begin with logs/" in filtered.notes[0]

    monkeypatch.setattr(client("s3"), "get_bucket_inventory_configuration", refuse)
    unknown = inventory.read(spark, "b", url)
    assert unknown.prefix is None
    assert "it needs s3:GetInventoryConfiguration on b" in unknown.notes[0]


@pytest.mark.usefixtures("s3")
def test_a_missing_bucket_or_report_is_refused() -> None:
    with pytest.raises(BucketcastError, match="NoSuchKey"):
        read_manifest(f"{HOME}/2026-01-02T01-00Z/manifest.json", "b")
    with pytest.raises(BucketcastError, match="NoSuchBucket"):
        read_newest("s3://no-such-bucket/b/daily", "b")
    with pytest.raises(BucketcastError, match="found no finished report in it; name the folder"):
        read_newest(HOME, "b")
