"""The jobs on the deployed stack, as `bucketcast` starts them: real Spark, S3, SQS and targets."""

import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any

import pytest

from tests.command_result import CommandResult
from tests.e2e import arrivals
from tests.e2e.iam import recorded
from tests.e2e.system import System

JOB_SECONDS = 1_200.0
TO_MIRROR = ("--target", "arn:minio:sqs::mirror:postgresql")
OBJECTS = 1_500
"""More than S3 lists in a page."""
AT_ONCE = 8
MANY = 20
"""Lowered, as all thresholds here: it is their comparison that is tried."""
DAMAGED = 100
DELIVERED_SECONDS = 240.0
PACE_SECONDS = 0.02
"""Between two changes: as fast as they go, they would only keep Spark from the processors."""


def job(system: System, *words: str) -> CommandResult:
    return system.bucketcast(*words, "--json", within=JOB_SECONDS)


def calls_of(system: System, name: str) -> set[str]:
    """What a job has called, all of which is judged when the run ends."""
    return {each.operation for each in recorded(system.local.calls) if each.function == name}


@pytest.fixture(scope="module")
def versioned(system: System) -> str:
    """A bucket of 21 versions of one key and a prefix of 21 sub-folders."""
    name = "versioned"
    system.s3.create_bucket(Bucket=name)
    system.s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    for number in range(MANY + 1):
        system.put(name, "many/often.txt", b"x" * number)
        system.put(name, f"big/{number:02}/one.txt")
    system.add_rule(name, "webhook.primary", event="s3:Scanner:ManyVersions,s3:Scanner:BigPrefix")
    return name


def test_scan_reports_a_finding_once_and_again_when_it_is_worse(
    system: System, versioned: str
) -> None:
    limits = ("--alert-excess-versions", str(MANY), "--alert-excess-folders", str(MANY))

    first = job(system, "scan", versioned, *limits)
    assert first.code == 0, first.err
    assert scanner_events(system, versioned) == {
        ("s3:Scanner:ManyVersions", "many/often.txt", MANY + 1),
        ("s3:Scanner:BigPrefix", "big/", MANY + 1),
    }

    # Its role lets it, unlike the one of the first release, do all that it did.
    assert system.beyond_their_rights() == []
    assert {"GetBucketVersioning", "ListObjectVersions", "SendMessageBatch"} <= calls_of(
        system, "Bucketcast-scan"
    )

    # Only one of the two is worse: the other is not sent again.
    for number in range(3):
        system.put(versioned, "many/often.txt", b"y" * number)
    worse = job(system, "scan", versioned, *limits)
    assert (worse.code, worse.document["events"]) == (0, 1), worse.err
    event = ("s3:Scanner:ManyVersions", "many/often.txt", MANY + 4)
    assert event in scanner_events(system, versioned, 3)


@pytest.mark.usefixtures("versioned")
def test_a_scan_of_a_broken_report_names_the_file_and_sends_nothing(system: System) -> None:
    system.s3.create_bucket(Bucket="inventories")
    folder = "daily/versioned/all/2026-11-20T01-00Z"
    manifest = {"sourceBucket": "versioned", "destinationBucket": "arn:aws:s3:::inventories"}
    system.put("inventories", f"{folder}/manifest.json", json.dumps(manifest).encode())
    system.put("inventories", f"{folder}/manifest.checksum", b"0" * 32)
    system.until_settled()
    before = system.depths(), arrivals.posted(system.consumers.webhook, "versioned/")

    ran = job(system, "scan", "versioned", "--source", f"s3://inventories/{folder}/manifest.json")

    assert ran.code == 3
    assert f"{folder}/manifest.json" in ran.document["error"]
    system.until_settled()
    assert (system.depths(), arrivals.posted(system.consumers.webhook, "versioned/")) == before


@pytest.fixture(scope="module")
def crowded(system: System) -> Iterator[str]:
    """The bucket with its objects, and a rule for the mirror that is younger than they are."""
    name = "crowded"
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda number: system.put(name, key(number)), range(OBJECTS)))
    system.until_settled(within=DELIVERED_SECONDS)
    system.add_rule(name, "postgres.mirror", event="put,delete")
    yield name
    # Other tests count the rules of this bucket.
    removed = system.bucketcast("event", "rm", name, TO_MIRROR[1], "--event", "put,delete")
    assert removed.code == 0, removed.err


def key(number: int) -> str:
    return f"{number % 40:02}/{number:05} ü+%.txt"


