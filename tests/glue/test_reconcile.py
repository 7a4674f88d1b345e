"""The whole job: a bucket, a real PostgreSQL that mirrors it, and what was done to it by hand."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from bucketcast.delivery.envelope import unpack
from bucketcast.errors import BucketcastError
from bucketcast.event import Event
from bucketcast.rules import Rule
from bucketcast.settings.pipeline import Reconcile, parse
from bucketcast.state.rules import Rules
from glue_jobs import events, files
from glue_jobs.reason import reason
from glue_jobs.reconcile import mirror
from glue_jobs.reconcile.reconcile import reconcile
from glue_jobs.run import Run
from tests.glue import inventories
from tests.glue.emulator import Emulator
from tests.glue.inventories import Row
from tests.servers import Server
from tests.servers.postgres import PostgresServer
from tests.unit.moto_aws import TABLE

BUCKET, ARN = "mirrored", "arn:minio:sqs::mirror:postgresql"
KEYS = [f"photos/{n:03} ü+.jpg" for n in range(300)]
WAITING = '{"v":1}'
MARK_OF_SECRETS = b"s3cret"
"""Part of the password of the test server."""
MISSING, STALE, EXTRA = KEYS[:34], KEYS[34:67], [f"photos/extra-{n}" for n in range(33)]


class Job(NamedTuple):
    """The settings of a job, and what stands around it."""

    arguments: dict[str, str]
    queue: str
    aws: Emulator
    server: PostgresServer

    def apply(self, batch: list[Event]) -> None:
        """Deliver as dispatch does, by the real target."""
        found_mirror = mirror.find(ARN, self.arguments["targets"])
        with mirror.opened(found_mirror) as target:
            assert target.send(batch) == {}

    def drained(self) -> list[Event]:
        """All events that wait in the target's queue, which is empty then."""
        sqs, found = self.aws.client("sqs"), list[Event]()
        while got := sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10).get(
            "Messages"
        ):
            for each in got:
                found += [delivery.event for delivery in unpack(each["Body"])]
                sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=each["ReceiptHandle"])
        return found

    def run(self, spark: SparkSession, name: str, **options: str) -> dict[str, Any]:
        """What a run ends with."""
        folder = f"{self.arguments['run']}/{name}"
        texts = {**self.arguments, "run": folder, **options}
        settings = parse(
            Reconcile, [word for key, text in texts.items() for word in (f"--{key}", text)]
        )
        with Run(folder) as run:
            reconcile(spark, settings, run)
        result: dict[str, Any] = json.loads(files.read(f"{folder}/result.json"))
        return result


@pytest.fixture
def job(
    aws: Emulator, rules: Rules, server: Callable[[str], Server], tmp_path: Path
) -> Iterator[Job]:
    """A bucket with objects, all of them mirrored, and an Inventory report of it."""
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
        "source": _filled(aws, tmp_path),
        "run": (tmp_path / "runs").as_uri(),
        "target": ARN,
        "table": TABLE,
        "queues": queue.replace("postgres-mirror", "*"),
        "targets": json.dumps({ARN: {"kind": "postgres", "settings": settings}}),
    }
    found = Job(arguments, queue, aws, postgres)
    listed = aws.client("s3").list_objects_v2(Bucket=BUCKET)["Contents"]
    found.apply([_put(each, at) for at, each in enumerate(listed, 1)])
    yield found
    aws.client("secretsmanager").delete_secret(
        SecretId=secret["ARN"], ForceDeleteWithoutRecovery=True
    )
    aws.client("sqs").delete_queue(QueueUrl=queue)


def _filled(aws: Emulator, folder: Path) -> str:
    """Make the bucket; the URL of a report of it."""
    s3 = aws.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    keys = [*KEYS, "other/no rule"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: s3.put_object(Bucket=BUCKET, Key=key, Body=key.encode()), keys))
    rows = [
        Row(BUCKET, each["Key"], size=each["Size"], etag=each["ETag"].strip('"'))
        for each in s3.list_objects_v2(Bucket=BUCKET)["Contents"]
    ]
    return inventories.write(folder, rows, bucket=BUCKET)


def _put(listed: dict[str, Any], at: int) -> Event:
    """The event that S3 sent when the object was put, with its sequencer."""
    when = round(listed["LastModified"].timestamp() * 1000)
    found = events.Object(
        BUCKET, listed["Key"], None, listed["Size"], listed["ETag"].strip('"'), when
    )
    return events.created(found, sequencer=f"{at:016X}")


