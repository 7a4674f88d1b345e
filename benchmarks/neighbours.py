"""What strangers and a busy user do to the GETs of another user of the gateway.

Needs a running `make up`, whose `.local/env` is exported. One user reads an object again and again:
alone, beside 2,000 calls with access keys that do not exist, beside 30 topic calls of another user
that wait for each other, and beside 2,000 connections that say nothing and 200 that read a large
object slowly. Reads from S3 itself, in turns with those of the gateway, show how much of it is the
load of the machine. Run: `python -m benchmarks.neighbours`.
"""

import asyncio
import json
import multiprocessing
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from benchmarks.gateway import client, variable

BUCKET = "neighbours-benchmark"
STRANGERS = 2_000
AT_ONCE = 1_900
IDLE, SLOW = 2_000, 200
LARGE = 8 << 20
SLOW_CALLS = 30
READS = 1_000


def main() -> None:
    """Print the median and the 99th percentile of each load."""
    through = client()
    through.create_bucket(Bucket=BUCKET)
    through.put_object(Bucket=BUCKET, Key="object", Body=b"x" * 1_000)
    through.put_object(Bucket=BUCKET, Key="large", Body=b"x" * LARGE)
    s3 = boto3.client("s3")
    print("| beside | gateway, median and 99th percentile, ms | the local S3 |")
    print("|---|---|---|")
    report("nobody", through, s3)
    for title, load in (
        (f"{IDLE:,} idle and {SLOW} slow connections", idle_and_slow),
        ("50 strangers at a time, again and again", strangers_in_turn),
        (f"{AT_ONCE:,} strangers at a time, again and again", strangers_at_once),
        (f"{SLOW_CALLS} topic calls of one user that wait for each other", slow_topic_calls),
    ):
        with beside(load):
            report(title, through, s3)


def report(title: str, through: Any, s3: Any) -> None:
    """Measure reads in turns, and print them as a row of the table."""
    seconds: dict[str, list[float]] = {"gateway": [], "S3": []}
    for _ in range(READS):
        for name, reader in (("gateway", through), ("S3", s3)):
            began = time.perf_counter()
            reader.get_object(Bucket=BUCKET, Key="object")["Body"].read()
            seconds[name].append(time.perf_counter() - began)
    cells = [
        f"{statistics.median(each) * 1e3:.1f}, {sorted(each)[len(each) * 99 // 100] * 1e3:.1f}"
        for each in seconds.values()
    ]
    print("|", " | ".join((title, *cells)), "|", flush=True)


@contextmanager
def beside(load: Callable[[Event], None]) -> Iterator[None]:
    """Repeat a load in a process of its own until the end."""
    stop = multiprocessing.Event()
    process = multiprocessing.Process(target=load, args=(stop,))
    process.start()
    try:
        time.sleep(1)
        yield
    finally:
        stop.set()
        process.join()


def idle_and_slow(stop: Event) -> None:
    """Keep so many connections open: those that say nothing are opened again when closed."""
    url = urlsplit(variable("BUCKETCAST_URL"))
    keys = Credentials(variable("BUCKETCAST_ACCESS_KEY"), variable("BUCKETCAST_SECRET_KEY"))

    async def hold(said: bytes) -> None:
        while not stop.is_set():
            reader, writer = await asyncio.open_connection(url.hostname, url.port, limit=1_024)
            writer.write(said)
            while not stop.is_set():
                if not await reader.read(1_024):
                    break
                await asyncio.sleep(1)
            writer.close()

    async def hold_all() -> None:
        said = [b""] * IDLE + [signed(url.netloc, "large", keys)] * SLOW
        tasks = [asyncio.ensure_future(hold(each)) for each in said]
        await asyncio.to_thread(stop.wait)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(hold_all())


def strangers_in_turn(stop: Event) -> None:
    strangers(stop, connections=50)


def strangers_at_once(stop: Event) -> None:
    strangers(stop, connections=AT_ONCE)


def strangers(stop: Event, connections: int) -> None:
    """Send signed calls with made-up keys, each once, over so many connections."""
    url = urlsplit(variable("BUCKETCAST_URL"))
    answers = 0

    async def send(calls: Iterator[bytes]) -> None:
        nonlocal answers
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        for call in calls:
            writer.write(call)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            body = await reader.readexactly(length)
            answers += b"InvalidAccessKeyId" in body
            if stop.is_set():
                break
        writer.close()

    async def flood() -> None:
        calls = [stranger(url.netloc, number) for number in range(STRANGERS)]
        while not stop.is_set():
            each = iter(calls)
            await asyncio.gather(*(send(each) for _ in range(connections)))

    asyncio.run(flood())
    print(f"{answers:,} strangers were refused", file=sys.stderr)


def stranger(host: str, number: int) -> bytes:
    """Return a call that is well signed, by a user who does not exist."""
    return signed(host, "object", Credentials(f"STRANGER{number:012}", "secret"))


def signed(host: str, key: str, keys: Credentials) -> bytes:
    """Return the call that reads an object."""
    request = AWSRequest(
        "GET", f"http://{host}/{BUCKET}/{key}", {"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"}
    )
    SigV4Auth(keys, "s3", variable("AWS_REGION")).add_auth(request)
    lines = [f"{name}: {value}" for name, value in request.headers.items()]
    return "\r\n".join((f"GET /{BUCKET}/{key} HTTP/1.1", f"Host: {host}", *lines, "", "")).encode()


def slow_topic_calls(stop: Event) -> None:
    """Change one persistent topic from many threads, so that each call waits for the others."""
    command = [str(Path(sys.executable).with_name("bucketcast")), "user"]
    name = f"busy-{time.time_ns()}"
    added = subprocess.run([*command, "add", name, "--json"], check=True, capture_output=True)
    keys = json.loads(added.stdout)
    durations: list[float] = []

    def change() -> None:
        sns = boto3.client(
            "sns",
            endpoint_url=variable("BUCKETCAST_URL"),
            aws_access_key_id=keys["access_key"],
            aws_secret_access_key=keys["secret_key"],
            config=Config(retries={"total_max_attempts": 1}, read_timeout=120),
        )
        while not durations or not stop.is_set():
            began = time.perf_counter()
            attributes = {
                "push-endpoint": "http://127.0.0.1:1/",
                "persistent": "true",
                "OpaqueData": str(began),
            }
            sns.create_topic(Name=name, Attributes=attributes)
            durations.append(time.perf_counter() - began)

    threads = [threading.Thread(target=change) for _ in range(SLOW_CALLS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = f"{statistics.median(durations):.1f} s each"
    print(f"{len(durations)} topic calls took {took}", file=sys.stderr)
    subprocess.run([*command, "rm", name], check=True, capture_output=True)


if __name__ == "__main__":
    main()
