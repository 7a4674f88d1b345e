"""The gateway compared with S3 alone: puts and gets, and large bodies both ways with its memory.

Needs a running `make up`, whose `.local/env` is exported. Puts and gets go to that S3, in turns
with and without the gateway. Large bodies go to a server of this file's own, which discards them:
the local S3 would keep them in memory. Run: `python -m benchmarks.gateway [GiB]`.
"""

import hashlib
import http.client
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import psutil
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from localstack import ports

ROUNDS = 20
BUCKET = "gateway-benchmark"
BLOCK = os.urandom(1 << 20)
MIB = 1 << 20


class Sink(BaseHTTPRequestHandler):
    """Accept any body and return its SHA-256; return as many blocks as the number in the path."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        digest, remaining = hashlib.sha256(), int(self.headers["content-length"])
        while remaining:
            part = self.rfile.read(min(remaining, MIB))
            digest.update(part)
            remaining -= len(part)
        self.send_response(200)
        self.send_header("etag", digest.hexdigest())
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        blocks = int(self.path.rpartition("/")[2])
        self.send_response(200)
        self.send_header("content-length", str(blocks * len(BLOCK)))
        self.end_headers()
        for _ in range(blocks):
            self.wfile.write(BLOCK)

    def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002 - its name


def main() -> None:
    objects()
    large_bodies(int(float(sys.argv[1]) * 1_024) if len(sys.argv) > 1 else 1_024)


def objects() -> None:
    """Print the time of a put and a get through the gateway and without it, and their ratio."""
    clients: dict[str, Any] = {
        "without": boto3.client("s3", config=Config(retries={"total_max_attempts": 1})),
        "through": client(),
    }
    clients["without"].create_bucket(Bucket=BUCKET)
    for title, size, calls in (("1,000 bytes", 1_000, 100), ("1 MiB", MIB, 25)):
        body = b"x" * size

        def put(s3: Any, key: str, body: bytes = body) -> None:
            s3.put_object(Bucket=BUCKET, Key=key, Body=body)

        def get(s3: Any, key: str, body: bytes = body) -> None:
            require(len(s3.get_object(Bucket=BUCKET, Key=key)["Body"].read()), len(body))

        compare(f"put of {title}", clients, put, calls)
        compare(f"get of {title}", clients, get, calls)


def compare(
    title: str, clients: Mapping[str, Any], call: Callable[[Any, str], None], calls: int
) -> None:
    """Print the medians of rounds in turns, each of so many calls, and that of their ratios."""
    milliseconds: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(ROUNDS):
        for name, s3 in clients.items():
            began = time.perf_counter()
            for key in range(calls):
                call(s3, f"{name}/{key}")
            milliseconds[name].append((time.perf_counter() - began) / calls * 1_000)
    ratios = [through / without for without, through in zip(*milliseconds.values(), strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    times = ", ".join(
        f"{statistics.median(each):.1f} ms {name}" for name, each in milliseconds.items()
    )
    print(f"{title:18} {times}: {middle:.2f} (half of the rounds: {low:.2f} to {high:.2f})")


def large_bodies(blocks: int) -> None:
    """Print the time of a body of so many MiB each way, and the gateway's peak memory."""
    sink = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    digest = hashlib.sha256()
    for _ in range(blocks):
        digest.update(BLOCK)
    with gateway(f"http://127.0.0.1:{sink.server_port}") as (url, process):
        idle = process.memory_info().rss
        with measure_peak(process) as peak:
            for title, body in (("signed", digest.hexdigest()), ("unsigned", "UNSIGNED-PAYLOAD")):
                began = time.perf_counter()
                response = send(url, "PUT", f"/any/{blocks}", body, blocks)
                require(response.headers["etag"], digest.hexdigest())
                report(f"up, {title}", blocks, time.perf_counter() - began)
            began = time.perf_counter()
            require(receive(url, f"/any/{blocks}"), digest.hexdigest())
            report("down", blocks, time.perf_counter() - began)
        print(f"memory: {idle // MIB} MiB idle, {peak[0] // MIB} MiB at most")
    sink.shutdown()


def send(url: str, method: str, path: str, body: str, blocks: int = 0) -> Any:
    """Send a call with a body of so many blocks and its digest; return the unread response."""
    size = blocks * len(BLOCK)
    headers = {"X-Amz-Content-SHA256": body}
    request = AWSRequest(method, url + path, headers)
    sign(request)
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    connection.putrequest(method, path)
    for name, value in request.headers.items():
        connection.putheader(name, value)
    connection.putheader("Content-Length", str(size))
    connection.endheaders()
    for _ in range(blocks):
        connection.send(BLOCK)
    response = connection.getresponse()
    require(response.status, 200)
    return response


def variable(name: str) -> str:
    """Return a variable of `.local/env`, or end with the commands that set it."""
    try:
        return os.environ[name]
    except KeyError:
        raise SystemExit(f"{name} is not set: run `make up` and `set -a; . .local/env`") from None


def client() -> Any:
    """Return a client of the gateway that `make up` started, which makes each call once."""
    return boto3.client(
        "s3",
        endpoint_url=variable("BUCKETCAST_URL"),
        region_name=variable("AWS_REGION"),
        aws_access_key_id=variable("BUCKETCAST_ACCESS_KEY"),
        aws_secret_access_key=variable("BUCKETCAST_SECRET_KEY"),
        config=Config(retries={"total_max_attempts": 1}),
    )


def sign(request: AWSRequest) -> None:
    """Sign a request with the local user's keys."""
    keys = Credentials(variable("BUCKETCAST_ACCESS_KEY"), variable("BUCKETCAST_SECRET_KEY"))
    SigV4Auth(keys, "s3", variable("AWS_REGION")).add_auth(request)


def require(actual: object, expected: object) -> None:
    if actual != expected:
        raise SystemExit(f"found {actual}, not {expected}")


def receive(url: str, path: str) -> str:
    """Return the SHA-256 of an object."""
    response, digest = send(url, "GET", path, hashlib.sha256().hexdigest()), hashlib.sha256()
    while part := response.read(MIB):
        digest.update(part)
    return digest.hexdigest()


def report(title: str, blocks: int, seconds: float) -> None:
    print(f"{title:13} {blocks / 1_024:.1f} GiB in {seconds:6.1f} s, {blocks / seconds:5.0f} MiB/s")


@contextmanager
def gateway(s3: str) -> Iterator[tuple[str, psutil.Process]]:
    """Yield URL and process of a gateway in front of another S3."""
    port = ports.free()
    command = [str(Path(sys.executable).with_name("bucketcast")), "gateway", "--port", str(port)]
    variables = os.environ | {"AWS_ENDPOINT_URL_S3": s3}
    process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL)  # its audit log
    try:
        while ports.is_free(port):
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}", psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def measure_peak(process: psutil.Process) -> Iterator[list[int]]:
    """Yield a list with a process's peak resident memory, in bytes, sampled ten times a second."""
    peak, stop = [0], threading.Event()

    def sample() -> None:
        while not stop.wait(0.1):
            peak[0] = max(peak[0], process.memory_info().rss)

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield peak
    finally:
        stop.set()
        sampler.join()


if __name__ == "__main__":
    main()
