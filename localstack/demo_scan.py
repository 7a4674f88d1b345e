"""`make demo-scan`: scanner alerts for too many versions and folders arrive at a webhook, once.

A key gets one version over the limit, and a prefix one folder; a scan reports both. The next scan
reports nothing, since nothing changed. Then the key gets more versions, and only that is reported.
The limits are lowered for the demo; with FULL=1 they are MinIO's, which takes some minutes.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from bucketcast.aws.clients import Aws
from bucketcast.aws.pipeline import HERE
from bucketcast.settings.jobs import MANY_FOLDERS, MANY_VERSIONS
from localstack import java, receiver, stage
from localstack.layout import Failure
from localstack.program import run
from localstack.up import SPARK_SUBMIT, up

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

BUCKET = "demo-scan"
FULL = os.environ.get("FULL") == "1"
VERSIONS, FOLDERS = (MANY_VERSIONS, MANY_FOLDERS) if FULL else (20, 50)
WORSE = 1.1
AT_ONCE = 16
ARRIVE_SECONDS = 60.0
QUIET_SECONDS = 3.0
MANY, BIG = "s3:Scanner:ManyVersions", "s3:Scanner:BigPrefix"


def demo(config: Path) -> None:
    """Raises ConfigErrors before anything is started, Failure when something did not arrive."""
    began = time.monotonic()
    java.home()
    target = stage.start_receiver(config)
    up(config)
    stage.lead_here()
    os.environ[HERE] = str(SPARK_SUBMIT)
    s3 = Aws().s3
    folder = time.strftime("%H%M%S/")
    _make(s3)
    stage.say(f"{VERSIONS + 1:,} versions of a key, {FOLDERS + 1:,} folders in a prefix")
    _put(s3, [f"{folder}report.csv"] * (VERSIONS + 1))
    _put(s3, [f"{folder}by-day/{day:06}/log" for day in range(FOLDERS + 1)])
    stage.bucketcast(
        "event", "add", BUCKET, str(target.arn), "--event", "scanner", "--ignore-existing"
    )
    output = receiver.Output()
    stage.say("The first scan reports both")
    _scan(folder)
    _expect(output, {MANY, BIG})
    stage.say("The second reports nothing: nothing changed")
    _scan(folder)
    _expect(output, set())
    more = math.ceil((VERSIONS + 1) * (WORSE - 1)) + 1
    stage.say(f"{more:,} more versions are over 10 % worse: the third scan reports that")
    _put(s3, [f"{folder}report.csv"] * more)
    _scan(folder)
    _expect(output, {MANY})
    output.close()
    stage.say(
        f"Done in {time.monotonic() - began:.0f} s; everything keeps running until `make stop`"
    )
    print("The last scan printed the location of its report.")


def _make(s3: S3Client) -> None:
    """Create a bucket with versioning, or use that of an earlier demo."""
    if BUCKET not in {each.get("Name") for each in s3.list_buckets()["Buckets"]}:
        s3.create_bucket(Bucket=BUCKET)
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})


def _put(s3: S3Client, keys: Iterable[str]) -> None:
    def put(key: str) -> None:
        s3.put_object(Bucket=BUCKET, Key=key, Body=b"A line of a log.\n")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        for done in pool.map(put, keys):
            del done  # it raises what went wrong


def _scan(folder: str) -> None:
    """Scan what this demo put; the thresholds are options where they are not the job's own."""
    lowered = ("--alert-excess-versions", str(VERSIONS), "--alert-excess-folders", str(FOLDERS))
    stage.bucketcast("scan", BUCKET, "--prefix", folder, *(() if FULL else lowered))


def _expect(output: receiver.Output, names: set[str]) -> None:
    """Wait for an event of each name, then see that no other comes."""
    missing = set(names)
    deadline = time.monotonic() + ARRIVE_SECONDS
    while missing and time.monotonic() < deadline:
        for arrival in output.arrivals(1.0):
            print(f"    arrived: {arrival.line}", flush=True)
            if arrival.name not in missing:
                raise Failure(f"{arrival.name} of {arrival.path} arrived, and should not have")
            missing.remove(arrival.name)
    if missing:
        stage.bucketcast("target", "ls")
        raise Failure(f"{', '.join(missing)} did not arrive within {ARRIVE_SECONDS:.0f} s")
    stage.wait_until_empty()
    if more := output.arrivals(QUIET_SECONDS):
        raise Failure(f"{more[0].name} of {more[0].path} arrived, and should not have")
    print(f"    {len(names)} arrived, and nothing else", flush=True)


if __name__ == "__main__":
    raise SystemExit(run("make demo-scan", __doc__.split("\n")[0], demo))
