"""Incomplete multipart uploads: what S3 stores, and bills, but lists among no objects."""

import heapq
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from glue_jobs.aws import client
from glue_jobs.scanner.usage import Usage

SIZED: Final = 1_000
"""The most uploads whose parts are listed: a request or more for each."""
_PARALLEL: Final = 16


def count(bucket: str, prefix: str) -> tuple[list[Usage], list[str]]:
    """Return the usage of the uploads of keys with this prefix, and notes about it.

    There is none if they cannot be listed, which a note says: a report is worth more than no
    report. Beyond `SIZED` uploads the bytes are of the oldest ones, which a note says too.
    """
    number = 0

    def uploads() -> Iterator[Any]:
        nonlocal number
        pages = client("s3").get_paginator("list_multipart_uploads")
        for page in pages.paginate(Bucket=bucket, Prefix=prefix):
            for upload in page.get("Uploads", ()):
                number += 1
                yield upload

    try:
        oldest = heapq.nsmallest(SIZED, uploads(), key=lambda upload: upload["Initiated"])
        with ThreadPoolExecutor(_PARALLEL) as pool:
            size = sum(pool.map(lambda upload: _size(bucket, upload), oldest))
    except (ClientError, BotoCoreError) as error:
        return [], [f"Incomplete uploads were not counted: {error}"]
    begun = oldest[0]["Initiated"] if oldest else None
    notes = []
    if number > SIZED:
        notes.append(
            f"The bytes of incomplete uploads are those of the {SIZED:,} oldest of {number:,}."
        )
    return [Usage("uploads", "", number, bytes=size, oldest=begun)], notes


def _size(bucket: str, upload: Any) -> int:
    """Return the bytes of an upload's parts, 0 if it has ended meanwhile."""
    s3 = client("s3")
    request = {"Bucket": bucket, "Key": upload["Key"], "UploadId": upload["UploadId"]}
    try:
        pages = s3.get_paginator("list_parts").paginate(**request)
        return sum(part["Size"] for page in pages for part in page.get("Parts", ()))
    except ClientError as error:
        if error.response["Error"]["Code"] == "NoSuchUpload":
            return 0
        raise
