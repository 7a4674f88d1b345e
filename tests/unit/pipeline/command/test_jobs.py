"""What each command says of its run: why it did not begin, how it failed, what a local one left."""

import sys
import tempfile
from pathlib import Path

import pytest

from tests.unit.conftest import Run
from tests.unit.moto_aws import MotoAws
from tests.unit.pipeline.command.fake_pipeline import SCANNED, TO_WEBHOOK, WEBHOOK, deploy

BACKFILL, DAY = " ".join(TO_WEBHOOK), "2026-03-15"


@pytest.mark.parametrize(
    ("result", "state", "said"),
    [
        ("wrong checksum", "FAILED", "scan failed: wrong checksum"),
        ("", "TIMEOUT", "TIMEOUT: it took too long"),
    ],
)
def test_a_failed_run_prints_the_jobs_error_or_glues_and_its_link(
    run: Run, aws: MotoAws, result: str, state: str, said: str
) -> None:
    pipeline = deploy(aws, None)
    pipeline.result = {"status": "error", "error": result} if result else None
    pipeline.states, pipeline.error = [state], "it took too long"
    reply = run("scan", "uploads")
    assert reply.code == 3
    assert said in reply.err
    assert "/run/jr_1" in reply.err


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        ("scan absent", 1, "there is no bucket absent"),
        (f"{BACKFILL} --modified-before 9999-12-31T23:59-01:00", 2, "allowed is a date or"),
        ("scan uploads --source journal", 2, "found 'journal'; allowed is listing, "),
        (f"{BACKFILL} --min-size 2 --max-size 1", 2, "--min-size 2 is more than"),
        (f"{BACKFILL} --modified-after {DAY} --modified-before {DAY}", 2, f"{DAY} is not before"),
        (f"{BACKFILL} --manifest none.csv", 2, "found no file none.csv, nor an s3:// URL"),
        (f"{BACKFILL} --manifest s3://b/k --source listing", 2, "--source: allowed is one"),
        (f"backfill --target {WEBHOOK}", 2, "BUCKET is missing"),
        ("backfill uploads --target arn:minio:sqs::x:kafka", 1, "no target"),
        (f"reconcile uploads --target {WEBHOOK}", 1, "is of kind webhook and stores events"),
    ],
)
def test_invalid_arguments_are_refused_before_a_job_starts(
    run: Run, aws: MotoAws, words: str, code: int, expected: str
) -> None:
    pipeline = deploy(aws, SCANNED)
    reply = run(*words.split())
    assert reply.code == code
    assert expected in reply.err
    assert pipeline.started == []


def test_a_stack_without_jobs_is_refused_with_a_hint(run: Run, aws: MotoAws) -> None:
    assert aws.outputs
    reply = run("scan", "uploads")
    assert reply.code == 1
    assert "[pipeline]" in reply.err


def test_a_local_job_that_succeeds_leaves_no_log(
    run: Run, aws: MotoAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy(aws, SCANNED)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    recorded = tmp_path / "arguments"
    code = f"import sys; open({str(recorded)!r}, 'w').write(' '.join(sys.argv[1:]))"
    monkeypatch.setenv("BUCKETCAST_SPARK_SUBMIT", f'{sys.executable} -c "{code}"')
    reply = run("scan", "uploads", "--json")
    assert reply.code == 0, reply.out
    assert recorded.read_text().startswith("Bucketcast-scan --bucket uploads --run s3://pipeline/")
    assert not list(tmp_path.glob("*.log"))
    assert reply.document["link"] == ""


def test_a_local_job_that_fails_shows_the_end_of_its_log(
    run: Run, aws: MotoAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy(aws, None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("BUCKETCAST_SPARK_SUBMIT", "/bin/sh -c 'echo no Java here; exit 3'")
    reply = run("scan", "uploads")
    assert reply.code == 3
    assert "it ended with 3; the end of its log:\nno Java here" in reply.err
    log = Path(reply.err.rpartition(": ")[2].strip())
    assert log.read_text() == "no Java here\n"
