"""Incomplete multipart uploads, of a real server."""

from datetime import UTC, datetime
from typing import Any, Final

import pytest
from botocore.parsers import ResponseParserError

from glue_jobs.scanner import uploads
from glue_jobs.scanner.usage import Usage
from tests.glue.emulator import Emulator

BUCKET = "with-uploads"
PART = b"x" * 5_000


def test_uploads_are_counted_with_their_parts_and_the_oldest_time(
    aws: Emulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    assert uploads.count(BUCKET, "") == ([Usage("uploads", "", 0, bytes=0)], [])

    for key, parts in (("a/1", 2), ("a/2", 0), ("b/1", 1)):
        upload = s3.create_multipart_upload(Bucket=BUCKET, Key=key)["UploadId"]
        for number in range(1, parts + 1):
            s3.upload_part(Bucket=BUCKET, Key=key, UploadId=upload, PartNumber=number, Body=PART)
    listed = s3.list_multipart_uploads(Bucket=BUCKET)["Uploads"]
    oldest = min(upload["Initiated"] for upload in listed)

    assert uploads.count(BUCKET, "") == (
        [Usage("uploads", "", 3, bytes=3 * len(PART), oldest=oldest)],
        [],
    )
    ((below,), _) = uploads.count(BUCKET, "a/")
    assert (below.objects, below.bytes) == (2, 2 * len(PART))

    monkeypatch.setattr(uploads, "SIZED", 1)
    ((capped,), notes) = uploads.count(BUCKET, "")
    assert (capped.objects, capped.bytes) == (3, 2 * len(PART))
    assert notes == ["The bytes of incomplete uploads are those of the 1 oldest of 3."]


def test_uploads_that_cannot_be_listed_are_a_note(aws: Emulator) -> None:
    assert aws
    found, (note,) = uploads.count("no-such-bucket", "")
    assert found == []
    assert "Incomplete uploads were not counted" in note
    assert "NoSuchBucket" in note


def test_an_upload_that_ended_meanwhile_has_no_bytes(aws: Emulator) -> None:
    aws.client("s3").create_bucket(Bucket="ended-uploads")
    assert uploads._size("ended-uploads", {"Key": "k", "UploadId": "gone"}) == 0


STARTED: Final = datetime(2026, 3, 1, tzinfo=UTC)


class Odd:
    """An S3 with uploads of odd keys, one a page; XML cannot have the second."""

    keys = ("a b+c%", "\x01")

    def list_multipart_uploads(self, **request: str) -> dict[str, Any]:
        assert request["EncodingType"] == "url"
        first = "KeyMarker" not in request
        if not first:
            assert (request["KeyMarker"], request["UploadIdMarker"]) == (self.keys[0], "1")
        key = "a+b%2Bc%25" if first else "%01"
        return {
            "EncodingType": "url",
            "IsTruncated": first,
            "NextKeyMarker": key,
            "NextUploadIdMarker": "1",
            "Uploads": [{"Key": key, "UploadId": "1", "Initiated": STARTED}],
        }

    def get_paginator(self, _: str) -> "Odd":
        return self

    def paginate(self, *, Key: str, **_: str) -> list[dict[str, Any]]:  # noqa: N803 - boto3's
        assert Key in self.keys
        if Key == "\x01":
            raise ResponseParserError
        return [{"Parts": [{"Size": 5}]}]


def test_keys_that_xml_cannot_have_are_counted_without_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(uploads, "client", lambda _: Odd())
    found, (note,) = uploads.count(BUCKET, "")
    assert found == [Usage("uploads", "", 2, bytes=5, oldest=STARTED)]
    assert "1 incomplete uploads" in note