@pytest.fixture(scope="module")
def backfilled(system: System, crowded: str) -> CommandResult:
    """The mirror, filled while the bucket changes: by a dry run that is then resumed."""
    ended = Event()
    with ThreadPoolExecutor(1) as pool:
        changing = pool.submit(change, system, crowded, ended)
        try:
            tried = job(system, "backfill", crowded, *TO_MIRROR, "--rate", "0", "--dry-run")
            assert tried.code == 0, tried.err
            ran = job(system, "backfill", "--resume", tried.document["run"])
        finally:
            ended.set()
        assert changing.result() > 100, "the bucket was to change meanwhile"
    system.until_settled(within=DELIVERED_SECONDS)
    return ran


def test_a_new_mirror_is_backfilled_while_the_bucket_changes(
    system: System, crowded: str, backfilled: CommandResult
) -> None:
    assert backfilled.code == 0, backfilled.err
    listed = arrivals.bucket(system, crowded, "")
    assert len(listed) > OBJECTS / 2
    assert arrivals.as_listed(arrivals.table(system, f"{crowded}/")) == listed
    assert "ListObjectVersions" in calls_of(system, "Bucketcast-backfill")


def change(system: System, bucket: str, ended: Event) -> int:
    """Put, overwrite and delete objects until `ended` is set; return how often."""
    chance = random.Random(20261122)  # noqa: S311 - the same run every time
    count = 0
    while not ended.wait(PACE_SECONDS):
        name = key(chance.randrange(OBJECTS + 500))
        if chance.random() < 0.4:
            system.s3.delete_object(Bucket=bucket, Key=name)
        else:
            system.put(bucket, name, b"z" * chance.randrange(100))
        count += 1
    return count


@pytest.mark.usefixtures("backfilled")
def test_reconcile_names_what_was_damaged_and_repairs_it(system: System, crowded: str) -> None:
    listed = arrivals.bucket(system, crowded, "")
    damaged = sorted(listed)[7::7][:DAMAGED]
    gone, altered, added = damaged[:40], damaged[40:80], [f"{path}.x" for path in damaged[80:]]
    with system.consumers.postgres.connect() as connection:
        connection.execute("delete from mirror where key = any(%s)", [gone])
        connection.execute(
            "update mirror set value = jsonb_set(value, '{Records,0,s3,object,eTag}', '\"no\"')"
            " where key = any(%s)",
            [altered],
        )
        connection.execute(
            "insert into mirror select key || '.x', value from mirror where key = any(%s)",
            [damaged[80:]],
        )

    checked = job(system, "reconcile", crowded, *TO_MIRROR)
    assert checked.code == 1
    found = {each["path"]: each["what"] for each in checked.document["differences"]}
    assert found == (
        dict.fromkeys(gone, "missing")
        | dict.fromkeys(altered, "stale")
        | dict.fromkeys(added, "extra")
    )

    repaired = job(system, "reconcile", crowded, *TO_MIRROR, "--repair")
    assert repaired.document["sent"] == DAMAGED, repaired.err
    system.until_settled(within=DELIVERED_SECONDS)
    assert arrivals.as_listed(arrivals.table(system, f"{crowded}/")) == listed
    assert "ListObjectVersions" in calls_of(system, "Bucketcast-reconcile")


@pytest.mark.usefixtures("backfilled")
def test_an_empty_dynamic_mirror_is_repaired(system: System, crowded: str) -> None:
    listed = arrivals.bucket(system, crowded, "")
    settings = system.consumers.redis.settings(key="ev:dynamic", format="namespace")
    words = [f"{key}={text}" for key, text in settings.items()]
    assert system.bucketcast("target", "add", "redis:repaired", *words).code == 0
    arn = "arn:minio:sqs::repaired:redis"
    rule = ("event", "add", crowded, arn, "--event", "put,delete")
    assert system.bucketcast(*rule).code == 0
    repaired = job(system, "reconcile", crowded, "--target", arn, "--repair")
    assert repaired.document["missing"] == repaired.document["sent"] == len(listed), repaired.err
    show = partial(arrivals.fields, system, f"{crowded}/", "ev:dynamic")
    system.until_equal("the mirror like the bucket", lambda: arrivals.as_listed(show()), listed)
    assert system.beyond_their_rights() == []
    system.bucketcast("event", "rm", crowded, arn, "--yes")
    system.bucketcast("target", "rm", arn, "--discard", "--yes")


def scanner_events(system: System, bucket: str, count: int = 2) -> set[tuple[str, str, int]]:
    """Wait for so many events of the bucket at the webhook: name, key and what its size says."""

    def look() -> list[Any]:
        return arrivals.posted(system.consumers.webhook, f"{bucket}/")

    posted = system.until(f"{count} events", look, lambda seen: len(seen) >= count)
    assert len(posted) == count
    return {
        (each.name, each.key.partition("/")[2], each.record["s3"]["object"]["size"])
        for each in posted
    }
