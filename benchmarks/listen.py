"""A hundred listeners and a thousand puts: what each hears, in which order, the gateway's memory.

Needs a running `make up`, whose `.local/env` is exported. It starts a gateway of its own. Ten kinds
of filters, ten listeners each, one of which reads nothing: `python -m benchmarks.listen [PUTS]`.
"""

import asyncio
import json
import os
import sys
import time
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

import boto3
import psutil
from botocore.awsrequest import AWSRequest

from benchmarks.gateway import MIB, gateway
from benchmarks.gateway_client import client, sign

LISTENERS = 100
KINDS = 10
BUCKET = "listen-benchmark"
TIMEOUT_SECONDS = 600.0
_LIMIT = 4 * MIB


@dataclass
class Listener:
    """One listen call; "" hears all keys, else those that end so."""

    suffix: str
    reads: bool = True
    keys: list[str] = field(default_factory=list)
    last: float = 0.0
    writer: asyncio.StreamWriter | None = None

    def wants(self, key: str) -> bool:
        return key.endswith(self.suffix)

    async def begin(self, url: str, prefix: str) -> None:
        """Be answered; read from then on, if it reads."""
        reader, self.writer = await asyncio.open_connection(
            urlsplit(url).hostname, urlsplit(url).port, limit=_LIMIT
        )
        events = quote("s3:ObjectCreated:*", safe="")
        path = f"/{BUCKET}?events={events}&ping=10&prefix={quote(prefix, safe='')}"
        self.writer.write(signed(url, f"{path}&suffix={self.suffix}"))
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head:
            raise SystemExit(head.decode() + (await reader.read(2_000)).decode())
        if self.reads:
            task = asyncio.create_task(self._read(reader))
            _at_work.add(task)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        async for line in reader:
            if line.startswith(b'{"Records":['):
                (record,) = json.loads(line)["Records"]
                self.keys.append(record["s3"]["object"]["key"])
                self.last = time.perf_counter()


_at_work: set["asyncio.Task[None]"] = set()


def signed(url: str, path: str) -> bytes:
    """Return the head of a signed GET."""
    request = AWSRequest("GET", url + path)
    sign(request)
    lines = [f"GET {path} HTTP/1.1", f"Host: {urlsplit(url).netloc}"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def put(url: str, keys: list[str]) -> None:
    s3 = client(url=url)
    for key in keys:
        s3.put_object(Bucket=BUCKET, Key=key, Body=b"x")


async def measure(url: str, process: psutil.Process, puts: int) -> None:
    """Listen, put, wait until all have heard, and print what was seen."""
    prefix = f"{time.time():.0f}/"
    print(f"memory: {process.memory_info().rss / MIB:.0f} MiB before")
    listeners = [Listener(str(number % KINDS)) for number in range(LISTENERS - KINDS)]
    listeners += [Listener("", reads=number > 0) for number in range(KINDS)]
    began = time.perf_counter()
    await asyncio.gather(*(one.begin(url, prefix) for one in listeners))
    took = time.perf_counter() - began
    print(f"{LISTENERS} listeners answered in {took:.1f} s")
    print(f"memory: {process.memory_info().rss / MIB:.0f} MiB with all of them")
    keys = [f"{prefix}{number:05}" for number in range(puts)]
    began = time.perf_counter()
    for part in (keys[: puts // 2], keys[puts // 2 :]):
        await asyncio.to_thread(put, url, part)
        print(f"memory: {process.memory_info().rss / MIB:.0f} MiB after {len(part):,} puts more")
    print(f"{puts:,} puts in {time.perf_counter() - began:.1f} s")
    reading = [one for one in listeners if one.reads]
    wanted = {one.suffix: [key for key in keys if one.wants(key)] for one in reading}
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while any(len(set(one.keys)) < len(wanted[one.suffix]) for one in reading):
        if time.monotonic() > deadline:
            break
        await asyncio.sleep(0.2)
    last = max(one.last for one in reading)
    print(f"all heard {last - began:.1f} s after the first put")
    print(f"memory: {process.memory_info().rss / MIB:.0f} MiB at the end")
    heard(reading, wanted)


def heard(reading: list[Listener], wanted: dict[str, list[str]]) -> None:
    """Print how much of it each heard, and how."""
    whole = sum(set(one.keys) == set(wanted[one.suffix]) for one in reading)
    ordered = sum(list(dict.fromkeys(one.keys)) == wanted[one.suffix] for one in reading)
    late = 0
    for one in reading:
        newest = ""
        for key in dict.fromkeys(one.keys):
            late += key < newest
            newest = max(newest, key)
    received = sum(len(one.keys) for one in reading)
    again = received - sum(len(set(one.keys)) for one in reading)
    print(f"{whole} of {len(reading)} heard just what they asked for, {ordered} all of it in order")
    print(f"{received:,} events received, {late} late, {again} repeats; one listener read nothing")


def main() -> None:
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    puts = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ["AWS_ENDPOINT_URL"]
    with gateway(endpoint) as (url, process):
        asyncio.run(measure(url, process, puts))


if __name__ == "__main__":
    main()
