"""The notification API through the gateway: the guide's own lines, and the largest document."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.arrivals import posted
from tests.e2e.mc import Mc
from tests.e2e.system import System
from tests.e2e.test_gateway import call

HOOK = "arn:minio:sqs::primary:webhook"


@pytest.fixture(scope="module")
def mc(system: System, servers_folder: Path) -> Mc:
    return Mc(system, servers_folder / "mc-notification")


@pytest.fixture
def bucket(system: System, prefix: str) -> str:
    """Create a bucket that is not attached."""
    name = prefix.strip("/")[-40:].strip("-")
    system.s3.create_bucket(Bucket=name)
    return name


def put(system: System, bucket: str, text: str) -> tuple[int, bytes]:
    status, _, answer = call(system, "PUT", f"/{bucket}?notification", text.encode())
    return status, answer


def get(system: System, bucket: str) -> bytes:
    return call(system, "GET", f"/{bucket}?notification")[2]


def test_commands_of_the_guide_work(system: System, mc: Mc, bucket: str, tmp_path: Path) -> None:
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(b"a picture")
    assert "Added `local` successfully." in mc.alias
    remote = f"local/{bucket}"
    assert mc("event", "add", remote, HOOK, "--suffix", ".jpg") == f"Successfully added {HOOK}\n"
    listed = mc("event", "list", remote)
    assert listed.split() == [
        HOOK,
        "s3:ObjectCreated:*,s3:ObjectRemoved:*,s3:ObjectAccessed:*",
        "Filter:",
        'suffix=".jpg"',
    ]
    mc("cp", str(photo), remote)
    system.until(
        "the copied file at the webhook",
        lambda: [each.key for each in posted(system.consumers.webhook, f"{bucket}/")],
        lambda seen: seen == [f"{bucket}/photo.jpg"],
    )
    again = mc.run("event", "add", remote, HOOK, "--suffix", ".jpg")
    assert again.code != 0
    assert "overlapping suffixes" in again.out + again.err
    mc("event", "add", "--ignore-existing", remote, HOOK, "--suffix", ".jpg")
    removed = mc("event", "remove", remote, HOOK, "--suffix", ".jpg")
    assert removed == f"Successfully removed {HOOK}\n"
    assert mc("event", "list", remote) == ""


def test_ten_thousand_rules_in_one_document(system: System, bucket: str) -> None:
    queues = "".join(
        f"<QueueConfiguration><Event>s3:ObjectCreated:*</Event><Queue>{HOOK}</Queue><Filter><S3Key>"
        f"<FilterRule><Name>prefix</Name><Value>user-{number:05}/</Value></FilterRule>"
        "</S3Key></Filter></QueueConfiguration>"
        for number in range(10_000)
    )
    text = f"<NotificationConfiguration>{queues}</NotificationConfiguration>"
    others = 0
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(put, system, bucket, text)
        while not writing.done():
            assert call(system, "GET", "/")[0] == 200
            others += 1
        assert writing.result() == (200, b"")
    assert others > 3, "reading and writing it does not delay other requests"
    system.put(bucket, "user-07777/photo.jpg")
    system.put(bucket, "user-77777/photo.jpg")
    webhook = system.consumers.webhook
    system.until(
        "the put that one of the rules asks for",
        lambda: posted(webhook, f"{bucket}/"),
        lambda seen: len(seen) >= 1,
    )
    system.until_settled()
    keys = [each.key for each in posted(webhook, f"{bucket}/")]
    assert keys == [f"{bucket}/user-07777/photo.jpg"]
    listed = system.bucketcast("event", "ls", bucket, "--json")
    assert len(listed.document["rules"]) == 10_000
    assert get(system, bucket).count(b"<QueueConfiguration>") == 10_000
    status, answer = put(system, bucket, text.replace("user", "u" * 900))
    assert (status, b"<Code>EntityTooLarge</Code>" in answer) == (400, True)
