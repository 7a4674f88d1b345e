"""The S3 operations of the demo, and the events and rows that they must cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from localstack.layout import ROOT

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PHOTO = ROOT / "examples" / "photo.jpg"
SUFFIX = ".jpg"
PART_BYTES = 5 << 20
"""The smallest part that S3 accepts, but for the last one."""
_COMMENT = b"\xff\xfe"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation; `event` is the name of its event, empty if no rule matches."""

    title: str
    key: str
    event: str
    perform: Callable[[], object]


def operations(s3: S3Client, bucket: str, folder: str) -> Iterator[Operation]:
    """Yield all operations on the photo, in their order; keys begin with `folder`."""
    jpeg = PHOTO.read_bytes()
    photo, copy, large, notes = (
        f"{folder}/{name}" for name in ("photo.jpg", "copy.jpg", "large.jpg", "notes.txt")
    )
    newer = with_comments(jpeg, len(jpeg) + 1)
    big = with_comments(jpeg, PART_BYTES + 1_000_000)

    def put(key: str, body: bytes, type_: str = "image/jpeg") -> Callable[[], object]:
        return lambda: s3.put_object(Bucket=bucket, Key=key, Body=body, ContentType=type_)

    yield Operation(f"put {len(jpeg):,} bytes", photo, "s3:ObjectCreated:Put", put(photo, jpeg))
    yield Operation("overwrite it", photo, "s3:ObjectCreated:Put", put(photo, newer))
    yield Operation(
        "copy it",
        copy,
        "s3:ObjectCreated:Copy",
        lambda: s3.copy_object(
            Bucket=bucket, Key=copy, CopySource={"Bucket": bucket, "Key": photo}
        ),
    )
    text = b"No rule matches this one.\n"
    yield Operation(
        "put a text file, which no rule matches", notes, "", put(notes, text, "text/plain")
    )
    yield Operation(
        f"upload {len(big):,} bytes in two parts",
        large,
        "s3:ObjectCreated:CompleteMultipartUpload",
        lambda: upload_in_parts(s3, bucket, large, big),
    )
    yield Operation(
        "delete it",
        photo,
        "s3:ObjectRemoved:Delete",
        lambda: s3.delete_object(Bucket=bucket, Key=photo),
    )


def final_rows(bucket: str, folder: str) -> set[str]:
    """Return the final rows of namespace tables: `bucket/key` of the JPEGs that still exist."""
    return {f"{bucket}/{folder}/copy{SUFFIX}", f"{bucket}/{folder}/large{SUFFIX}"}


def upload_in_parts(s3: S3Client, bucket: str, key: str, body: bytes) -> None:
    """Upload in parts, as clients do with large files."""
    upload = s3.create_multipart_upload(Bucket=bucket, Key=key, ContentType="image/jpeg")
    parts = []
    for number, start in enumerate(range(0, len(body), PART_BYTES), start=1):
        part = s3.upload_part(
            Bucket=bucket,
            Key=key,
            UploadId=upload["UploadId"],
            PartNumber=number,
            Body=body[start : start + PART_BYTES],
        )
        parts.append({"PartNumber": number, "ETag": part["ETag"]})
    s3.complete_multipart_upload(
        Bucket=bucket,
        Key=key,
        UploadId=upload["UploadId"],
        MultipartUpload={"Parts": parts},  # type: ignore[typeddict-item]  # the stubs want a literal
    )


def with_comments(jpeg: bytes, size: int) -> bytes:
    """Return the picture, padded to at least so many bytes by comments after its first marker."""
    pieces = [jpeg[:2]]
    missing = size - len(jpeg)
    while missing > 0:
        filling = min(missing, 65_533)  # the longest comment, without its length
        pieces.append(_COMMENT + (filling + 2).to_bytes(2) + b" " * filling)
        missing -= len(pieces[-1])
    return b"".join([*pieces, jpeg[2:]])
