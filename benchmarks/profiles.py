"""The profiles side by side: the cost of a million events to one webhook, at some rates.

Run: `python -m benchmarks.profiles`; it prints the table of docs/cost.md.
"""

import sys
from typing import NamedTuple

from bucketcast.config import load
from bucketcast.cost.bill import Bill
from bucketcast.cost.estimate import Load, estimate
from bucketcast.terminal.output import plain

SERVICES = ("SQS", "Lambda", "DynamoDB", "CloudWatch")


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


CASES = (
    Case("latency", 0, 1),
    Case("latency", 0, 10),
    Case("latency", 1, 10),
    Case("latency", 0, 100),
    Case("latency", 0, 500),
    Case("throughput", 0, 10),
    Case("throughput", 0, 100),
    Case("throughput", 0, 1_000),
)


def per_million(bill: Bill) -> dict[str, float]:
    """Return the dollars a million events by service, and together, without what is fixed."""
    variable = bill._replace(lines=[line for line in bill.lines if not line.fixed])
    sums = variable.by(lambda line: line.service)
    dollars = {name: bill.per_million(sums.get(name, 0.0)) for name in SERVICES}
    return {**dollars, "TOTAL": bill.per_million(variable.total())}


def table() -> str:
    """Return the table of all cases."""
    columns = ("A MILLION EVENTS, $", *SERVICES, "TOTAL")
    sums = {case.name: per_million(case.bill()).values() for case in CASES}
    rows = [(name, *(f"{dollars:.2f}" for dollars in costs)) for name, costs in sums.items()]
    return plain(columns, rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table())
