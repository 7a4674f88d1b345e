"""The whole job: a bucket, a real PostgreSQL that mirrors it, and damage done by hand."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from bucketcast.delivery.envelope import Delivery, pack, unpack
from bucketcast.event import Event
from bucketcast.mirror.synthetic import Object, created, removed
from bucketcast.rules import Rule
from bucketcast.settings.pipeline import Reconcile
from bucketcast.state.rules import Rules
from glue_jobs import files
from glue_jobs.reconcile import mirror
from glue_jobs.reconcile.reconcile import reconcile
from tests.glue import inventories
from tests.glue.emulator import Emulator
from tests.glue.inventories import Row
from tests.glue.jobs import run_job, settings_of
from tests.servers import Server
from tests.servers.postgres import PostgresServer
from tests.unit.moto_aws import TABLE
from tests.unit.samples import LATELY, event

BUCKET, ARN = "mirrored", "arn:minio:sqs::mirror:postgresql"
KEYS = [f"photos/{n:03} ü+.jpg" for n in range(300)]
WAITING = next(pack([Delivery("rule", event("waiting"))])).body
SECRET = b"s3cret"
"""Part of the password of the test server."""
MISSING, STALE, EXTRA = KEYS[:34], KEYS[34:67], [f"photos/extra-{n}" for n in range(33)]


class Job(NamedTuple):
    """The settings of a job, with its queue and its servers."""

    arguments: dict[str, str]
    queue: str
    aws: Emulator
    server: PostgresServer

    def apply(self, batch: list[Event]) -> None:
        """Deliver events as dispatch does, by the real target."""
        config = mirror.parse(ARN, self.arguments["mirror"])
        with mirror.open_mirror(config) as target:
            assert target.send(batch) == {}

    def drain(self) -> list[Event]:
        """Return all events that wait in the target's queue, and delete them."""
        bodies = self.aws.drain(self.queue)
        return [delivery.event for body in bodies for delivery in unpack(body)]

    def run(self, spark: SparkSession, name: str, **options: str) -> dict[str, Any]:
        """Run the job, and return its result."""
        folder = f"{self.arguments['run']}/{name}"
        values = {**self.arguments, "run": folder, **options}
        source = values.pop("source")  # this Spark has its files in folders, which no job takes
        settings = replace(settings_of(Reconcile, values), source=source)
        result: dict[str, Any] = run_job(reconcile, spark, settings)
        return result


@pytest.fixture
def job(
    aws: Emulator, rules: Rules, server: Callable[[str], Server], tmp_path: Path
) -> Iterator[Job]:
    """Make a bucket whose objects are all mirrored, and an Inventory report of it."""
    postgres = server("postgres")
    assert isinstance(postgres, PostgresServer)
    dsn = postgres.settings()["connection_string"]
    secret = aws.client("secretsmanager").create_secret(Name="mirror", SecretString=dsn)
    queue = aws.client("sqs").create_queue(QueueName="Bucketcast-postgres-mirror")["QueueUrl"]
    rule = Rule(
        bucket=BUCKET,
        arn=ARN,
        events=("s3:ObjectCreated:*", "s3:ObjectRemoved:*"),
        prefix="photos/",
    )
    rules.add(rule)
    settings = {
        "connection_string": "secret:mirror",
        "table": postgres.destination,
        "format": "namespace",
    }
    arguments = {
        "bucket": BUCKET,
        "source": _fill_bucket(aws, tmp_path),
        "run": (tmp_path / "runs").as_uri(),
        "target": ARN,
        "table": TABLE,
        "queue": queue,
        "mirror": json.dumps({"kind": "postgres", "settings": settings}),
    }
    job = Job(arguments, queue, aws, postgres)
    listed = aws.client("s3").list_objects_v2(Bucket=BUCKET)["Contents"]
    job.apply([_put(entry, number) for number, entry in enumerate(listed, 1)])
    yield job
    aws.client("secretsmanager").delete_secret(
        SecretId=secret["ARN"], ForceDeleteWithoutRecovery=True
    )
    aws.client("sqs").delete_queue(QueueUrl=queue)


def _fill_bucket(aws: Emulator, folder: Path) -> str:
    """Make the bucket; return the URL of a report of it."""
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    keys = [*KEYS, "other/no rule"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: s3.put_object(Bucket=BUCKET, Key=key, Body=key.encode()), keys))
    rows = [
        Row(BUCKET, entry["Key"], size=entry["Size"], etag=entry["ETag"].strip('"'))
        for entry in s3.list_objects_v2(Bucket=BUCKET)["Contents"]
    ]
    return inventories.write(folder, rows, bucket=BUCKET)


