"""`scan --list` reads the results of earlier scans."""

import json

from tests.unit.conftest import Run, cells
from tests.unit.moto_aws import MotoAws, client


def make_pipeline(aws: MotoAws) -> None:
    jobs = {job: f"Bucketcast-{job}" for job in ("scan", "backfill", "reconcile")}
    aws.outputs["PipelineOutput1"] = json.dumps({"bucket": "pipeline", "jobs": jobs, "scans": {}})
    client("s3").create_bucket(Bucket="pipeline")


def put_file(run: str, name: str, content: str) -> None:
    client("s3").put_object(Bucket="pipeline", Key=f"runs/scan/{run}/{name}", Body=content.encode())


def put_scan(run: str, day: int, objects: int, bytes_: int, state: str) -> None:
    """Write the result of a scan with three findings that succeeded."""
    result = {
        "status": "success",
        "bucket": "uploads",
        "prefix": "",
        "source": "listing",
        "taken": f"2026-03-0{day}T10:00:00+00:00",
        "usage": [{"dimension": "total", "objects": objects, "bytes": bytes_}],
        "numbers": {"BigPrefix": {state: 3}},
        "report": f"s3://pipeline/runs/scan/{run}/report/index.html",
    }
    put_file(run, "result.json", json.dumps(result))


def test_the_scans_of_a_bucket_are_listed_the_oldest_first(run: Run, aws: MotoAws) -> None:
    """Without reading those of other buckets, of which there may be thousands."""
    make_pipeline(aws)
    put_scan("uploads/b", 2, 12_000, 2048, "new")
    put_scan("uploads/c", 1, 11_000, 1024, "cleared")
    put_file("uploads-2/a", "result.json", "it is not read")
    put_file("uploads/d", "result.json", '{"status": "error", "error": "it was denied"}')
    put_file("uploads/e", "progress.json", "{}")
    reply = run("scan", "uploads", "--list")
    report = "s3://pipeline/runs/scan/uploads/{}/report/index.html"
    assert cells(reply.out)[1:] == [
        ["2026-03-01T10:00Z", "listing", "11,000", "1.0 KiB", "0", report.format("c")],
        ["2026-03-02T10:00Z", "listing", "12,000", "2.0 KiB", "3", report.format("b")],
    ]
    document = run("scan", "uploads", "--list", "--json").document
    assert [(scan["run"], scan["taken"][:10]) for scan in document["scans"]] == [
        ("uploads/c", "2026-03-01"),
        ("uploads/b", "2026-03-02"),
    ]


def test_a_bucket_without_scans_is_no_error(run: Run, aws: MotoAws) -> None:
    make_pipeline(aws)
    reply = run("scan", "uploads", "--list")
    assert (reply.code, reply.err) == (0, "no scans of uploads\n")
