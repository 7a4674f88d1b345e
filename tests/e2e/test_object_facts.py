"""Rules on object facts, which ingest reads from S3."""

from collections import Counter
from functools import partial
from typing import Any

from tests.e2e.arrivals import as_listed, bucket, fields, posted, table
from tests.e2e.system import System


def dynamic_mirror(system: System, bucket: str, prefix: str) -> str:
    """Make a mirror in Redis at run time, with a rule; return its ARN."""
    id_ = f"mirror-{prefix[-7:-1]}"
    settings = system.consumers.redis.settings(key=f"ev:{prefix}", format="namespace")
    words = [f"{key}={text}" for key, text in settings.items()]
    made = system.bucketcast("target", "add", f"redis:{id_}", *words)
    assert made.code == 0, made.err
    arn = f"arn:minio:sqs::{id_}:redis"
    where = ("--event", "put,delete", "--prefix", prefix, "--ahead")
    assert system.bucketcast("event", "add", bucket, arn, *where).code == 0
    return arn


def test_mirrors_show_the_version_that_becomes_current(system: System, prefix: str) -> None:
    """S3 reports the removal alone, and the webhook gets no more. One mirror is a dynamic one."""
    for target in ("webhook.primary", "postgres.mirror"):
        system.add_rule("versions", target, "--prefix", prefix)
    arn = dynamic_mirror(system, "versions", prefix)
    mirrors = (table, partial(fields, name=f"ev:{prefix}"))
    s3: Any = system.s3
    where = {"Bucket": "versions"}
    s3.put_bucket_versioning(**where, VersioningConfiguration={"Status": "Enabled"})
    for key in ("undeleted", "uncovered", "hidden", "gone"):
        where["Key"] = f"{prefix}{key}"
        first = s3.put_object(**where, Body=b"first")["VersionId"]
        if key != "gone":
            second = s3.put_object(**where, Body=b"the second")["VersionId"]
        if key in ("undeleted", "hidden"):
            marker = s3.delete_object(**where)["VersionId"]
        if key == "undeleted":
            s3.delete_object(**where, VersionId=marker)
        elif key != "gone":
            s3.delete_object(**where, VersionId=second)
        else:
            s3.delete_object(**where, VersionId=first)
    listed = bucket(system, "versions", prefix)
    assert {key.rpartition("/")[2]: size for key, (size, _) in listed.items()} == {
        "undeleted": 10,
        "uncovered": 5,
    }
    # An older state may look alike: all events are there when the webhook has them.
    system.until_equal(
        "the webhook's events",
        lambda: Counter(
            each.name.rpartition(":")[2]
            for each in posted(system.consumers.webhook, f"versions/{prefix}")
        ),
        {"Put": 7, "DeleteMarkerCreated": 2, "Delete": 4},
    )
    system.until_settled()
    for mirror in mirrors:
        system.until_equal(
            f"the mirror {mirror} like the bucket",
            partial(lambda show: as_listed(show(system, f"versions/{prefix}")), mirror),
            listed,
        )
    # A rule without a target is what `doctor` reports in its own test.
    removal = ("target", "rm", arn, "--discard", "--rules", "--yes")
    assert system.bucketcast(*removal).code == 0
