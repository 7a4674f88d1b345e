"""`scan`, `backfill` and `reconcile`: started on a made-up Glue, followed by what runs write."""

import io
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from bucketcast.notifications.aws.cutover import Cutover, Cutovers
from bucketcast.pipeline.command import jobs
from tests.unit.conftest import Run, cells
from tests.unit.moto_aws import REGION, TABLE, MotoAws, configure, refusal

POSTGRES = "arn:minio:sqs::main:postgresql"
WEBHOOK = "arn:minio:sqs::primary:webhook"
SCANNED: Mapping[str, Any] = {
    "bucket": "uploads",
    "findings": [
        {
            "kind": "ManyVersions",
            "key": "a.csv",
            "state": "new",
            "count": 1001,
            "alerted": None,
            "bytes": 20_000,
        }
    ],
    "report": "s3://pipeline/runs/scan/1/report/index.html",
    "events": 1,
    "numbers": {"ManyVersions": {"new": 100, "same": 54}, "BigPrefix": {"cleared": 1}},
    "notes": ["the source lists no versions"],
}
COMPARED: Mapping[str, Any] = {
    "bucket": "uploads",
    "target": POSTGRES,
    "mode": "check",
    "rows": 3,
    "missing": 1,
    "stale": 0,
    "extra": 0,
    "drift": True,
    "sent": 0,
    "report": "s3://pipeline/runs/reconcile/1/differences",
    "differences": [
        {
            "path": "uploads/a.csv",
            "what": "missing",
            "object": {"etag": "e", "size": 7, "time": "2026-01-01T00:00:00.000Z"},
            "row": None,
        }
    ],
    "notes": [],
}


class Pipeline:
    """A Glue whose runs last as long as `states`, and the S3 that they write to."""

    def __init__(self, result: Mapping[str, Any] | None) -> None:
        self.states = ["STARTING", "RUNNING", "SUCCEEDED"]
        self.why = ""
        self.started: list[tuple[str, dict[str, str]]] = []
        self.removed: list[str] = []
        self.folders = {"runs/backfill/r-1/"}
        self.result = {"status": "success", **result} if result is not None else None
        self.glue = SimpleNamespace(
            start_job_run=self._start,
            get_job_run=self._look,
            meta=SimpleNamespace(region_name=REGION),
        )
        self.s3 = SimpleNamespace(
            head_bucket=self._head,
            get_object=self._get,
            list_objects_v2=self._list,
            delete_object=lambda Bucket, Key: self.removed.append(Key),  # noqa: ARG005, N803
            exceptions=SimpleNamespace(ClientError=ClientError),
        )

    def _start(self, JobName: str, Arguments: dict[str, str]) -> Any:  # noqa: N803
        self.started.append((JobName, Arguments))
        return {"JobRunId": "jr_1"}

    def _look(self, JobName: str, RunId: str) -> Any:  # noqa: N803, ARG002
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"JobRun": {"JobRunState": state, "ErrorMessage": self.why}}

    def _head(self, Bucket: str) -> None:  # noqa: N803
        if Bucket == "absent":
            raise refusal("404", "HeadBucket")

    def _list(self, Bucket: str, Prefix: str, MaxKeys: int) -> Any:  # noqa: N803
        assert (Bucket, MaxKeys) == ("pipeline", 1)
        return {"KeyCount": int(Prefix in self.folders)}

    def _get(self, Bucket: str, Key: str) -> Any:  # noqa: N803
        assert Bucket == "pipeline"
        progress = {"stage": "sending", "done": 3, "total": 5, "unit": "events"}
        document = self.result if Key.endswith("/result.json") else progress
        if document is None:
            raise refusal("NoSuchKey", "GetObject")
        return {"Body": io.BytesIO(json.dumps(document).encode())}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "POLL_SECONDS", 0)
    monkeypatch.delenv("BUCKETCAST_SPARK_SUBMIT", raising=False)


def deployed(aws: MotoAws, result: Mapping[str, Any] | None) -> Pipeline:
    made = Pipeline(result)
    jobs = {job: f"Bucketcast-{job}" for job in ("scan", "backfill", "reconcile")}
    aws.outputs["PipelineOutput1"] = json.dumps({"bucket": "pipeline", "jobs": jobs})
    aws.s3, aws.glue = made.s3, made.glue  # type: ignore[assignment]  # made up
    return made


