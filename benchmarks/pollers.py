"""`bucketcast cost` beside a simulation of Lambda's pollers, as AWS documents them.

Run: `python -m benchmarks.pollers`; it prints the dollars of a month, without what is fixed, to one
webhook in each profile at some rates.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple
from unittest.mock import patch

from benchmarks.scale.simulation import Queue, arrivals
from bucketcast.config import load
from bucketcast.cost import calls
from bucketcast.cost.bill import Bill
from bucketcast.cost.calls import BATCH_SECONDS, POLLERS, RECEIVE_SECONDS
from bucketcast.cost.estimate import Load, estimate
from bucketcast.limits import BATCH_MESSAGES, INGEST_WINDOW_MESSAGES, SQS_CALL_MESSAGES
from bucketcast.terminal.output import plain


class Case(NamedTuple):
    """A profile, the window of ingest, and events a second."""

    profile: str
    window: int
    rate: int

    @property
    def name(self) -> str:
        window = f", window {self.window}s" if self.window else ""
        return f"{self.profile}{window}, {self.rate:,}/s"

    def bill(self) -> Bill:
        """Return the bill of the case."""
        hook = {"endpoint": "https://example.org/", "deploy": {"profile": self.profile}}
        tables = {"notify_webhook": {"primary": hook}, "ingest": {"window": f"{self.window}s"}}
        config = load(tables, {}, local=False)
        return estimate(config, Load(events_a_day=self.rate * 86_400))


CASES = tuple(
    Case(profile, 0, rate) for profile in ("latency", "throughput") for rate in (1, 10, 100, 1_000)
)


class Seen(NamedTuple):
    """Messages a batch, and receives and deletes a message."""

    batch: float
    receives: float
    deletes: float


@cache
def simulate(
    rate: float, window: float, seconds: float = BATCH_SECONDS, messages: int = 20_000
) -> Seen:
    """Play so many messages, which come by chance; a long poll ends with the first of them.

    A poller is busy for so many `seconds` with a batch.
    """
    queue = Queue(
        arrivals(rate, messages / rate),
        window=window,
        most=INGEST_WINDOW_MESSAGES if window else BATCH_MESSAGES,
        pollers=POLLERS,
        seconds=lambda _: seconds - RECEIVE_SECONDS,
    ).play()
    batches = [len(call.messages) for call in queue.calls]
    deletes = sum(-(-batch // SQS_CALL_MESSAGES) for batch in batches)
    received = sum(batches)
    return Seen(received / len(batches), len(queue.receives) / received, deletes / received)


@contextmanager
def simulated() -> Iterator[None]:
    """Let the estimate count the calls of the simulated pollers."""
    deletes: dict[float, float] = {}

    def at_once(*each: float) -> float:
        seen = simulate(*each)
        deletes[seen.batch] = seen.deletes
        return seen.batch

    with (
        patch.object(calls, "at_once", at_once),
        patch.object(calls, "received_together", lambda *each: 1 / simulate(*each).receives),
        patch.object(calls, "deleted_together", lambda batch: 1 / deletes[batch]),
    ):
        yield


def dollars(case: Case) -> tuple[float, float]:
    """Return what a month costs without what is fixed: by the model, and by the simulation."""
    by_model = case.bill().total(fixed=False)
    with simulated():
        return by_model, case.bill().total(fixed=False)


def main() -> None:
    rows = []
    for case in CASES:
        model, seen = dollars(case)
        rows.append((case.name, f"{model:,.2f}", f"{seen:,.2f}", f"{model / seen - 1:+.0%}"))
    columns = ("A MONTH, $", "MODEL", "SIMULATED", "DIFFERENCE")
    sys.stdout.write(plain(columns, rows) + "\n")


if __name__ == "__main__":
    main()
