"""What it costs that an event's way and time can be asked: CPU and bytes of the log, per event.

The lines of ingest and of one dispatch, for batches of the two profiles. Run:
`python -m benchmarks.tracing`.
"""

import statistics
import time
from collections.abc import Callable, Iterable
from functools import partial

from benchmarks import events as made
from bucketcast.cost.prices import prices
from bucketcast.delivery import tracing
from bucketcast.delivery.latency import histogram
from bucketcast.delivery.tracing import Outcomes
from bucketcast.event import Event
from bucketcast.rules import Hit

BATCHES = (1, 10, 1_000)
EVENTS = 20_000
ROUNDS = 7
DOLLARS_A_GB = prices().by_name["logs"].each
NOW = time.time()


def main() -> None:
    print(
        f"{'batch':>6} {'µs/event':>9} {'bytes/event':>12} {'$ per million events':>21} "
        f"{'latency, µs/event':>18}"
    )
    for size in BATCHES:
        batches = [made.events(size, first) for first in range(0, EVENTS, size)]
        seconds = _median(partial(_write, batches))
        length = sum(len(line) + 1 for batch in batches for line in _lines(batch)) / EVENTS
        dollars = length * 1e6 / 1e9 * DOLLARS_A_GB
        timed = _median(partial(_time, batches)) / EVENTS * 1e6
        print(
            f"{size:>6,} {seconds / EVENTS * 1e6:>9.2f} {length:>12.0f} {dollars:>21.3f} "
            f"{timed:>18.2f}"
        )


def _lines(batch: list[Event]) -> Iterable[str]:
    hits = (Hit("arn:minio:sqs::primary:webhook", "0123456789abcdef"),)
    yield from tracing.received([(event, hits) for event in batch])
    yield from tracing.dispatched(hits[0].arn, Outcomes(delivered=batch))


def _write(batches: list[list[Event]]) -> None:
    for batch in batches:
        list(_lines(batch))


def _time(batches: list[list[Event]]) -> None:
    for batch in batches:
        histogram(batch, NOW)


def _median(run: Callable[[], None]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


if __name__ == "__main__":
    main()
