"""What S3 does to objects, and what its users see of it at the other end."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.e2e.arrivals import posted
from tests.e2e.deployment import ROOT
from tests.e2e.system import System
from tests.servers.webhook import TOKEN

PHOTO = ROOT / "examples" / "photo.jpg"
PUT, COPY = "s3:ObjectCreated:Put", "s3:ObjectCreated:Copy"
IN_PARTS, DELETE = "s3:ObjectCreated:CompleteMultipartUpload", "s3:ObjectRemoved:Delete"
PART_BYTES = 5 * 1024 * 1024


def upload_in_parts(system: System, key: str, body: bytes) -> str:
    """Return the ETag."""
    where: Any = {"Bucket": "uploads", "Key": key}
    where["UploadId"] = system.s3.create_multipart_upload(**where)["UploadId"]
    parts: list[Any] = []
    for number, start in enumerate(range(0, len(body), PART_BYTES), 1):
        part = body[start : start + PART_BYTES]
        etag = system.s3.upload_part(**where, PartNumber=number, Body=part)["ETag"]
        parts.append({"PartNumber": number, "ETag": etag})
    assert len(parts) > 1
    answer = system.s3.complete_multipart_upload(**where, MultipartUpload={"Parts": parts})
    return answer["ETag"].strip('"')


def test_every_operation_arrives_once_in_minios_form(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    webhook = system.consumers.webhook
    rule("webhook.primary", suffix=".jpg")
    jpeg = PHOTO.read_bytes()
    photo, copied, large = (f"{prefix}{name}.jpg" for name in ("photo", "copy", "large"))
    first = system.put("uploads", photo, jpeg)
    second = system.put("uploads", photo, jpeg + b"\n")
    source: Any = {"Bucket": "uploads", "Key": photo}
    system.s3.copy_object(Bucket="uploads", Key=copied, CopySource=source)
    parts = upload_in_parts(system, large, jpeg * (PART_BYTES // len(jpeg) + 2))
    system.put("uploads", f"{prefix}notes.txt")  # no rule asks for it
    system.s3.delete_object(Bucket="uploads", Key=photo)
    both: Any = {"Objects": [{"Key": copied}, {"Key": large}]}
    system.s3.delete_objects(Bucket="uploads", Delete=both)
    system.put("uploads", f"{prefix}last.jpg", b"")
    system.until(
        "the last put at the webhook",
        lambda: posted(webhook, f"uploads/{prefix}"),
        lambda seen: len(seen) >= 8,
    )
    system.until_settled()

    seen = posted(webhook, f"uploads/{prefix}")
    assert Counter((each.name, each.key) for each in seen) == Counter(
        [
            (PUT, f"uploads/{photo}"),
            (PUT, f"uploads/{photo}"),
            (COPY, f"uploads/{copied}"),
            (IN_PARTS, f"uploads/{large}"),
            (DELETE, f"uploads/{photo}"),
            (DELETE, f"uploads/{copied}"),
            (DELETE, f"uploads/{large}"),
            (PUT, f"uploads/{prefix}last.jpg"),
        ]
    )
    objects = {each.record["s3"]["object"].get("eTag"): each.record for each in seen}
    assert {first, second, parts} <= objects.keys()
    assert objects[first]["s3"]["object"]["size"] == len(jpeg)
    assert objects[second]["s3"]["object"]["size"] == len(jpeg) + 1
    assert len({each.headers["webhook-id"] for each in seen}) == len(seen)
    for each in seen:
        assert each.headers["authorization"] == f"Bearer {TOKEN}"
        assert each.headers["content-type"] == "application/json"
        assert each.headers["user-agent"].startswith("bucketcast/")
