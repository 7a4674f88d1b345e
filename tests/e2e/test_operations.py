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
DELETE = "s3:ObjectRemoved:Delete"


def test_every_operation_arrives_once_in_minios_form(
    system: System, prefix: str, rule: Callable[..., None]
) -> None:
    webhook = system.consumers.webhook
    rule("webhook.primary", suffix=".jpg")
    jpeg = PHOTO.read_bytes()
    photo, copied = (f"{prefix}{name}.jpg" for name in ("photo", "copy"))
    first = system.put("uploads", photo, jpeg)
    second = system.put("uploads", photo, jpeg + b"\n")
    source: Any = {"Bucket": "uploads", "Key": photo}
    system.s3.copy_object(Bucket="uploads", Key=copied, CopySource=source)
    system.put("uploads", f"{prefix}notes.txt")  # no rule asks for it
    system.s3.delete_object(Bucket="uploads", Key=photo)
    system.s3.delete_objects(Bucket="uploads", Delete={"Objects": [{"Key": copied}]})
    system.put("uploads", f"{prefix}last.jpg", b"")
    system.until(
        "the last put at the webhook",
        lambda: posted(webhook, f"uploads/{prefix}"),
        lambda seen: len(seen) >= 6,
    )
    system.until_settled()

    seen = posted(webhook, f"uploads/{prefix}")
    assert Counter((each.name, each.key) for each in seen) == Counter(
        [
            (PUT, f"uploads/{photo}"),
            (PUT, f"uploads/{photo}"),
            (COPY, f"uploads/{copied}"),
            (DELETE, f"uploads/{photo}"),
            (DELETE, f"uploads/{copied}"),
            (PUT, f"uploads/{prefix}last.jpg"),
        ]
    )
    objects = {each.record["s3"]["object"].get("eTag"): each.record for each in seen}
    assert {first, second} <= objects.keys()
    assert objects[first]["s3"]["object"]["size"] == len(jpeg)
    assert objects[second]["s3"]["object"]["size"] == len(jpeg) + 1
    assert len({each.headers["webhook-id"] for each in seen}) == len(seen)
    for each in seen:
        assert each.headers["authorization"] == f"Bearer {TOKEN}"
        assert each.headers["content-type"] == "application/json"
        assert each.headers["user-agent"].startswith("bucketcast/")