def test_a_scan_is_followed_and_its_findings_arrive(run: Run, aws: MotoAws) -> None:
    made = deployed(aws, SCANNED)
    ran = run("scan", "uploads", "--alert-excess-versions", "1000")
    assert ran.code == 0, ran.err
    ((job, arguments),) = made.started
    where = arguments.pop("--run")
    assert where.startswith("s3://pipeline/runs/scan/")
    assert (job, arguments) == (
        "Bucketcast-scan",
        {"--bucket": "uploads", "--alert_excess_versions": "1000"},
    )
    assert cells(ran.out)[:2] == [
        ["KIND", "STATE", "KEY", "COUNT", "BYTES"],
        ["ManyVersions", "new", "a.csv", "1,001", "20,000"],
    ]
    assert "showing 1 of 155 findings; the report has them all" in ran.out
    assert "ManyVersions: 100 new, 54 same; BigPrefix: 1 cleared" in ran.out
    assert "1 event sent" in ran.out
    assert f"aws s3 cp {SCANNED['report']} report.html" in ran.out
    assert "gluestudio/home?region=us-east-1#/job/Bucketcast-scan/run/jr_1" in ran.err
    assert ran.err.count("sending: 3 of 5 events") == 1
    assert "note: the source lists no versions" in ran.err


def test_json_is_one_document_and_nothing_else(run: Run, aws: MotoAws) -> None:
    deployed(aws, SCANNED)
    ran = run("scan", "uploads", "--json")
    assert ran.document["status"] == "success"
    assert ran.document["findings"] == SCANNED["findings"]
    assert ran.document["run"]
    assert ran.err == ""


def test_a_failed_run_prints_the_jobs_error_and_its_link(run: Run, aws: MotoAws) -> None:
    made = deployed(aws, None)
    made.result = {"status": "error", "error": "manifest.json: wrong checksum"}
    made.states = ["FAILED"]
    ran = run("scan", "uploads")
    assert ran.code == 1
    assert "scan failed: manifest.json: wrong checksum" in ran.err
    assert "/run/jr_1" in ran.err


def test_a_run_that_timed_out_prints_glues_error(run: Run, aws: MotoAws) -> None:
    made = deployed(aws, None)
    made.states, made.why = ["TIMEOUT"], "it took too long"
    ran = run("scan", "uploads")
    assert ran.code == 1
    assert "TIMEOUT: it took too long" in ran.err


def test_no_wait_returns_at_once(run: Run, aws: MotoAws) -> None:
    made = deployed(aws, None)
    made.states = ["RUNNING"]
    ran = run("backfill", "uploads", "--target", WEBHOOK, "--no-wait", "--json")
    assert ran.code == 0
    assert made.started[0][1]["--run"].endswith(ran.document["run"])


def test_a_backfill_resumes_in_the_same_folder(run: Run, aws: MotoAws) -> None:
    made = deployed(aws, {"events": 5, "objects": 10, "matched": 5, "notes": []})
    ran = run("backfill", "uploads", "--target", WEBHOOK, "--resume", "r-1", "--rate", "50")
    assert ran.code == 0, ran.err
    assert "5 events for arn:minio:sqs::primary:webhook: its rules match 5 of 10 objects" in ran.out
    assert made.started[0][1] == {
        "--bucket": "uploads",
        "--target": WEBHOOK,
        "--rate": "50",
        "--run": "s3://pipeline/runs/backfill/r-1",
    }
    assert made.removed == ["runs/backfill/r-1/progress.json", "runs/backfill/r-1/result.json"]


def test_a_run_that_never_was_cannot_go_on(run: Run, aws: MotoAws) -> None:
    made = deployed(aws, None)
    ran = run("backfill", "uploads", "--target", WEBHOOK, "--resume", "r-2")
    assert ran.code == 1
    assert "there is no run r-2 of backfill" in ran.err
    assert "s3://pipeline/runs/backfill/" in ran.err
    assert (made.started, made.removed) == ([], [])


def test_more_differences_than_are_shown(run: Run, aws: MotoAws) -> None:
    deployed(aws, {**COMPARED, "missing": 200, "stale": 1, "extra": 2})
    ran = run("reconcile", "uploads", "--target", POSTGRES)
    assert "showing 1 of 203 differences; the report has them all" in ran.out


