"""Every limit can be reached; `python -m tests.unit.limits` prints the figures."""

import pytest

from bucketcast import limits
from bucketcast.limits import GATEWAY_MEMORY_MB, INGEST_MEMORY_MB
from tests.unit.limits import of_gateway, of_ingest, of_scanner
from tests.unit.limits.of_ingest import Row


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in of_ingest.ENVIRON.items():
        monkeypatch.setenv(name, value)


def test_each_limit_has_a_row() -> None:
    every = (*of_ingest.ROWS, *of_gateway.ROWS, *of_scanner.ROWS)
    rows = [name for row in every for name in row.limits]
    assert {*rows} == {name for name in vars(limits) if name.startswith("MOST_")}


@pytest.mark.parametrize("row", of_ingest.ROWS, ids=lambda row: row.name)
def test_the_worst_input_fits_into_ingest(row: Row) -> None:
    taken = row.take()
    # Copies of events come on top of the rules.
    assert taken.megabytes <= (0.25 if "notifications" in row.name else 0.6) * INGEST_MEMORY_MB
    assert taken.seconds <= 3
    assert taken.match <= 0.6, "ten times as long as measured"


@pytest.mark.parametrize("row", of_gateway.ROWS, ids=lambda row: row.name)
def test_the_worst_input_fits_into_the_gateway(row: Row) -> None:
    taken = row.take()
    assert taken.megabytes <= 0.6 * GATEWAY_MEMORY_MB
    assert taken.seconds <= (0.3 if "policy" in row.name else 10), "ten times as long as measured"


@pytest.mark.parametrize("row", of_scanner.ROWS, ids=lambda row: row.limits[0])
def test_the_worst_input_fits_into_the_driver_of_a_scan(row: Row) -> None:
    assert row.take().megabytes <= 0.6 * of_scanner.DRIVER_MB
