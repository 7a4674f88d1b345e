"""The function that starts a scan when an Inventory report is there."""

from types import ModuleType
from typing import Any

import pytest

from tests.unit.samples import lambda_context

FOLDER = "s3://inventories/uploads/daily"


class Glue:
    """Keeps what it was asked for."""

    def __init__(self) -> None:
        self.started: list[tuple[str, dict[str, str]]] = []

    def start_job_run(
        self,
        JobName: str,  # noqa: N803
        Arguments: dict[str, str],  # noqa: N803
        **queuing: bool,
    ) -> None:
        assert queuing == {"JobRunQueuingEnabled": True}
        self.started.append((JobName, Arguments))


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("BUCKETCAST_JOB", "Bucketcast-scan")
    monkeypatch.setenv("BUCKETCAST_RUNS", "s3://pipeline/runs/scan")
    from functions.scan_start import handler  # noqa: PLC0415 - reads its environment

    monkeypatch.setattr(handler, "_glue", Glue())
    return handler


def _event(key: str) -> dict[str, Any]:
    arguments = {"--bucket": "uploads", "--source": FOLDER}
    return {"id": "event-1", "bucket": "inventories", "key": key, "arguments": arguments}


def test_a_finished_report_is_scanned(start: ModuleType) -> None:
    start.handler(_event("uploads/daily/2026-11-22T01-00Z/manifest.checksum"), lambda_context())
    ((job, arguments),) = start._glue.started
    assert job == "Bucketcast-scan"
    assert arguments == {
        "--bucket": "uploads",
        "--source": f"{FOLDER}/2026-11-22T01-00Z/manifest.json",
        "--run": "s3://pipeline/runs/scan/uploads/event-1",
    }


def test_a_report_of_a_folder_below_the_source_is_refused(start: ModuleType) -> None:
    """Those of two configurations would each clear the findings of the other."""
    key = "uploads/daily/a-configuration/2026-11-22T01-00Z/manifest.checksum"
    with pytest.raises(
        ValueError,
        match=r"its scan has source = '\S+/uploads/daily'; allowed is '\S+/a-configuration'",
    ):
        start.handler(_event(key), lambda_context())
    assert start._glue.started == []


def test_nothing_else_starts_one(start: ModuleType) -> None:
    start.handler(_event("uploads/daily/2026-11-22T01-00Z/manifest.json"), lambda_context())
    assert start._glue.started == []