def _damaged(job: Job) -> None:
    """A hundred rows deleted, altered and added by hand; two deleted by events that came."""
    later = "2099-01-01T00:00:00.000Z"
    job.apply(
        [
            events.removed(BUCKET, MISSING[0], sequencer="F" * 16, time=later),
            events.removed(BUCKET, MISSING[1], sequencer="", time=later),
        ]
    )
    other = b"jsonb_set(value, '{Records,0,s3,object,eTag}', '\"other\"')"
    of_one = b"(select value from public.events limit 1)"
    with job.server.connect() as connection:
        for statement, keys in (
            (b"delete from public.events where key = any(%s)", MISSING),
            (b"update public.events set value = " + other + b" where key = any(%s)", STALE[:20]),
            (b"update public.events set value = '{}' where key = any(%s)", STALE[20:]),
            (b"insert into public.events select unnest(%s::varchar[]), " + of_one, EXTRA),
        ):
            connection.execute(statement, [[f"{BUCKET}/{key}" for key in keys]])


def test_damage_is_named_and_repaired(spark: SparkSession, job: Job, tmp_path: Path) -> None:
    _damaged(job)
    time.sleep(1)  # S3's times are whole seconds: what is of this one counts as changing
    # What changed since the report, row and object alike, is no difference.
    job.aws.client("s3").delete_object(Bucket=BUCKET, Key=KEYS[200])
    job.apply([events.removed(BUCKET, KEYS[200], sequencer="E" * 16, time=events.EPOCH)])
    job.aws.client("sqs").send_message(QueueUrl=job.queue, MessageBody=WAITING)
    found = job.run(spark, "1")
    assert (found["missing"], found["stale"], found["extra"]) == (34, 33, 33)
    assert (found["drift"], found["uncovered"], found["changing"], found["sent"]) == (True, 0, 0, 0)
    assert found["waiting"] == 1
    assert any("1 messages wait in the target's queue" in note for note in found["notes"])
    assert {each["path"]: each["what"] for each in found["differences"]} == {
        f"{BUCKET}/{key}": what
        for what, keys in (("missing", MISSING), ("stale", STALE), ("extra", EXTRA))
        for key in keys
    }
    by_path = {each["path"]: each for each in found["differences"]}
    stale = by_path[f"{BUCKET}/{STALE[0]}"]
    assert stale["row"]["etag"] == "other"
    assert stale["object"]["etag"] != "other"
    assert by_path[f"{BUCKET}/{MISSING[0]}"]["row"] is None
    assert by_path[f"{BUCKET}/{EXTRA[0]}"]["object"] is None
    assert job.drained() == []

    assert job.run(spark, "2", mode="repair")["sent"] == 100
    repairs = job.drained()
    assert len(repairs) == 100
    job.apply(repairs)
    healed = job.run(spark, "3", source="listing")
    assert (healed["differences"], healed["drift"]) == ([], False)
    assert healed["rows"] == 300  # one was deleted, and one has no rule

    left = [each.read_bytes() for each in (tmp_path / "runs").rglob("*") if each.is_file()]
    assert not any(MARK_OF_SECRETS in each for each in left)
    assert MARK_OF_SECRETS not in json.dumps(job.arguments).encode()

    # What really happens next wins over the repair.
    gone = events.removed(BUCKET, STALE[0], sequencer="D" * 16, time=events.EPOCH)
    job.aws.client("s3").delete_object(Bucket=BUCKET, Key=STALE[0])
    job.apply([gone, *repairs])
    assert f"{BUCKET}/{STALE[0]}" not in [each.key for each in job.server.received()]


def configured(arn: str, kind: str, **settings: str) -> str:
    return json.dumps({arn: {"kind": kind, "settings": settings}})


@pytest.mark.parametrize(
    ("target", "targets", "expected"),
    [
        (ARN, "{}", "not configured; those that mirror a bucket are none: configure one"),
        (
            ARN,
            configured("arn:minio:sqs::mirr:redis", "redis", address="localhost", key="k"),
            "did you mean 'arn:minio:sqs::mirr:redis'.* are arn:minio:sqs::mirr:redis",
        ),
        (
            ARN,
            configured(ARN, "postgres", connection_string="secret:x", table="t", format="access"),
            "in format = access; allowed are targets in format = namespace",
        ),
        (
            "arn:minio:sqs::h:webhook",
            configured("arn:minio:sqs::h:webhook", "webhook", endpoint="https://example.org"),
            "of a kind that keeps no rows; allowed are",
        ),
        ("mirror", "{}", "invalid ARN 'mirror'"),
    ],
)
def test_what_is_no_mirror_is_refused(target: str, targets: str, expected: str) -> None:
    with pytest.raises(BucketcastError, match=expected):
        mirror.find(target, targets)


def test_a_server_that_went_away_is_reported(spark: SparkSession, job: Job) -> None:
    rows = mirror.rows(spark, mirror.find(ARN, job.arguments["targets"]), BUCKET, "")
    job.server.stop()
    with pytest.raises(Exception, match="connection failed") as raised:
        rows.collect()
    assert reason(raised.value).startswith("connection failed")
