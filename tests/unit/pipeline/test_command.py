"""`scan`, `backfill` and `reconcile` start runs on a fake Glue and follow their files."""

import io
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest
from botocore.exceptions import ClientError
from msgspec.structs import asdict

from bucketcast.notifications.aws.cutover import Cutover, Cutovers
from bucketcast.pipeline.command import jobs
from bucketcast.state.dynamic_targets import DynamicTarget, Table
from bucketcast.state.lease import JOBS, Lease
from bucketcast.state.table import Partition
from tests.unit.conftest import Run, cells
from tests.unit.dynamic_targets.account import DYNAMIC, make_functions
from tests.unit.moto_aws import REGION, TABLE, MotoAws, configure, refusal

POSTGRES = "arn:minio:sqs::main:postgresql"
WEBHOOK = "arn:minio:sqs::primary:webhook"
TO_WEBHOOK = ("backfill", "uploads", "--target", WEBHOOK)
FILTERS = ("modified_after", "modified_before", "min_size", "max_size", "storage_class")


def row(dimension: str, name: str, *numbers: int | None) -> Mapping[str, Any]:
    """Return a row of a scan's usage, with its first four numbers."""
    names = ("objects", "noncurrent", "delete_markers", "bytes")
    return {"dimension": dimension, "name": name, **dict(zip(names, numbers, strict=True))}


