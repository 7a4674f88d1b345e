"""Convert responses of HeadObject and GetObjectTagging to fields of an event."""

from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Any, Final

from bucketcast.event.encoded_words import as_sent
from bucketcast.mirror.synthetic import Object

_META: Final = "x-amz-meta-"
_HEADERS: Final = {
    "CacheControl": "cache-control",
    "ContentDisposition": "content-disposition",
    "ContentEncoding": "content-encoding",
    "ContentLanguage": "content-language",
    "ObjectLockLegalHoldStatus": "x-amz-object-lock-legal-hold",
    "ObjectLockMode": "x-amz-object-lock-mode",
    "ReplicationStatus": "X-Amz-Replication-Status",
    "Restore": "x-amz-restore",
    "StorageClass": "x-amz-storage-class",
}
"""MinIO's names of HeadObject's fields."""
_CHUNKED: Final = "aws-chunked"
"""The encoding of a chunked upload, which some clients leave in the object's encodings."""


def event_fields(head: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an event; S3 leaves out the class STANDARD."""
    return {
        "content_type": head.get("ContentType", ""),
        "metadata": {
            _META + name.lower(): as_sent(text) for name, text in head.get("Metadata", {}).items()
        },
        "headers": dict(_headers(head)),
        "storage_class": head.get("StorageClass", "STANDARD"),
        "size": head["ContentLength"],
        "etag": head["ETag"].strip('"'),
    }


def object_of(bucket: str, key: str, head: Mapping[str, Any]) -> tuple[Object, dict[str, Any]]:
    """Return an object as in a listing, and the other fields of its event."""
    fields = event_fields(head)
    own = {each: fields.pop(each) for each in ("size", "etag", "storage_class")}
    modified = round(head["LastModified"].timestamp() * 1_000)
    return Object(bucket, key, head.get("VersionId"), modified=modified, **own), fields


def tags_of(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the tags of a GetObjectTagging response."""
    return [(tag["Key"], tag["Value"]) for tag in answer["TagSet"]]


def _headers(head: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the headers that MinIO lists as metadata, in its spelling."""
    for field, name in _HEADERS.items():
        text = head.get(field, "")
        if field == "ContentEncoding":
            text = ",".join(part for part in text.split(",") if part.strip() != _CHUNKED)
        if text and (field, text) != ("StorageClass", "STANDARD"):
            yield name, text
    if until := head.get("ObjectLockRetainUntilDate"):
        at = f"{until.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{until.microsecond // 1000:03}Z"
        yield "x-amz-object-lock-retain-until-date", at
