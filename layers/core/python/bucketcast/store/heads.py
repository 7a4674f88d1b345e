"""What the answer to a HeadObject tells of an object, as fields of an event."""

from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Any, Final

from bucketcast.encoded_words import as_sent

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
"""MinIO's name of what a HeadObject answers."""
_CHUNKED: Final = "aws-chunked"
"""How an upload came, which some clients leave among the encodings of the object."""


def of_head(head: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an event that a HeadObject tells; S3 leaves the class STANDARD out."""
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


def _headers(head: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What MinIO lists among an object's metadata, in its spelling."""
    for answered, name in _HEADERS.items():
        text = head.get(answered, "")
        if answered == "ContentEncoding":
            text = ",".join(part for part in text.split(",") if part.strip() != _CHUNKED)
        if text and (answered, text) != ("StorageClass", "STANDARD"):
            yield name, text
    if until := head.get("ObjectLockRetainUntilDate"):
        at = f"{until.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{until.microsecond // 1000:03}Z"
        yield "x-amz-object-lock-retain-until-date", at