SCANNED: Mapping[str, Any] = {
    "bucket": "uploads",
    "findings": [
        {
            "kind": "ManyVersions",
            "key": "a.csv",
            "state": "new",
            "since": "2026-03-01T12:00:00+00:00",
            "count": 1001,
            "alerted": None,
            "bytes": 20_000,
        }
    ],
    "usage": [
        row("total", "", 13_000_000_000, 4, 2, 60 << 30),
        row("storage_class", "GLACIER", 1, None, None, None),
        row("size_class", "LESS_THAN_1024_B", 9, 0, 0, 9),
        *(row("prefix", f"{nth}/" + "long/" * 20, 5, 0, 0, 5) for nth in range(9)),
        row("uploads", "", 37, None, None, 1536),
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


class FakePipeline:
    """A Glue whose runs pass through `states`, and the S3 that they write to."""

    def __init__(self, result: Mapping[str, Any] | None) -> None:
        self.states = ["STARTING", "RUNNING", "SUCCEEDED"]
        self.error = ""
        self.started: list[tuple[str, dict[str, str]]] = []
        self.removed: list[str] = []
        self.written: dict[str, Any] = {}
        self.result = {"status": "success", **result} if result is not None else None
        self.glue = SimpleNamespace(
            start_job_run=self._start,
            get_job_run=self._get_run,
            meta=SimpleNamespace(region_name=REGION),
        )
        self.s3 = SimpleNamespace(
            head_bucket=self._head_bucket,
            get_object=self._get_object,
            put_object=self._put_object,
            delete_object=lambda Bucket, Key: self.removed.append(Key),  # noqa: ARG005, N803
            exceptions=SimpleNamespace(ClientError=ClientError),
        )

    def _start(self, JobName: str, Arguments: dict[str, str], **queuing: bool) -> Any:  # noqa: N803
        assert queuing == {"JobRunQueuingEnabled": True}
        self.started.append((JobName, Arguments))
        return {"JobRunId": "jr_1"}

    def _get_run(self, JobName: str, RunId: str) -> Any:  # noqa: N803, ARG002
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return {"JobRun": {"JobRunState": state, "ErrorMessage": self.error}}

    def _head_bucket(self, Bucket: str) -> None:  # noqa: N803
        if Bucket == "absent":
            raise refusal("404", "HeadBucket")

    def _put_object(self, Bucket: str, Key: str, Body: bytes | IO[bytes]) -> None:  # noqa: N803
        assert Bucket == "pipeline"
        self.written[Key] = json.loads(Body) if isinstance(Body, bytes) else Body.read()

    def _get_object(self, Bucket: str, Key: str) -> Any:  # noqa: N803
        assert Bucket == "pipeline"
        progress = {"stage": "sending", "done": 3, "total": 5, "unit": "events"}
        documents = {"result.json": self.result, "progress.json": progress}
        document = documents.get(Key.rpartition("/")[2], self.written.get(Key))
        if document is None:
            raise refusal("NoSuchKey", "GetObject")
        return {"Body": io.BytesIO(json.dumps(document).encode())}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "POLL_SECONDS", 0)
    monkeypatch.delenv("BUCKETCAST_SPARK_SUBMIT", raising=False)


def deploy(aws: MotoAws, result: Mapping[str, Any] | None) -> FakePipeline:
    pipeline = FakePipeline(result)
    jobs = {job: f"Bucketcast-{job}" for job in ("scan", "backfill", "reconcile")}
    aws.outputs["PipelineOutput1"] = json.dumps({"bucket": "pipeline", "jobs": jobs})
    aws.s3, aws.glue = pipeline.s3, pipeline.glue  # type: ignore[assignment]  # fakes
    return pipeline


def test_scan_follows_its_run_and_prints_the_findings(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, SCANNED)
    reply = run("scan", "uploads", "--alert-excess-versions", "1000")
    assert reply.code == 0, reply.err
    ((job, arguments),) = pipeline.started
    folder = arguments.pop("--run")
    assert folder.startswith("s3://pipeline/runs/scan/")
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


def test_a_failed_run_prints_the_jobs_error_and_its_link(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, None)
    pipeline.result = {"status": "error", "error": "manifest.json: wrong checksum"}
    pipeline.states = ["FAILED"]
    reply = run("scan", "uploads")
    assert reply.code == 3
    assert "scan failed: manifest.json: wrong checksum" in reply.err
    assert "/run/jr_1" in reply.err


def test_a_run_that_timed_out_prints_glues_error(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, None)
    pipeline.states, pipeline.error = ["TIMEOUT"], "it took too long"
    reply = run("scan", "uploads")
    assert reply.code == 3
    assert "TIMEOUT: it took too long" in reply.err


def test_no_wait_returns_at_once(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, None)
    pipeline.states = ["RUNNING"]
    reply = run("backfill", "uploads", "--target", WEBHOOK, "--no-wait", "--json")
    assert reply.code == 0
    assert pipeline.started[0][1]["--run"].endswith(reply.document["run"])


BACKFILLED: Mapping[str, Any] = {
    "bucket": "uploads",
    "source": "listing",
    "target": WEBHOOK,
    "objects": 10,
    "matched": 5,
    "events": 5,
    "notes": [],
}
RUN_FOLDER = "runs/backfill/r-1"


def deploy_run(aws: MotoAws, result: Mapping[str, Any]) -> FakePipeline:
    """Deploy with the run r-1, which ends with this result."""
    pipeline = deploy(aws, {**BACKFILLED, **result})
    pipeline.written[f"{RUN_FOLDER}/options.json"] = {
        "bucket": "uploads",
        "target": WEBHOOK,
        "prefix": "photos/",
        "rate": "50",
    }
    return pipeline


def test_a_run_is_resumed_with_its_own_options(run: Run, aws: MotoAws) -> None:
    pipeline = deploy_run(aws, {"sent": 5})
    reply = run("backfill", "--resume", "r-1", "--rate", "70")
    assert reply.code == 0, reply.err
    assert f"5 events for {WEBHOOK}: its rules match 5 of 10 objects in uploads" in reply.out
    arguments = pipeline.started[0][1]
    assert arguments.pop("--queue").endswith("/Bucketcast-webhook-primary")
    assert arguments == {
        "--bucket": "uploads",
        "--target": WEBHOOK,
        "--prefix": "photos/",
        "--rate": "70",
        "--run": f"s3://pipeline/{RUN_FOLDER}",
    }
    names = ("progress.json", "result.json", "control.json")
    assert pipeline.removed == [f"{RUN_FOLDER}/{name}" for name in names]
    assert pipeline.written[f"{RUN_FOLDER}/options.json"]["rate"] == "70"


def test_options_of_a_new_run_are_kept_for_later(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, BACKFILLED)
    words = ("--dry-run", "--min-size", "5", "--no-wait", "--json")
    name = run(*TO_WEBHOOK, *words).document["run"]
    assert pipeline.started[0][1]["--dry_run"] == "on"
    assert pipeline.written == {
        f"runs/backfill/{name}/options.json": {
            "bucket": "uploads",
            "target": WEBHOOK,
            "min_size": "5",
        }
    }


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("--resume", "r-1", "--prefix", "docs/"), 1, "a run keeps its options, but for --rate"),
        (("other", "--resume", "r-1"), 1, "--bucket is 'other', and r-1 has 'uploads'"),
        (("--resume", "r-1", "--dry-run"), 2, "--dry-run is for a new run"),
        (("--resume", "r-2"), 1, "there is no run r-2 of backfill"),
        (("--pause", "r-2"), 1, "there is no run r-2 of backfill"),
        (("--pause", "r-1"), 1, "r-1 has ended; --resume r-1 continues it"),
    ],
)
def test_what_does_not_fit_the_run_is_refused(
    run: Run, aws: MotoAws, words: tuple[str, ...], code: int, expected: str
) -> None:
    pipeline = deploy_run(aws, {})
    reply = run("backfill", *words)
    assert (reply.code, expected in reply.err) == (code, True), reply.err
    assert (pipeline.started, pipeline.removed) == ([], [])


