"""What 10,000 events a minute in the console's live view cost its pages, its memory and a browser.

Needs a running `make up`, whose `.local/env` is exported, and Chromium. Events go into the ingress
queue as S3 sends them; a browser shows them live, and another client opens pages all the time.
Memory is read once the console holds as many events as it will, and at the end.
Run: `python -m benchmarks.console [MINUTES]`.
"""

import multiprocessing
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from itertools import islice
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import NamedTuple

import boto3
import urllib3

from benchmarks import events
from benchmarks.gateway import variable
from tests.e2e.console.browser import Browser

PER_MINUTE = 10_000
PER_CALL = 10
FULL_SECONDS = 90.0
"""The console holds 5,000 events, and the steps of 10,000."""
PAUSE_SECONDS = 0.2
PAGES = ("/", "/events", "/events?bucket=uploads&prefix=photos/", "/targets/webhook:primary", "")
"""The last one is that of the newest event."""


class Memory(NamedTuple):
    """Bytes of the server and of the page's scripts, and nodes of its document."""

    server: int
    heap: int
    nodes: int


def main() -> None:
    """Print the time of each page, and memory at the start and at the end."""
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    with console() as (process, address), browser() as window, load():
        window.open(address)
        base = address.partition("/?")[0]
        window.open(f"{base}/events")
        window.until_text("events? since")
        time.sleep(FULL_SECONDS)
        before = read_memory(process, window)
        seconds = open_pages(address, base, 60 * minutes)
        after = read_memory(process, window)
        counted = re.search(r"([\d,]+) events? since", window.text())
    print("| page | opened | median, ms | 95 %, ms |\n|---|---|---|---|")
    for page, times in seconds.items():
        p95 = statistics.quantiles(times, n=20)[-1]
        median = statistics.median(times)
        print(f"| {page or 'an event'} | {len(times)} | {median * 1e3:.0f} | {p95 * 1e3:.0f} |")
    print("\n| memory | start | end |\n|---|---|---|")
    print(f"| server, MB | {before.server / 1e6:.1f} | {after.server / 1e6:.1f} |")
    print(f"| browser's heap, MB | {before.heap / 1e6:.2f} | {after.heap / 1e6:.2f} |")
    print(f"| browser's nodes | {before.nodes:,} | {after.nodes:,} |")
    print(f"\n{counted[1] if counted else 'no'} events shown in {minutes:g} minutes and a start")


@contextmanager
def console() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the console; yield its process and address."""
    command = [str(Path(sys.executable).with_name("bucketcast")), "console"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process, next(iter(process.stdout or ())).split()[-1]
    finally:
        process.terminate()
        process.wait()


@contextmanager
def browser() -> Iterator[Browser]:
    """Run Chromium with a profile of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        window = Browser(Path(folder) / "chromium")
        try:
            window.show(1_280)
            yield window
        finally:
            window.close()


@contextmanager
def load() -> Iterator[None]:
    """Send events in a process of its own until the end."""
    stop = multiprocessing.Event()
    process = multiprocessing.Process(target=send, args=(stop,))
    process.start()
    try:
        yield
    finally:
        stop.set()
        process.join()


def send(stop: Event) -> None:
    """Send so many messages a minute, one event each."""
    sqs, queue = boto3.client("sqs"), variable("BUCKETCAST_INGRESS_QUEUE_URL")
    bodies, due = events.bodies(100 * PER_MINUTE), time.monotonic()
    while not stop.is_set():
        some = islice(bodies, PER_CALL)
        sqs.send_message_batch(
            QueueUrl=queue,
            Entries=[{"Id": str(number), "MessageBody": body} for number, body in enumerate(some)],
        )
        due += 60 * PER_CALL / PER_MINUTE
        time.sleep(max(0.0, due - time.monotonic()))


def open_pages(address: str, base: str, seconds: float) -> dict[str, list[float]]:
    """Open the pages in turns for so long; return the seconds that each took."""
    http = urllib3.PoolManager()
    cookie = http.request("GET", address, redirect=False).headers["set-cookie"].partition(";")[0]
    times: dict[str, list[float]] = {page: [] for page in PAGES}
    newest, end = "/events", time.monotonic() + seconds
    while time.monotonic() < end:
        for page, taken in times.items():
            began = time.perf_counter()
            answer = http.request("GET", base + (page or newest), headers={"cookie": cookie})
            taken.append(time.perf_counter() - began)
            if answer.status != HTTPStatus.OK:
                raise SystemExit(f"{page or newest}: {answer.data.decode()}")
            if found := re.search(r'href="(/events/\w+)', answer.data.decode()):
                newest = found[1]
            time.sleep(PAUSE_SECONDS)
    return times


def read_memory(process: subprocess.Popen[str], window: Browser) -> Memory:
    """Return what is in use after a collection of garbage in the page."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    resident = 1_024 * int(status.partition("VmRSS:")[2].split()[0])
    window.command("HeapProfiler.collectGarbage")
    window.command("Performance.enable")
    metrics = window.command("Performance.getMetrics")["metrics"]
    found = {each["name"]: each["value"] for each in metrics}
    return Memory(resident, int(found["JSHeapUsedSize"]), int(found["Nodes"]))


if __name__ == "__main__":
    main()
