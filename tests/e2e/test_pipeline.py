"""The jobs on the deployed stack, as `bucketcast` starts them: real Spark, S3, SQS and targets."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from tests.command_result import CommandResult
from tests.e2e import arrivals
from tests.e2e.iam import recorded
from tests.e2e.system import System

JOB_SECONDS = 1_200.0
MIRROR = "arn:minio:sqs::mirror:postgresql"
OBJECTS = 300
AT_ONCE = 8
MANY = 20
"""Lowered, as all thresholds here: it is their comparison that is tried."""
DELIVERED_SECONDS = 240.0
PACE_SECONDS = 0.1
"""Between two changes: as fast as they go, they would only keep Spark from the processors."""


def job(system: System, *words: str) -> CommandResult:
    return system.bucketcast(*words, "--json", within=JOB_SECONDS)


def calls_of(system: System, name: str) -> set[str]:
    """What a job has called, all of which is judged when the run ends."""
    return {each.operation for each in recorded(system.local.calls) if each.function == name}


def test_a_scan_sends_its_findings(system: System) -> None:
    """A bucket of 21 versions of one key and a prefix of 21 sub-folders."""
    name = "versioned"
    system.s3.create_bucket(Bucket=name)
    system.s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    for number in range(MANY + 1):
        system.put(name, "many/often.txt", b"x" * number)
        system.put(name, f"big/{number:02}/one.txt")
    system.add_rule(name, "webhook.primary", event="s3:Scanner:ManyVersions,s3:Scanner:BigPrefix")
    limits = ("--alert-excess-versions", str(MANY), "--alert-excess-folders", str(MANY))
    ran = job(system, "scan", name, *limits)
    assert ran.code == 0, ran.err

    def look() -> list[Any]:
        return arrivals.posted(system.consumers.webhook, f"{name}/")

    events = system.until("both findings", look, lambda seen: len(seen) >= 2)
    found = [(each.name, each.key, each.record["s3"]["object"]["size"]) for each in events]
    assert sorted(found) == [
        ("s3:Scanner:BigPrefix", f"{name}/big/", MANY + 1),
        ("s3:Scanner:ManyVersions", f"{name}/many/often.txt", MANY + 1),
    ]
    # Its role lets it, unlike the one of the first release, do all that it did.
    assert system.beyond_their_rights() == []
    assert {"GetBucketVersioning", "ListObjectVersions", "SendMessageBatch"} <= calls_of(
        system, "Bucketcast-scan"
    )


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
    removed = system.bucketcast("event", "rm", name, MIRROR, "--event", "put,delete")
    assert removed.code == 0, removed.err


def key(number: int) -> str:
    return f"{number % 40:02}/{number:05} ü+%.txt"


def test_a_new_mirror_is_backfilled_while_the_bucket_changes(system: System, crowded: str) -> None:
    ended = Event()
    with ThreadPoolExecutor(1) as pool:
        changing = pool.submit(change, system, crowded, ended)
        try:
            ran = job(system, "backfill", crowded, "--target", MIRROR, "--rate", "0")
        finally:
            ended.set()
        assert changing.result() > 100, "the bucket was to change meanwhile"
    assert ran.code == 0, ran.err
    system.until_settled(within=DELIVERED_SECONDS)
    listed = arrivals.bucket(system, crowded, "")
    assert len(listed) > OBJECTS / 2
    assert arrivals.as_listed(arrivals.table(system, f"{crowded}/")) == listed
    assert "ListObjectVersions" in calls_of(system, "Bucketcast-backfill")


def change(system: System, bucket: str, ended: Event) -> int:
    """Put, overwrite and delete objects until `ended` is set; return how often."""
    chance = random.Random(20261122)  # noqa: S311 - the same run every time
    count = 0
    while not ended.wait(PACE_SECONDS):
        name = key(chance.randrange(2 * OBJECTS))
        if chance.random() < 0.4:
            system.s3.delete_object(Bucket=bucket, Key=name)
        else:
            system.put(bucket, name, b"z" * chance.randrange(100))
        count += 1
    return count


def test_an_empty_dynamic_mirror_is_repaired(system: System, crowded: str) -> None:
    """A job asks for the mirror's settings and its secret, and packs its client."""
    listed = arrivals.bucket(system, crowded, "")
    postgres = system.consumers.postgres
    settings = postgres.settings(table="repaired", format="namespace")
    words = [f"{name}={text}" for name, text in settings.items()]
    assert system.bucketcast("target", "add", "postgres:repaired", *words).code == 0
    arn = "arn:minio:sqs::repaired:postgresql"
    rule = ("event", "add", crowded, arn, "--event", "put,delete")
    assert system.bucketcast(*rule).code == 0
    repaired = job(system, "reconcile", crowded, "--target", arn, "--repair")
    assert repaired.document["missing"] == repaired.document["sent"] == len(listed), repaired.err
    system.until_equal(
        "the mirror like the bucket",
        lambda: arrivals.as_listed(arrivals.rows_of(postgres.received("repaired"), f"{crowded}/")),
        listed,
    )
    assert "ListObjectVersions" in calls_of(system, "Bucketcast-reconcile")
    assert system.beyond_their_rights() == []
    system.bucketcast("target", "rm", arn, "--discard", "--rules", "--yes")