def test_a_run_that_works_is_paused_or_gets_another_rate(run: Run, aws: MotoAws) -> None:
    pipeline = deploy_run(aws, {})
    pipeline.result = None
    work(aws)
    assert run("backfill", "--resume", "r-1", "--rate", "200").code == 0
    assert pipeline.written[f"{RUN_FOLDER}/control.json"] == {"rate": 200}
    assert pipeline.written[f"{RUN_FOLDER}/options.json"]["rate"] == "200"
    refused = run("backfill", "--resume", "r-1")
    assert (refused.code, "r-1 works now" in refused.err) == (1, True)
    reply = run("backfill", "--pause", "r-1")
    assert reply.code == 0, reply.err
    assert "bucketcast backfill --resume r-1 continues it" in reply.out
    assert pipeline.written[f"{RUN_FOLDER}/control.json"] == {"paused": True}
    assert (pipeline.started, pipeline.removed) == ([], [])


def work(aws: MotoAws) -> None:
    """Let the run r-1 hold its lease."""
    lease = Lease(Partition(TABLE, JOBS, aws.dynamodb), f"s3://pipeline/{RUN_FOLDER}")
    assert lease.take(2**43)


def test_a_paused_run_that_still_works_keeps_its_pause(run: Run, aws: MotoAws) -> None:
    """Some of its tasks have stopped already: a new rate would not wake them."""
    pipeline = deploy_run(aws, {})
    pipeline.result = None
    work(aws)
    assert run("backfill", "--pause", "r-1").code == 0
    refused = run("backfill", "--resume", "r-1", "--rate", "200")
    assert (refused.code, "r-1 was paused and ends now" in refused.err) == (1, True)
    assert pipeline.written[f"{RUN_FOLDER}/control.json"] == {"paused": True}
    assert pipeline.written[f"{RUN_FOLDER}/options.json"]["rate"] == "50"


def test_a_run_that_works_is_paused_beside_an_earlier_result(run: Run, aws: MotoAws) -> None:
    """The attempt before it wrote its result after this one began."""
    pipeline = deploy_run(aws, {"paused": True})
    work(aws)
    assert run("backfill", "--pause", "r-1").code == 0
    assert pipeline.written[f"{RUN_FOLDER}/control.json"] == {"paused": True}


def test_a_manifest_of_this_machine_is_uploaded_into_the_runs_folder(
    run: Run, aws: MotoAws, tmp_path: Path
) -> None:
    pipeline = deploy(aws, BACKFILLED)
    path = tmp_path / "objects.csv"
    path.write_text("uploads,a\n")
    name = run(*TO_WEBHOOK, "--manifest", str(path), "--no-wait", "--json").document["run"]
    folder = f"runs/backfill/{name}"
    url = f"s3://pipeline/{folder}/manifest.csv"
    assert pipeline.started[0][1]["--manifest"] == url
    assert pipeline.written[f"{folder}/options.json"]["manifest"] == url
    assert pipeline.written[f"{folder}/manifest.csv"] == b"uploads,a\n"
    assert run(*TO_WEBHOOK, "--manifest", "s3://lists/a.csv", "--no-wait").code == 0
    assert pipeline.started[1][1]["--manifest"] == "s3://lists/a.csv"


