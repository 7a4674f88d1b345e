"""`scan` starts a run and prints what it found."""

from tests.unit.conftest import Run, cells
from tests.unit.moto_aws import MotoAws
from tests.unit.pipeline.command.fake_pipeline import SCANNED, deploy


def test_scan_follows_its_run_and_prints_the_findings(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, SCANNED)
    reply = run("scan", "uploads", "--alert-excess-versions", "1000")
    assert reply.code == 0, reply.err
    ((job, arguments),) = pipeline.started
    folder = arguments.pop("--run")
    assert folder.startswith("s3://pipeline/runs/scan/uploads/")
    assert (job, arguments) == (
        "Bucketcast-scan",
        {"--bucket": "uploads", "--alert_excess_versions": "1000"},
    )
    assert cells(reply.out)[:2] == [
        ["KIND", "STATE", "SINCE", "KEY", "COUNT", "BYTES"],
        ["ManyVersions", "new", "2026-03-01", "a.csv", "1,001", "20,000"],
    ]
    assert "showing 1 of 155 findings; the report has them all" in reply.out
    assert "ManyVersions: 100 new, 54 same; BigPrefix: 1 cleared" in reply.out
    assert "1 event sent" in reply.out
    assert f"aws s3 cp {SCANNED['report']} report.html" in reply.out
    assert "gluestudio/home?region=us-east-1#/job/Bucketcast-scan/run/jr_1" in reply.err
    assert reply.err.count("sending: 3 of 5 events") == 1
    assert "note: the source lists no versions" in reply.err


def test_scan_takes_the_options_of_the_table_that_are_not_given(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, SCANNED)
    reply = run("scan", "archive", "--alert-worse", "20", "--dry-run")
    ((_, arguments),) = pipeline.started
    del arguments["--run"]
    source = "s3://inventories/archive/weekly"
    given = {"--bucket": "archive", "--alert_worse": "20", "--dry_run": "on"}
    assert arguments == {**given, "--source": source}
    assert f"of [scan.archive]: source = {source}" in reply.err


def test_scan_takes_an_empty_option_for_one_that_is_not_set(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, SCANNED)
    assert "of [scan" not in run("scan", "archive", "--source", "", "--alert-worse", "").err
    ((_, arguments),) = pipeline.started
    assert arguments.keys() == {"--run", "--bucket"}


def test_scan_prints_what_the_bucket_holds_in_80_columns(run: Run, aws: MotoAws) -> None:
    deploy(aws, SCANNED)
    lines = run("scan", "uploads").out.splitlines()
    usage = lines[next(nth for nth, line in enumerate(lines) if line.startswith("USAGE")) :][:9]
    assert max(map(len, usage)) < 80
    assert [line.split()[-1] for line in usage[:1]] == ["BYTES"]
    assert usage[1].split() == ["total", "13,000,000,000", "4", "2", "60.0", "GiB"]
    assert usage[2].split() == ["GLACIER", "1"]
    assert usage[3].split() == ["incomplete", "uploads", "37", "1.5", "KiB"]
    assert [line.split()[0][-10:] for line in usage[4:]] == ["long/long/"] * 5
    assert "size_class" not in "".join(lines)


def test_json_output_is_one_document(run: Run, aws: MotoAws) -> None:
    deploy(aws, SCANNED)
    reply = run("scan", "uploads", "--json")
    assert reply.document["status"] == "success"
    assert reply.document["findings"] == SCANNED["findings"]
    assert reply.document["usage"] == SCANNED["usage"]
    assert reply.document["run"]
    assert reply.err == ""
