"""An existing bucket: its events arrive, and its own notifications stay."""

from collections import Counter

from tests.e2e import arrivals
from tests.e2e.arrivals import posted
from tests.e2e.system import System

PUT, DELETE = "s3:ObjectCreated:Put", "s3:ObjectRemoved:Delete"


def test_a_bucket_on_eventbridge_delivers_and_keeps_its_own_notifications(
    system: System, prefix: str
) -> None:
    found = system.s3.get_bucket_notification_configuration(Bucket="archive")
    assert "EventBridgeConfiguration" in found
    assert [each["Id"] for each in found["QueueConfigurations"]] == ["theirs"]
    theirs = system.sqs.get_queue_url(QueueName="theirs")["QueueUrl"]
    before = system.depth(theirs)
    folder = f"theirs/{prefix}"
    system.add_rule("archive", "webhook.primary", "--prefix", folder)
    system.add_rule("archive", "postgres.mirror", "--prefix", folder)
    kept, gone = f"{folder}a photo+1%.jpg", f"{folder}gone.jpg"
    etag = system.put("archive", kept, b"four")
    system.put("archive", gone)
    system.s3.delete_object(Bucket="archive", Key=gone)
    system.until_equal(
        "puts and delete at the webhook",
        lambda: Counter(
            (each.name, each.key) for each in posted(system.consumers.webhook, f"archive/{folder}")
        ),
        Counter([(PUT, f"archive/{kept}"), (PUT, f"archive/{gone}"), (DELETE, f"archive/{gone}")]),
    )
    system.until_equal(
        "the row of what is left",
        lambda: arrivals.as_listed(arrivals.table(system, f"archive/{folder}")),
        {f"archive/{kept}": (4, etag)},
    )
    system.until_equal("both puts in their queue", lambda: system.depth(theirs), before + 2)


def test_a_bucket_is_attached_for_a_part(system: System, prefix: str) -> None:
    """What it writes is checked when the run ends; the local S3 takes the ends of keys as typed."""
    bucket = prefix.strip("/")
    system.s3.create_bucket(Bucket=bucket)
    words = ("--event", "put", "--prefix", "year=2026/", "--suffix", " +.jpg")
    ran = system.bucketcast("bucket", "attach", bucket, *words)
    assert ran.code == 0, ran.err
    assert "(prefix 'year=2026/') (suffix ' +.jpg')" in ran.out
