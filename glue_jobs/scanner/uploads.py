"""Incomplete multipart uploads: what S3 stores, and bills, but lists among no objects."""

import heapq
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final
from urllib.parse import unquote_plus

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from glue_jobs.aws import client
from glue_jobs.scanner.usage import Usage

SIZED: Final = 1_000
"""The most uploads whose parts are listed: a request or more for each."""
_PARALLEL: Final = 16


def count(bucket: str, prefix: str) -> tuple[list[Usage], list[str]]:
    """Return the usage of the uploads of keys with this prefix, and notes about it.

    There is none if they cannot be listed, which a note says: a report is worth more than no
    report. The bytes are of the `SIZED` oldest ones, and of those whose parts can be listed, which
    a note says too.
    """
    number = 0

    def uploads() -> Iterator[Any]:
        nonlocal number
        for upload in _list(bucket, prefix):
            number += 1
            yield upload

    try:
        oldest = heapq.nsmallest(SIZED, uploads(), key=lambda upload: upload["Initiated"])
        with ThreadPoolExecutor(_PARALLEL) as pool:
            sizes = list(pool.map(lambda upload: _size(bucket, upload), oldest))
    except (ClientError, BotoCoreError, ResponseParserError) as error:
        return [], [f"Incomplete uploads were not counted: {error}"]
    begun = oldest[0]["Initiated"] if oldest else None
    notes = []
    if number > SIZED:
        notes.append(
            f"The bytes of incomplete uploads are those of the {SIZED:,} oldest of {number:,}."
        )
    if unknown := sizes.count(None):
        notes.append(
            f"The bytes of {unknown:,} incomplete uploads are not counted: S3 cannot list the "
            "parts of keys with control characters."
        )
    size = sum(filter(None, sizes))
    return [Usage("uploads", "", number, bytes=size, oldest=begun)], notes


def _list(bucket: str, prefix: str) -> Iterator[Any]:
    """Yield the uploads; unlike listings of objects, boto3 does not ask for encoded keys."""
    marker: dict[str, str] = {}
    while True:
        page = client("s3").list_multipart_uploads(
            Bucket=bucket, Prefix=prefix, EncodingType="url", **marker
        )
        decode = unquote_plus if page.get("EncodingType") == "url" else str
        for upload in page.get("Uploads", ()):
            yield {**upload, "Key": decode(upload["Key"])}
        if not page.get("IsTruncated"):
            return
        marker = {
            "KeyMarker": decode(page["NextKeyMarker"]),
            "UploadIdMarker": page["NextUploadIdMarker"],
        }


def _size(bucket: str, upload: Any) -> int | None:
    """Return the bytes of an upload's parts: 0 if it has ended meanwhile, None if unreadable."""
    request = {"Bucket": bucket, "Key": upload["Key"], "UploadId": upload["UploadId"]}
    size = 0
    try:
        for page in client("s3").get_paginator("list_parts").paginate(**request):
            size += sum(part["Size"] for part in page.get("Parts", ()))
    except ResponseParserError:  # the answer repeats the key, which XML 1.0 may not contain
        return None
    except ClientError as error:
        if error.response["Error"]["Code"] == "NoSuchUpload":
            return 0
        raise
    return size
