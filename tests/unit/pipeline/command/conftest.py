"""Runs that are looked at without a pause."""

import pytest

from bucketcast.pipeline.command import jobs


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "POLL_SECONDS", 0)
    monkeypatch.delenv("BUCKETCAST_SPARK_SUBMIT", raising=False)
