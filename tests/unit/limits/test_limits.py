"""Every limit that meets ingest can be reached."""

import pytest

from bucketcast.limits import INGEST_MEMORY_MB
from tests.unit.limits.of_ingest import ENVIRON, LIMITS


@pytest.mark.parametrize("limit", LIMITS, ids=[name for name, _ in LIMITS])
def test_the_worst_input_fits_into_ingest(
    monkeypatch: pytest.MonkeyPatch, limit: tuple[str, str]
) -> None:
    """`python -m tests.unit.limits` prints the figures."""
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    taken = LIMITS[limit]()
    # Copies of events come on top of the rules.
    assert taken.megabytes <= (0.25 if "notif" in limit[0] else 0.6) * INGEST_MEMORY_MB
    assert taken.seconds <= (6 if "all buckets" in limit[0] else 3)
    assert taken.match <= 0.6, "ten times as long as measured"
