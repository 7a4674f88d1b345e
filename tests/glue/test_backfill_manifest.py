"""A manifest of S3 Batch Operations: its objects as S3 has them, and what cannot be sent."""

import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from bucketcast.errors import BucketcastError
from bucketcast.settings.pipeline import Backfill
from glue_jobs.backfill import manifest
from glue_jobs.reason import reason
from tests.glue.emulator import Emulator
from tests.glue.jobs import settings_of

BUCKET = "of-a-manifest"
NAME = "these [a-z] objects.csv"
NONCURRENT = "it is not the current version, which alone is sent without --versions all"
GONE = "there is no such object or version (404)"


def settings(folder: Path, text: str, **more: str) -> Backfill:
    (folder / NAME).write_text(text)
    values = {
        "bucket": BUCKET,
        "run": "r",
        "target": "t",
        "queue": "q",
        "manifest": f"file://{folder / NAME}",
    }
    return settings_of(Backfill, values | more)


def read(
    spark: SparkSession, folder: Path, text: str, **more: str
) -> tuple[set[tuple[str, str | None, int]], set[str]]:
    """Return key, version and size of the objects, and the lines of what cannot be sent."""
    refused = folder / f"refused {more}"
    listing = manifest.read(spark, settings(folder, text, **more), f"file://{refused}")
    rows = [(row.key, row.version_id, row.size) for row in listing.objects.collect()]
    found = set(rows)
    assert len(rows) == len(found)
    lines = (path.read_text().splitlines() for path in refused.glob("*.csv"))
    return found, {line.removeprefix(f"{BUCKET},") for part in lines for line in part}


@pytest.mark.both_sparks
def test_each_object_is_read_once_as_it_is_now(
    spark: SparkSession, aws: Emulator, tmp_path: Path
) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    old = s3.put_object(Bucket=BUCKET, Key="a", Body=b"1")["VersionId"]
    new = s3.put_object(Bucket=BUCKET, Key="a", Body=b"22")["VersionId"]
    key = "b c+d,e/ü%.txt"
    only = s3.put_object(Bucket=BUCKET, Key=key, Body=b"333")["VersionId"]
    rows = ["a", "a", f"a,{new}", f"a,{old}", "b+c%2Bd%2Ce/%C3%BC%25.txt", f'"gone",{old}']
    text = "".join(f"{BUCKET},{row}\r\n" for row in rows)

    found, lines = read(spark, tmp_path, text)
    assert found == {("a", new, 2), (key, only, 3)}
    assert lines == {f'a,{old},"{NONCURRENT}"', f"gone,{old},{GONE}"}

    found, lines = read(spark, tmp_path, text, versions="all")
    assert found == {("a", old, 1), ("a", new, 2), (key, only, 3)}
    assert lines == {f"gone,{old},{GONE}"}

    assert read(spark, tmp_path, text, prefix="b c") == ({(key, only, 3)}, set())


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("other,a", "other, wanted of-a-manifest, in other,a"),
        (f"{BUCKET},a,v,x", "x, wanted bucket,key or bucket,key,version"),
        (f"{BUCKET},100%", "100%, wanted a percent-encoded key"),
        (BUCKET, "nothing, wanted a key"),
    ],
)
@pytest.mark.usefixtures("aws")
def test_a_row_of_another_form_ends_the_job(
    spark: SparkSession, tmp_path: Path, row: str, expected: str
) -> None:
    with pytest.raises(Exception, match=r"objects\.csv") as ended:
        read(spark, tmp_path, f"{row}\n")
    assert f"objects.csv: found {expected}" in reason(ended.value)


def test_a_manifest_that_does_not_exist_is_named(spark: SparkSession, tmp_path: Path) -> None:
    missing = settings(tmp_path, "", manifest=(tmp_path / "none.csv").as_uri())
    with pytest.raises(AnalysisException) as ended:
        manifest.read(spark, missing, tmp_path.as_uri())
    assert re.search(r"Path does not exist: file:.*none\.csv", reason(ended.value))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, "its key is the customer's, or there is no such version (400)"),
        (403, "the job's role may not read it (403)"),
        (404, GONE),
        (405, "it is a delete marker (405)"),
    ],
)
def test_an_object_that_s3_refuses_has_its_reason(
    monkeypatch: pytest.MonkeyPatch, status: int, expected: str
) -> None:
    answer(monkeypatch, refusal(status))
    found = manifest._read_object(BUCKET, "a", "v", versions=True)
    assert found == (BUCKET, "a", "v", expected)


def test_an_answer_that_is_no_refusal_ends_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, refusal(503))
    with pytest.raises(BucketcastError, match=r"^s3://of-a-manifest/a: .*503"):
        manifest._read_object(BUCKET, "a", None, versions=False)


def test_an_object_without_versions_is_its_null_version(monkeypatch: pytest.MonkeyPatch) -> None:
    at = datetime(2026, 3, 14, tzinfo=UTC)
    answer(monkeypatch, {"ContentLength": 0, "ETag": '"e"', "LastModified": at})
    found = manifest._read_object(BUCKET, "a", "null", versions=False)
    assert found == (BUCKET, "a", None, True, False, 0, at, "e", "STANDARD")


def refusal(status: int) -> ClientError:
    details = {"Error": {"Code": str(status)}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(details, "HeadObject")  # type: ignore[arg-type]  # a part of a response


def answer(monkeypatch: pytest.MonkeyPatch, head: Any) -> None:
    """Let S3 answer HeadObject with this response or error."""

    def head_object(**_: str) -> Any:
        if isinstance(head, Exception):
            raise head
        return head

    monkeypatch.setattr(manifest, "client", lambda _: SimpleNamespace(head_object=head_object))