def test_a_backfill_is_refused_while_s3_may_not_apply_the_notification_yet(
    run: Run, aws: MotoAws
) -> None:
    made = deployed(aws, {"events": 5, "objects": 10, "matched": 5, "notes": []})
    sure = Cutover("eventbridge", time.time() + 500, "attach")
    Cutovers(TABLE, aws.dynamodb).put("uploads", sure)
    ran = run("backfill", "uploads", "--target", WEBHOOK)
    assert ran.code == 1
    assert f"an object put before {sure.when} may be told by nobody" in ran.err
    assert not made.started
    Cutovers(TABLE, aws.dynamodb).put("uploads", sure._replace(sure=time.time()))
    assert run("backfill", "uploads", "--target", WEBHOOK).code == 0


def test_drift_is_a_failure_when_checked(run: Run, aws: MotoAws) -> None:
    made = deployed(aws, COMPARED)
    ran = run("reconcile", "uploads", "--target", POSTGRES)
    assert ran.code == 1
    assert made.started[0][1]["--mode"] == "check"
    assert cells(ran.out)[1] == ["uploads/a.csv", "missing", "7 bytes, 2026-01-01T00:00:00.000Z"]
    assert "3 rows: 1 missing, 0 stale, 0 extra" in ran.out


def test_drift_is_what_a_repair_is_for(run: Run, aws: MotoAws) -> None:
    made = deployed(aws, {**COMPARED, "mode": "repair", "sent": 1})
    ran = run("reconcile", "uploads", "--target", POSTGRES, "--repair")
    assert ran.code == 0
    assert made.started[0][1]["--mode"] == "repair"
    assert "1 repair event sent" in ran.out


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("scan", "absent"), 1, "there is no bucket absent"),
        (("scan", "uploads", "--alert-worse", "ten"), 2, "found 'ten'; allowed is a whole number"),
        (("backfill", "uploads"), 2, "Missing option '--target'"),
        (("backfill", "uploads", "--target", "arn:minio:sqs::x:kafka"), 1, "no target"),
        (("reconcile", "uploads", "--target", WEBHOOK), 1, "is of kind webhook and stores events"),
    ],
)
def test_what_cannot_be_is_refused_before_a_job_starts(
    run: Run, aws: MotoAws, words: tuple[str, ...], code: int, expected: str
) -> None:
    made = deployed(aws, SCANNED)
    ran = run(*words)
    assert ran.code == code
    assert expected in ran.err
    assert made.started == []


def test_a_log_of_events_is_no_mirror(run: Run, aws: MotoAws) -> None:
    deployed(aws, COMPARED)
    configure("Bucketcast-postgres-main", format="access")
    ran = run("reconcile", "uploads", "--target", POSTGRES)
    assert ran.code == 1
    assert "has format = access" in ran.err


def test_a_stack_without_jobs_has_the_hint(run: Run, aws: MotoAws) -> None:
    assert aws.outputs
    ran = run("scan", "uploads")
    assert ran.code == 1
    assert "[pipeline]" in ran.err


def test_here_a_job_is_a_command_whose_log_goes_when_it_ended_well(
    run: Run, aws: MotoAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed(aws, SCANNED)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen = tmp_path / "seen"
    code = f"import sys; open({str(seen)!r}, 'w').write(' '.join(sys.argv[1:]))"
    monkeypatch.setenv("BUCKETCAST_SPARK_SUBMIT", f'{sys.executable} -c "{code}"')
    ran = run("scan", "uploads", "--json")
    assert ran.code == 0, ran.out
    assert seen.read_text().startswith("Bucketcast-scan --bucket uploads --run s3://pipeline/")
    assert not list(tmp_path.glob("*.log"))
    assert ran.document["link"] == ""


def test_here_a_job_that_ends_badly_shows_the_end_of_its_log(
    run: Run, aws: MotoAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed(aws, None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("BUCKETCAST_SPARK_SUBMIT", "/bin/sh -c 'echo no Java here; exit 3'")
    ran = run("scan", "uploads")
    assert ran.code == 1
    assert "it ended with 3:\nno Java here" in ran.err
    log = Path(ran.err.rpartition(": ")[2].strip())
    assert log.read_text() == "no Java here\n"


@pytest.mark.parametrize("how", ["kill -9 $$", "exit 137"])
def test_a_local_job_that_was_killed_is_reported_in_words(
    run: Run, aws: MotoAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    deployed(aws, None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("BUCKETCAST_SPARK_SUBMIT", f"/bin/sh -c 'echo counting; {how}'")
    ran = run("scan", "uploads")
    assert ran.code == 1
    assert "it was ended by SIGKILL" in ran.err
    assert "memory" in ran.err
    assert "\ncounting\n" in ran.err
    assert str(tmp_path) in ran.err