def test_all_versions_are_for_targets_that_store_events(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, BACKFILLED)
    refused = run("backfill", "uploads", "--target", POSTGRES, "--versions", "all")
    assert refused.code == 1
    assert f"--versions all: {POSTGRES} shows the current version of each object" in refused.err
    assert run("backfill", "uploads", "--target", POSTGRES, "--versions", "ALL").code == 1
    assert pipeline.started == []
    assert run(*TO_WEBHOOK, "--versions", "all", "--no-wait").code == 0


def test_a_paused_run_says_what_is_left(run: Run, aws: MotoAws) -> None:
    deploy_run(aws, {"sent": 3, "paused": True})
    reply = run("backfill", "--resume", "r-1")
    assert reply.code == 1
    assert "paused: 3 are sent, and bucketcast backfill --resume r-1 sends the other" in reply.out


def test_objects_that_were_not_sent_are_counted_by_reason(run: Run, aws: MotoAws) -> None:
    left = {
        "sent": 3,
        "paused": False,
        "not_sent": 3,
        "not_sent_reasons": {"there is no such object": 2, "AccessDenied": 1},
        "not_sent_report": "s3://pipeline/runs/backfill/r-1/not-sent",
    }
    pipeline = deploy_run(aws, left)
    reply = run("backfill", "--resume", "r-1")
    assert reply.code == 1
    assert "3 objects not sent: 2: there is no such object; 1: AccessDenied" in reply.out
    assert "all of them: s3://pipeline/runs/backfill/r-1/not-sent" in reply.out
    pipeline.states = ["SUCCEEDED"]
    document = run("backfill", "--resume", "r-1", "--json").document
    assert {key: document[key] for key in left} == left


def test_a_dry_run_prints_time_and_dollars(run: Run, aws: MotoAws) -> None:
    """Ten million events at 1,000 a second, as docs/pipeline.md reckons."""
    amounts = {
        "seconds": 10_000,
        "sqs_requests": 50_000,
        "s3_requests": 10_000,
        "dpu_hours": 5.5556,
    }
    deploy_run(aws, {"events": 10_000_000, "estimate": amounts})
    reply = run("backfill", "--resume", "r-1")
    assert reply.code == 0, reply.err
    assert "it takes 2.78 hours and about $2.51: SQS $0.02, S3 $0.05, Glue $2.44" in reply.out
    assert "to send them within 14 days: bucketcast backfill --resume r-1" in reply.out
    document = run("backfill", "--resume", "r-1", "--json").document
    assert document["estimate"]["dollars"] == {"SQS": 0.02, "S3": 0.05, "Glue": 2.4445}


def test_the_job_gets_the_options_that_select_objects(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, None)
    words = ["--modified-after", "2026-03-14", "--max-size", "0", "--storage-class", "glacier"]
    words += ["--storage-class", "DEEP_ARCHIVE,STANDARD", "--no-wait"]
    assert run("backfill", "uploads", "--target", WEBHOOK, *words).code == 0
    given = {key: pipeline.started[0][1].get(f"--{key}") for key in FILTERS}
    assert given == {
        "modified_after": "2026-03-14",
        "modified_before": None,
        "min_size": None,
        "max_size": "0",
        "storage_class": "glacier,DEEP_ARCHIVE,STANDARD",
    }


def test_reconcile_says_that_it_shows_only_some_differences(run: Run, aws: MotoAws) -> None:
    deploy(aws, {**COMPARED, "missing": 200, "stale": 1, "extra": 2})
    reply = run("reconcile", "uploads", "--target", POSTGRES)
    assert "showing 1 of 203 differences; the report has them all" in reply.out


