"""`reconcile` prints how a mirror differs, of a deployed target and of a dynamic one."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from bucketcast.state.dynamic_targets import Table
from bucketcast.state.items import DynamicTarget
from tests.unit.conftest import Run, cells
from tests.unit.dynamic_targets.account import add_dynamic_targets
from tests.unit.moto_aws import DYNAMIC, TABLE, MotoAws, configure
from tests.unit.pipeline.command.fake_pipeline import POSTGRES, deploy

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


def test_reconcile_check_fails_on_drift(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, COMPARED)
    reply = run("reconcile", "uploads", "--target", POSTGRES)
    assert reply.code == 1
    assert "--repair" not in pipeline.started[0][1]
    assert cells(reply.out)[1] == ["uploads/a.csv", "missing", "7 bytes, 2026-01-01T00:00:00.000Z"]
    assert "3 rows: 1 missing, 0 stale, 0 extra" in reply.out


def test_reconcile_repair_succeeds_on_drift(run: Run, aws: MotoAws) -> None:
    pipeline = deploy(aws, {**COMPARED, "mode": "repair", "sent": 1})
    reply = run("reconcile", "uploads", "--target", POSTGRES, "--repair")
    assert reply.code == 0
    assert pipeline.started[0][1]["--repair"] == "on"
    assert "1 repair event sent" in reply.out


@pytest.fixture
def copy(run: Run, aws: MotoAws) -> DynamicTarget:
    """A dynamic mirror, whose login is a secret."""
    add_dynamic_targets(aws)
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


def test_reconcile_refuses_a_target_in_format_access(run: Run, aws: MotoAws) -> None:
    deploy(aws, COMPARED)
    configure("Bucketcast-postgres-main", format="access")
    reply = run("reconcile", "uploads", "--target", POSTGRES)
    assert reply.code == 1
    assert "has format = access" in reply.err
