"""The calls for a queue, and their price, beside a simulation of Lambda's pollers."""

import pytest

from benchmarks.pollers import CASES, Case, dollars, simulate
from bucketcast.cost import calls


@pytest.mark.parametrize(
    ("rate", "window"), [(1, 0), (10, 0), (100, 0), (1, 1), (10, 1), (100, 1), (1_000, 1)]
)
def test_calls_are_those_of_five_pollers(rate: float, window: float) -> None:
    seen = simulate(rate, window)
    batch = calls.at_once(rate, window)
    assert batch == pytest.approx(seen.batch, rel=0.15)
    assert 1 / calls.received_together(rate, window) == pytest.approx(seen.receives, rel=0.15)
    assert 1 / calls.deleted_together(batch) == pytest.approx(seen.deletes, rel=0.15)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_estimate_is_that_of_the_simulation(case: Case) -> None:
    estimated, simulated = dollars(case)
    assert estimated == pytest.approx(simulated, rel=0.15)
