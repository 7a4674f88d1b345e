"""Every limit that meets ingest can be reached."""

import pytest

from bucketcast.limits import INGEST_MEMORY_MB
from tests.unit.ingest.limits import ENVIRON, LIMITS, of_all_buckets


@pytest.mark.parametrize("limit", LIMITS, ids=[name for name, _ in LIMITS])
def test_the_worst_input_fits_into_ingest(
    monkeypatch: pytest.MonkeyPatch, limit: tuple[str, str]
) -> None:
    """`python -m tests.unit.ingest` prints the figures."""
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    taken = LIMITS[limit]()
    assert taken.megabytes <= 0.6 * INGEST_MEMORY_MB
    assert taken.seconds <= (6 if LIMITS[limit] is of_all_buckets else 3)