def test_the_rows_of_a_journal_are_changes(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, {**BACKFILLED, "source": "journal", "sent": 5})
    since = ("--source", "journal", "--modified-after", "2026-03-14T09:00Z")
    reply = run("backfill", "uploads", "--target", WEBHOOK, *since)
    assert reply.code == 0, reply.err
    assert "its rules match 5 of 10 changes in uploads" in reply.out
    arguments = pipeline.started[0][1]
    assert (arguments["--source"], arguments["--modified_after"]) == ("journal", since[-1])


def test_backfill_is_refused_until_the_notification_is_active(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, BACKFILLED)
    cutover = Cutover("eventbridge", time.time() + 500, "attach")
    Cutovers(TABLE, aws.dynamodb).put("uploads", cutover)
    reply = run("backfill", "uploads", "--target", WEBHOOK)
    assert reply.code == 1
    assert f"an object put before {cutover.when} may cause no event" in reply.err
    assert not pipeline.started
    Cutovers(TABLE, aws.dynamodb).put("uploads", cutover._replace(effective_at=time.time()))
    assert run("backfill", "uploads", "--target", WEBHOOK).code == 0


def test_reconcile_check_fails_on_drift(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, COMPARED)
    reply = run("reconcile", "uploads", "--target", POSTGRES)
    assert reply.code == 1
    assert pipeline.started[0][1]["--mode"] == "check"
    assert cells(reply.out)[1] == ["uploads/a.csv", "missing", "7 bytes, 2026-01-01T00:00:00.000Z"]
    assert "3 rows: 1 missing, 0 stale, 0 extra" in reply.out


def test_reconcile_repair_succeeds_on_drift(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, {**COMPARED, "mode": "repair", "sent": 1})
    reply = run("reconcile", "uploads", "--target", POSTGRES, "--repair")
    assert reply.code == 0
    assert pipeline.started[0][1]["--mode"] == "repair"
    assert "1 repair event sent" in reply.out


@pytest.fixture
def copy(run: Run, aws: MotoAws) -> DynamicTarget:
    """A dynamic mirror, whose login is a secret."""
    aws.outputs["DynamicTargetsOutput"] = json.dumps(asdict(DYNAMIC))
    make_functions(aws.client("iam"), aws.mappings)
    login = "connection_string=host=db user=u password=hunter2 dbname=d"
    reply = run("target", "add", "postgres:copy", login, "table=t")
    assert reply.code == 0, reply.err
    (target,) = Table(TABLE, aws.dynamodb).targets()
    return target


def test_jobs_get_the_queue_and_the_settings_of_a_dynamic_mirror(
    run: Run, aws: MotoAws, copy: DynamicTarget
) -> None:
    """As those of a deployed one: with references to its secrets."""
    pipeline = deploy(aws, COMPARED)
    assert run("reconcile", "uploads", "--target", copy.arn, "--no-wait").code == 0
    assert run("reconcile", "uploads", "--target", POSTGRES, "--no-wait").code == 0
    assert run("backfill", "uploads", "--target", copy.arn, "--no-wait").code == 0
    dynamic, deployed, backfilled = (arguments for _, arguments in pipeline.started)
    assert dynamic["--target"] == backfilled["--target"] == copy.arn
    assert dynamic["--queue"] == backfilled["--queue"] == DYNAMIC.url(copy.queue)
    assert deployed["--queue"].endswith("/Bucketcast-postgres-main")
    assert json.loads(dynamic["--mirror"]) == {
        "kind": "postgres",
        "settings": {
            "enable": "on",
            "table": "t",
            "connection_string": f"secret:{copy.secret}#connection_string",
        },
    }
    assert json.loads(deployed["--mirror"])["kind"] == "postgres"
    assert "hunter2" not in str(pipeline.started)