def _put(listed: dict[str, Any], number: int) -> Event:
    """Return the event that S3 sent when the object was put, with its sequencer."""
    modified = round(listed["LastModified"].timestamp() * 1000)
    found = Object(BUCKET, listed["Key"], None, listed["Size"], listed["ETag"].strip('"'), modified)
    return created(found, sequencer=f"{number:016X}")


def damage(job: Job) -> None:
    """Delete, alter and add a hundred rows by hand, and delete two by events."""
    later = "2099-01-01T00:00:00.000Z"
    job.apply(
        [
            removed(Object(BUCKET, MISSING[0]), sequencer="F" * 16, time=later),
            removed(Object(BUCKET, MISSING[1]), sequencer="", time=later),
        ]
    )
    other = b"jsonb_set(value, '{Records,0,s3,object,eTag}', '\"other\"')"
    any_value = b"(select value from public.events limit 1)"
    with job.server.connect() as connection:
        for statement, keys in (
            (b"delete from public.events where key = any(%s)", MISSING),
            (b"update public.events set value = " + other + b" where key = any(%s)", STALE[:20]),
            (b"update public.events set value = '{}' where key = any(%s)", STALE[20:]),
            (b"insert into public.events select unnest(%s::varchar[]), " + any_value, EXTRA),
        ):
            connection.execute(statement, [[f"{BUCKET}/{key}" for key in keys]])
    time.sleep(1)  # S3's times are whole seconds: a change in this one counts as changing


@pytest.mark.both_sparks
def test_damaged_rows_are_listed_and_repaired(
    spark: SparkSession, job: Job, tmp_path: Path
) -> None:
    damage(job)
    # If row and object both changed since the report, there is no difference.
    job.aws.client("s3").delete_object(Bucket=BUCKET, Key=KEYS[200])
    job.apply([removed(Object(BUCKET, KEYS[200]), sequencer="E" * 16, time=LATELY)])
    job.aws.client("sqs").send_message(QueueUrl=job.queue, MessageBody=WAITING)
    result = job.run(spark, "1")
    assert (result["missing"], result["stale"], result["extra"]) == (34, 33, 33)
    assert (result["drift"], result["uncovered"], result["changing"], result["sent"]) == (
        True,
        0,
        0,
        0,
    )
    assert result["waiting"] == 1
    assert any("1 messages wait in the target's queue" in note for note in result["notes"])
    assert {row["path"]: row["what"] for row in result["differences"]} == {
        f"{BUCKET}/{key}": what
        for what, keys in (("missing", MISSING), ("stale", STALE), ("extra", EXTRA))
        for key in keys
    }
    by_path = {row["path"]: row for row in result["differences"]}
    stale = by_path[f"{BUCKET}/{STALE[0]}"]
    assert stale["row"]["etag"] == "other"
    assert stale["object"]["etag"] != "other"
    assert by_path[f"{BUCKET}/{MISSING[0]}"]["row"] is None
    assert by_path[f"{BUCKET}/{EXTRA[0]}"]["object"] is None
    assert [found.key for found in job.drain()] == ["waiting"]

    assert job.run(spark, "2", repair="on")["sent"] == 100
    repairs = job.drain()
    assert len(repairs) == 100
    job.apply(repairs)
    healed = job.run(spark, "3", source="listing")
    assert (healed["differences"], healed["drift"]) == ([], False)
    assert healed["rows"] == 300  # one was deleted, and one has no rule
    assert files.list_folders(f"{job.arguments['run']}/3") == ["differences"]

    contents = [file.read_bytes() for file in (tmp_path / "runs").rglob("*") if file.is_file()]
    assert not any(SECRET in content for content in contents)
    assert SECRET not in json.dumps(job.arguments).encode()

    # The next real event wins over the repair.
    removal = removed(Object(BUCKET, STALE[0]), sequencer="D" * 16, time=LATELY)
    job.aws.client("s3").delete_object(Bucket=BUCKET, Key=STALE[0])
    job.apply([removal, *repairs])
    assert f"{BUCKET}/{STALE[0]}" not in [row.key for row in job.server.received()]
