"""The simulation beside the model, figure by figure."""

from benchmarks.scale.model import Case, dollars_and_calls, flow
from benchmarks.scale.simulation import stack


def compare(case: Case) -> dict[str, tuple[float, float]]:
    """Return what the model says and what was seen, by the name of the figure."""
    hops, (dollars, calls) = flow(case), dollars_and_calls(case)
    # Long enough for some hundred calls, or thousands of messages.
    seconds = max(120.0 if case.window else 12.0, 2_000 / case.rate)
    seconds = min(seconds, 6_000_000 / case.rate)
    pollers = hops.ingest.pollers, hops.dispatch.pollers
    seen = stack(case.rate, case.targets, case.window, pollers, seconds)
    return {
        "P50": (hops.delay(0.5), seen.p50),
        "P99": (hops.delay(0.99), seen.p99),
        "INGEST": (hops.ingest.busy, seen.busy_ingest),
        "TARGET": (hops.dispatch.busy, seen.busy_dispatch),
        "IN FLIGHT": (hops.ingest.in_flight, seen.in_flight),
        "READS": (hops.ingest.calls, seen.rule_reads),
        "CALLS": (calls, seen.calls),
        "$ A DAY": (dollars, seen.dollars),
    }
