"""Webhooks that take their time, or allow only so many requests at once.

nginx waits before each answer by its echo module, and answers 429 above a number of requests at
once by its own `limit_conn`; both are counted in its log. Each endpoint gets 20 batches of 1,000
events per round, after one round that finds its limit. An event that stays in its queue is sent
again at once. Run: `python -m benchmarks.webhooks`.
"""

import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import events, nginx
from bucketcast.event import Event
from bucketcast.settings import options
from bucketcast.targets.webhook import Target

EVENTS = 20_000
BATCH = 1_000
ROUNDS = 5
ECHO = Path("/usr/lib/nginx/modules/ngx_http_echo_module.so")


class Endpoint(NamedTuple):
    """Takes `seconds` for a request, and allows so many at once; 0 for any number.

    `minio` are the events a second of MinIO draining its queue_dir into such a one, 0 if unknown:
    it sends them one after the other.
    """

    name: str
    seconds: float
    allowed: int = 0
    minio: int = 0


ENDPOINTS = (
    Endpoint("10 ms", 0.01, minio=88),
    Endpoint("100 ms", 0.1, minio=9),
    Endpoint("10 ms, 20 at once", 0.01, 20),
)


class Figure(NamedTuple):
    """Events a second, CPU of this process in ms per 1,000, and how many stayed in the queue."""

    rate: float
    cpu: float
    stayed: int


def main() -> None:
    if not ECHO.exists():
        raise SystemExit(f"{ECHO} is missing: tests/servers/install installs it")
    print(
        f"{'endpoint':<18} {'events/s':>9} {'of its most':>12} {'MinIO/s':>8} {'times MinIO':>12}"
        f" {'refused':>8} {'stayed':>7} {'lost':>5} {'CPU ms/1,000':>13}"
    )
    for endpoint in ENDPOINTS:
        _measure(endpoint)


def _measure(endpoint: Endpoint) -> None:
    written = events.events(EVENTS)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "status")
        limit = f"limit_conn all {endpoint.allowed};" if endpoint.allowed else ""
        location = f"""
        location /slow {{
          access_log {log} status; {limit}
          echo_read_request_body; echo_sleep {endpoint.seconds}; echo thanks;
        }}
        """
        with nginx.receiver(location, modules=f"load_module {ECHO};") as settings:
            slow = {"endpoint": f"{settings['endpoint']}slow"}
            with Target(options.read(Target.Settings, slow)) as target:
                figures = [_send(target, written) for _ in range(ROUNDS + 1)]
        _print(endpoint, figures, Counter(log.read_text().split()))


def _send(target: Target, written: Sequence[Event]) -> Figure:
    cpu, start, stayed = time.process_time(), time.perf_counter(), 0
    for first in range(0, EVENTS, BATCH):
        left = written[first : first + BATCH]
        while failures := target.send(left):
            stayed += len(failures)
            left = [left[index] for index in failures]
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    return Figure(EVENTS / seconds, cpu_seconds / EVENTS * 1e6, stayed)


def _print(endpoint: Endpoint, figures: Sequence[Figure], answers: Counter[str]) -> None:
    rate = statistics.median(figure.rate for figure in figures[1:])
    cpu = statistics.median(figure.cpu for figure in figures[1:])
    most = rate * endpoint.seconds / endpoint.allowed if endpoint.allowed else None
    times = rate / endpoint.minio if endpoint.minio else None
    refused = answers["429"] / answers.total()
    stayed = sum(figure.stayed for figure in figures)
    lost = len(figures) * EVENTS - answers["200"]
    print(
        f"{endpoint.name:<18} {rate:>9,.0f} {_text(most, '.2f'):>12}"
        f" {endpoint.minio or '-':>8} {_text(times, '.0f'):>12}"
        f" {refused:>8.2%} {stayed:>7} {lost:>5} {cpu:>13.1f}",
        flush=True,
    )


def _text(figure: float | None, form: str) -> str:
    return "-" if figure is None else f"{figure:{form}}"


if __name__ == "__main__":
    main()
