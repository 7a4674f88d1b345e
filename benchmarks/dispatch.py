"""Dispatch into each real server, beside the same client's raw bulk write of the same rows.

The whole handler is timed, from the invocation's JSON to its response: 20 messages of 1,000 events,
as the throughput profile gets them. Raw writes and ours take turns over new rows, after one round
that warms both up. CPU is that of this process, so the server's is not in it. The ratio is the
figure: it does not depend on the machine. Run: `python -m benchmarks.dispatch [SERVER ...]`.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from benchmarks import events, nginx, raw
from bucketcast import targets
from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.event import Event
from tests import servers
from tests.servers.machine import MissingProgramError
from tests.servers.tls import issue

EVENTS = 20_000
BATCH = 1_000
ROUNDS = 5
MINIO = {"webhook": 4_670, "redis": 6_350, "postgres": 2_510}
"""Events a second of MinIO draining its queue_dir on such a machine: its figures to beat."""


class Figure(NamedTuple):
    """Events a second, and this process's CPU in ms per 1,000 events."""

    rate: float
    cpu: float


def main() -> None:
    names = _names(sys.argv[1:])
    os.environ |= {
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "POWERTOOLS_SERVICE_NAME": "benchmark",
    }
    print(
        f"{'target':<16} {'events/s':>9} {'raw/s':>9} {'ratio':>6} {'CPU ms/1,000':>13}"
        f" {'raw CPU':>8} {'MinIO/s':>8} {'times MinIO':>12}"
    )
    for name in names:
        try:
            _measure(name)
        except MissingProgramError as error:
            raise SystemExit(f"{name}: {error}") from None


def _names(words: list[str]) -> list[str]:
    """Return the servers that the words name, each a server or a kind; all if there are none."""
    by_word = {kind: servers.names(kind) for kind in targets.kinds()}
    by_word |= {name: [name] for names in by_word.values() for name in names}
    if unknown := [word for word in words if word not in by_word]:
        raise SystemExit(f"unknown: {', '.join(unknown)}; servers are {', '.join(by_word)}")
    return [name for word in words or targets.kinds() for name in by_word[word]]


def _measure(name: str) -> None:
    kind = name.partition("-")[0]
    with server(name) as settings:
        ours, bare = _compare(kind, settings)
    _print(name, ours, bare, MINIO.get(name))


@contextmanager
def server(name: str) -> Iterator[dict[str, str]]:
    """Yield the settings of a target at a real server that runs meanwhile."""
    if name == "webhook":
        with nginx.receiver() as settings:
            yield settings
        return
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        folder.chmod(0o755)  # PostgreSQL runs as another user
        running: Any = servers.run(name, folder / name, issue(folder / "tls"))
        if name == "nsq":  # as people run it; with each message on disk only the disk is measured
            running.configure(mem_queue_size=None, sync_every=None)
        try:
            yield running.settings()
        finally:
            running.stop()


def _compare(kind: str, settings: Mapping[str, str]) -> tuple[Figure, Figure]:
    """Return our figure and the raw client's, each the median of its rounds."""
    handle = _handler(kind, settings)
    bare_client = raw.load(kind)
    write = bare_client.writer(dict(settings))
    ours: list[Figure] = []
    bare: list[Figure] = []
    for number in range(ROUNDS + 1):
        first, second = number * 2 * EVENTS, (number * 2 + 1) * EVENTS
        batches = [bare_client.rows(part) for part in _batches(events.events(EVENTS, first))]
        invocation = _invocation(events.events(EVENTS, second))
        bare.append(_measure_run(partial(_write_all, write, batches)))
        ours.append(_measure_run(partial(handle, invocation)))
    return _median(ours[1:]), _median(bare[1:])


def _handler(kind: str, settings: Mapping[str, str]) -> Callable[[Any], None]:
    url = "http://127.0.0.1:1/000000000000/Bucketcast-"
    environ = {
        "BUCKETCAST_KIND": kind,
        "BUCKETCAST_ID": "_",
        "BUCKETCAST_SETTINGS": json.dumps(settings),
        "BUCKETCAST_QUEUE_URL": url + kind,
        "BUCKETCAST_DEAD_QUEUE_URL": f"{url}{kind}-dead",
    }
    os.environ |= environ
    from functions.dispatch.handler import build  # noqa: PLC0415 - it reads the environment

    handler = build(environ)
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 60_000)

    def handle(invocation: Any) -> None:
        with redirect_stdout(StringIO()):  # its metrics
            response = handler(invocation, context)
        if response["batchItemFailures"]:
            raise RuntimeError(f"{kind} did not accept all events")

    return handle


def _invocation(delivered: list[Event]) -> dict[str, Any]:
    now = round(time.time() * 1000)
    attributes = {"SentTimestamp": str(now), "ApproximateReceiveCount": "1"}
    return {
        "Records": [
            {
                "messageId": str(packed.start),
                "receiptHandle": "",
                "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:Bucketcast-target",
                "body": packed.body,
                "attributes": attributes,
            }
            for packed in pack([Delivery("rule", event) for event in delivered], BATCH)
        ]
    }


def _batches(written: list[Event]) -> Iterator[list[Event]]:
    for start in range(0, len(written), BATCH):
        yield written[start : start + BATCH]


def _write_all(write: raw.Writer, batches: list[raw.Batch]) -> None:
    for batch in batches:
        write(batch)


def _measure_run(run: Callable[[], object]) -> Figure:
    cpu, start = time.process_time(), time.perf_counter()
    run()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    return Figure(EVENTS / seconds, cpu_seconds / EVENTS * 1e6)


def _median(figures: list[Figure]) -> Figure:
    return Figure(
        statistics.median(figure.rate for figure in figures),
        statistics.median(figure.cpu for figure in figures),
    )


def _print(name: str, ours: Figure, bare: Figure, minio: int | None) -> None:
    print(
        f"{name:<16} {ours.rate:>9,.0f} {bare.rate:>9,.0f} {ours.rate / bare.rate:>6.2f}"
        f" {ours.cpu:>13.1f} {bare.cpu:>8.1f}"
        + (f" {minio:>8,} {ours.rate / minio:>12.1f}" if minio else f" {'-':>8} {'-':>12}"),
        flush=True,
    )


if __name__ == "__main__":
    main()
