"""`backfill` begins, pauses and resumes runs."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bucketcast.notifications.aws.attachment_times import Attachment, AttachmentTimes
from bucketcast.state.lease import JOBS, Lease
from bucketcast.state.table import Partition
from tests.unit.conftest import Run
from tests.unit.moto_aws import TABLE, MotoAws
from tests.unit.pipeline.command.fake_pipeline import (
    POSTGRES,
    TO_WEBHOOK,
    WEBHOOK,
    FakePipeline,
    deploy,
)

FILTERS = ("modified_after", "modified_before", "min_size", "max_size", "storage_class")
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
    assert "5 events for webhook:primary: its rules match 5 of 10 objects in uploads" in reply.out
    assert "if it is interrupted: bucketcast backfill --resume r-1" in reply.err
    arguments = pipeline.started[0][1]
    assert arguments.pop("--queue").endswith("/Bucketcast-webhook-primary")
    assert arguments == {
        "--bucket": "uploads",
        "--target": WEBHOOK,
        "--prefix": "photos/",
        "--rate": "70",
        "--run": f"s3://pipeline/{RUN_FOLDER}",
    }
    names = ("progress.json", "result.json")
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
    ],
)
def test_what_does_not_fit_the_run_is_refused(
    run: Run, aws: MotoAws, words: tuple[str, ...], code: int, expected: str
) -> None:
    pipeline = deploy_run(aws, {})
    reply = run("backfill", *words)
    assert (reply.code, expected in reply.err) == (code, True), reply.err
    assert (pipeline.started, pipeline.removed) == ([], [])


def test_a_run_that_works_is_not_resumed(run: Run, aws: MotoAws) -> None:
    pipeline = deploy_run(aws, {"sent": 5})
    options = dict(pipeline.written)
    lease = Lease(Partition(TABLE, JOBS, aws.dynamodb), f"s3://pipeline/{RUN_FOLDER}")
    now = round(time.time() * 1_000)
    lease.take(now + 60_000)
    reply = run("backfill", "--resume", "r-1", "--rate", "70")
    assert (reply.code, "r-1 works now; wait until it has ended" in reply.err) == (1, True)
    assert (pipeline.started, pipeline.removed, pipeline.written) == ([], [], options)
    lease.renew(now)
    assert run("backfill", "--resume", "r-1").code == 0


@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_manifest_of_this_machine_is_uploaded_into_the_runs_folder(
    run: Run, aws: MotoAws, tmp_path: Path, end: str
) -> None:
    pipeline = deploy(aws, BACKFILLED)
    path = tmp_path / f"objects.csv{end}"
    path.write_text("uploads,a\n")
    name = run(*TO_WEBHOOK, "--manifest", str(path), "--no-wait", "--json").document["run"]
    folder = f"runs/backfill/{name}"
    url = f"s3://pipeline/{folder}/manifest.csv{end}"
    assert pipeline.started[0][1]["--manifest"] == url
    assert pipeline.written[f"{folder}/options.json"]["manifest"] == url
    assert pipeline.written[f"{folder}/manifest.csv{end}"] == b"uploads,a\n"
    assert run(*TO_WEBHOOK, "--manifest", "s3://lists/a.csv", "--no-wait").code == 0
    assert pipeline.started[1][1]["--manifest"] == "s3://lists/a.csv"


def test_all_versions_are_for_targets_that_store_events(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, BACKFILLED)
    refused = run("backfill", "uploads", "--target", POSTGRES, "--versions", "all")
    assert refused.code == 1
    assert "--versions all: postgres:main shows the current version of each object" in refused.err
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


def test_a_dry_run_prints_the_time(run: Run, aws: MotoAws) -> None:
    """Ten million events at 1,000 a second, as docs/pipeline.md reckons."""
    deploy_run(aws, {"events": 10_000_000, "estimate": {"seconds": 10_000}})
    reply = run("backfill", "--resume", "r-1")
    assert reply.code == 0, reply.err
    assert "nothing was sent; it takes 2.78 hours\n" in reply.out
    assert "to send them within 14 days: bucketcast backfill --resume r-1" in reply.out


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


def test_backfill_is_refused_until_the_notification_is_active(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, BACKFILLED)
    times, attachment = AttachmentTimes(TABLE, aws.dynamodb), Attachment(time.time() + 500)
    times.put("uploads", attachment)
    reply = run("backfill", "uploads", "--target", WEBHOOK)
    assert reply.code == 1
    assert f"an object put before {attachment.when} may cause no event" in reply.err
    assert not pipeline.started
    times.put("uploads", Attachment(time.time()))
    assert run("backfill", "uploads", "--target", WEBHOOK).code == 0