def test_a_dynamic_target_that_is_no_mirror_is_refused(
    run: Run, aws: MotoAws, copy: DynamicTarget
) -> None:
    pipeline = deploy(aws, COMPARED)
    assert run("target", "add", "postgres:copy", "format=access", "--merge").code == 0
    reply = run("reconcile", "uploads", "--target", copy.arn)
    assert (reply.code, "has format = access" in reply.err) == (1, True)
    assert pipeline.started == []


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (("scan", "absent"), 1, "there is no bucket absent"),
        (("scan", "uploads", "--alert-worse", "ten"), 2, "found 'ten'; allowed is a whole number"),
        (
            (*TO_WEBHOOK, "--modified-after", "10:00"),
            2,
            "found '10:00'; allowed is a date or",
        ),
        ((*TO_WEBHOOK, "--modified-before", "9999-12-31T23:59-01:00"), 2, "allowed is a date or"),
        ((*TO_WEBHOOK, "--source", "listin"), 2, "found 'listin'; allowed is listing, metadata, "),
        (("scan", "uploads", "--source", "journal"), 2, "found 'journal'; allowed is listing, "),
        ((*TO_WEBHOOK, "--source", "s3://b/x,listing"), 2, "found 's3://b/x,listing'; allowed"),
        ((*TO_WEBHOOK, "--source", "journal"), 2, "--modified-after: missing; --source journal"),
        (
            (*TO_WEBHOOK, "--source", "journal", "--modified-after", "2999-01-01"),
            2,
            "--modified-after: found 2999-01-01, allowed is a time before now",
        ),
        (
            (*TO_WEBHOOK, "--source", "journal", "--versions", "all"),
            2,
            "--versions all and --source journal: a journal has every change",
        ),
        ((*TO_WEBHOOK, "--storage-class", "GLACIR"), 2, "allowed is one of STANDARD, "),
        ((*TO_WEBHOOK, "--min-size", "2", "--max-size", "1"), 2, "--min-size 2 is more than"),
        (
            (*TO_WEBHOOK, "--modified-after", "2026-03-15", "--modified-before", "2026-03-15"),
            2,
            "--modified-after 2026-03-15 is not before",
        ),
        ((*TO_WEBHOOK, "--manifest", "none.csv"), 2, "found no file none.csv, nor an s3:// URL"),
        (
            (*TO_WEBHOOK, "--manifest", "s3://b/k", "--source", "listing"),
            2,
            "--manifest and --source: allowed is one",
        ),
        (("backfill", "--target", WEBHOOK), 2, "Missing argument 'BUCKET'"),
        (("backfill", "--pause", "r", "--resume", "r"), 2, "--pause and --resume: allowed is one"),
        (("backfill", "--pause", "r", "--rate", "5"), 2, "--pause and --rate: allowed is one"),
        (("backfill", "uploads"), 2, "Missing option '--target'"),
        (("backfill", "uploads", "--target", "arn:minio:sqs::x:kafka"), 1, "no target"),
        (("reconcile", "uploads", "--target", WEBHOOK), 1, "is of kind webhook and stores events"),
    ],
)
def test_invalid_arguments_are_refused_before_a_job_starts(
    run: Run, aws: MotoAws, words: tuple[str, ...], code: int, expected: str
) -> None:
    pipeline = deploy(aws, SCANNED)
    reply = run(*words)
    assert reply.code == code
    assert expected in reply.err
    assert pipeline.started == []


def test_reconcile_refuses_a_target_in_format_access(run: Run, aws: MotoAws) -> None:
    deploy(aws, COMPARED)
    configure("Bucketcast-postgres-main", format="access")
    reply = run("reconcile", "uploads", "--target", POSTGRES)
    assert reply.code == 1
    assert "has format = access" in reply.err


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
    assert "it ended with 3:\nno Java here" in reply.err
    log = Path(reply.err.rpartition(": ")[2].strip())
    assert log.read_text() == "no Java here\n"


@pytest.mark.parametrize("command", ["kill -9 $$", "exit 137"])
def test_a_killed_local_job_is_reported_in_words(
    run: Run, aws: MotoAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    deploy(aws, None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("BUCKETCAST_SPARK_SUBMIT", f"/bin/sh -c 'echo counting; {command}'")
    reply = run("scan", "uploads")
    assert reply.code == 3
    assert "it was ended by SIGKILL" in reply.err
    assert "memory" in reply.err
    assert "\ncounting\n" in reply.err
    assert str(tmp_path) in reply.err
