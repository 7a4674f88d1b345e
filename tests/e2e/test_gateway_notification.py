"""The notification API through the gateway: the guide's own lines."""

from pathlib import Path

from tests.e2e.arrivals import posted
from tests.e2e.mc import Mc
from tests.e2e.system import System

HOOK = "arn:minio:sqs::primary:webhook"


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
