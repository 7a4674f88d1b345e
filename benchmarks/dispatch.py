"""Dispatch into each real server, beside the same client's raw bulk write of the same rows.

The whole handler is timed, from the invocation's JSON to its response: 20 messages of 1,000 events,
as the throughput profile gets them. Raw writes and ours take turns over new rows, after one round
that warms both up. CPU is that of this process, so the server's is not in it. Each figure is the
median of the rounds, with the least and the most. The ratio is what to look at: it does not depend
on the machine. Run: `python -m benchmarks.dispatch [SERVER ...]`.
"""

import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks import events, nginx, raw
from bucketcast import targets
from bucketcast.delivery.envelope import Delivery, pack
from bucketcast.event import Event
from bucketcast.targets.base import Target
from tests import servers
from tests.servers.machine import MissingProgramError
from tests.servers.tls import issue

EVENTS = 20_000
BATCH = 1_000
ROUNDS = 5


class Figure(NamedTuple):
    """Events a second, and this process's CPU in ms per 1,000 events."""

    rate: float
    cpu: float


def main() -> None:
    print_header("target", "events/s", "raw client/s", "ratio", "CPU ms per 1,000", "raw CPU")
    for name in server_names(sys.argv[1:]):
        kind = name.partition("-")[0]
        with server(name) as settings:
            print_row(name, *_compare(kind, settings))


def server_names(words: list[str]) -> list[str]:
    """Return the servers that the words name, each a server or a kind; all if there are none."""
    by_word = {kind: servers.names(kind) for kind in targets.kinds()}
    by_word |= {name: [name] for names in by_word.values() for name in names}
    if unknown := [word for word in words if word not in by_word]:
        raise SystemExit(f"unknown: {', '.join(unknown)}; servers are {', '.join(by_word)}")
    return [name for word in words or targets.kinds() for name in by_word[word]]


@contextmanager
def server(name: str) -> Iterator[dict[str, str]]:
    """Yield the settings of a target at a real server that runs meanwhile.

    Beside it runs an SQS that takes the heartbeats of a batch.

    Raises:
        SystemExit: its program is not on this machine.
    """
    with (
        tempfile.TemporaryDirectory() as path,
        nginx.receiver() as sqs,
        patch.dict(os.environ, AWS_ENDPOINT_URL_SQS=sqs["endpoint"]),
    ):
        if name == "webhook":
            with nginx.receiver() as settings:
                yield settings
            return
        folder = Path(path)
        folder.chmod(0o755)  # PostgreSQL runs as another user
        try:
            running: Any = servers.run(name, folder / name, issue(folder / "tls"))
        except MissingProgramError as error:
            raise SystemExit(f"{name}: {error}") from None
        if name == "nsq":  # as people run it; with each message on disk only the disk is measured
            running.configure(mem_queue_size=None, sync_every=None)
        try:
            yield running.settings()
        finally:
            running.stop()


def _compare(kind: str, settings: Mapping[str, str]) -> tuple[list[Figure], list[Figure]]:
    """Return our figures and the raw client's, of each round."""
    bare_client = raw.load(kind)
    ours: list[Figure] = []
    bare: list[Figure] = []
    with bare_client.writer(dict(settings)) as write, handler(kind, settings) as handle:
        for number in range(ROUNDS + 1):
            first, second = number * 2 * EVENTS, (number * 2 + 1) * EVENTS
            batches = [bare_client.rows(part) for part in _batches(events.events(EVENTS, first))]
            records = invocation(events.events(EVENTS, second))
            bare.append(measure(partial(_write_all, write, batches)))
            ours.append(measure(partial(handle, records)))
    return ours[1:], bare[1:]


@contextmanager
def handler(kind: str, settings: Mapping[str, str]) -> Iterator[Callable[[Any], None]]:
    """Yield what passes an invocation to the handler, and raises if an event did not arrive.

    A function never closes its connections, which end with its process. These end before it.
    """
    url = "http://127.0.0.1:1/000000000000/Bucketcast-"
    environ = {
        "BUCKETCAST_KIND": kind,
        "BUCKETCAST_ID": "_",
        "BUCKETCAST_SETTINGS": json.dumps(settings),
        "BUCKETCAST_QUEUE_URL": url + kind,
        "BUCKETCAST_DEAD_QUEUE_URL": f"{url}{kind}-dead",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "POWERTOOLS_SERVICE_NAME": "benchmark",
    }
    os.environ |= environ
    from functions.dispatch.handler import build  # noqa: PLC0415 - it reads the environment

    opened = ExitStack()

    def load(name: str) -> type[Target]:
        class Closed(targets.load(name)):  # type: ignore[misc]
            def __init__(self, settings: Any) -> None:
                super().__init__(settings)
                opened.callback(self.close)

        return Closed

    built = build(environ, load)
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 60_000)

    def handle(records: Any) -> None:
        with redirect_stdout(StringIO()):  # its metrics
            response = built(records, context)
        if response["batchItemFailures"]:
            raise RuntimeError(f"{kind} did not accept all events")

    with opened:
        yield handle


def invocation(delivered: list[Event]) -> dict[str, Any]:
    """Return the invocation with these events, in messages as ingest packs them."""
    packed = pack([Delivery("rule", event) for event in delivered], BATCH)
    return {"Records": records(each.body for each in packed)}


def records(bodies: Iterable[str]) -> list[dict[str, Any]]:
    """Return messages with these bodies, sent now, as a function gets them."""
    now = round(time.time() * 1000)
    attributes = {"SentTimestamp": str(now), "ApproximateReceiveCount": "1"}
    return [
        {
            "messageId": str(number),
            "receiptHandle": "",
            "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:Bucketcast-target",
            "body": body,
            "attributes": attributes,
        }
        for number, body in enumerate(bodies)
    ]


def _batches(written: list[Event]) -> Iterator[list[Event]]:
    for start in range(0, len(written), BATCH):
        yield written[start : start + BATCH]


def _write_all(write: raw.Writer, batches: list[raw.Batch]) -> None:
    for batch in batches:
        write(batch)


def measure(run: Callable[[], object]) -> Figure:
    """Return the figure of a run with `EVENTS` events."""
    gc.collect()
    gc.freeze()  # as a function does once it has started: modules are not searched for garbage
    cpu, start = time.process_time(), time.perf_counter()
    run()
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    return Figure(EVENTS / seconds, cpu_seconds / EVENTS * 1e6)


def print_header(*columns: str) -> None:
    """Print the head of a table in Markdown."""
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")


def print_row(name: str, ours: Sequence[Figure], others: Sequence[Figure]) -> None:
    """Print rates, the ratios of the rounds, and CPU."""
    ratios = [mine.rate / other.rate for mine, other in zip(ours, others, strict=True)]
    columns = [
        *(_spread([each.rate for each in figures], ",.0f") for figures in (ours, others)),
        _spread(ratios, ".2f"),
        *(_spread([each.cpu for each in figures], ".1f") for figures in (ours, others)),
    ]
    print(f"| {name} | {' | '.join(columns)} |", flush=True)


def _spread(values: Sequence[float], form: str) -> str:
    """Return the median, the least and the most."""
    median, least, most = statistics.median(values), min(values), max(values)
    return f"{median:{form}} ({least:{form}}–{most:{form}})"  # noqa: RUF001 - as in the documents


if __name__ == "__main__":
    main()
