"""Every limit can be reached; `python -m tests.unit.limits` prints the figures."""

import pytest

from bucketcast.limits import INGEST_MEMORY_MB
from tests.unit.limits import of_gateway, of_ingest

GATEWAY_MEMORY_MB = 1_024


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in of_ingest.ENVIRON.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("limit", of_ingest.LIMITS, ids=[name for name, _ in of_ingest.LIMITS])
def test_the_worst_input_fits_into_ingest(limit: tuple[str, str]) -> None:
    taken = of_ingest.LIMITS[limit]()
    # Copies of events come on top of the rules.
    assert taken.megabytes <= (0.25 if "notif" in limit[0] else 0.6) * INGEST_MEMORY_MB
    assert taken.seconds <= (6 if "all buckets" in limit[0] else 3)
    assert taken.match <= 0.6, "ten times as long as measured"


@pytest.mark.parametrize("limit", of_gateway.LIMITS, ids=[name for name, _ in of_gateway.LIMITS])
def test_the_worst_input_fits_into_the_gateway(limit: tuple[str, str]) -> None:
    taken = of_gateway.LIMITS[limit]()
    assert taken.megabytes <= 0.6 * GATEWAY_MEMORY_MB
    assert taken.seconds <= (0.3 if "policy" in limit[0] else 10), "ten times as long as measured"
