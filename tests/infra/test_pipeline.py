"""The Spark jobs in Glue, their permissions, and the starts of scans."""

import ast
import json
from typing import Any

import pytest
from botocore import xform_name
from botocore.session import Session

from bucketcast.settings.pipeline import DEPLOYED
from tests.e2e.iam import Account, Call
from tests.infra.conftest import ROOT, TYPICAL, Make, Synthesised
from tests.infra.resource_policies import listed

OPERATIONS = {xform_name(each): each for each in Session().get_service_model("s3").operation_names}
"""S3's own name of each call, by boto3's."""

PIPELINE = """
[pipeline]
buckets = ["logs"]

[scan.uploads]
schedule = "rate(1 day)"
alert_excess_versions = 500

[scan.archive]
source = "s3://inventories/archive/weekly"
on = "inventory"
"""


@pytest.fixture(scope="module")
def pipeline(make: Make) -> Synthesised:
    return make(TYPICAL + PIPELINE)


def test_a_stack_without_the_table_has_no_job(typical: Synthesised) -> None:
    assert not typical.of_type("AWS::Glue::Job")


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("scan", {"--state", "--ingress", "--table"}),
        ("backfill", {"--table", "--timeout"}),
        ("reconcile", {"--table"}),
    ],
)
def test_a_job_is_pinned_and_carries_the_package(
    pipeline: Synthesised, name: str, own: set[str]
) -> None:
    job = pipeline.properties("AWS::Glue::Job", Name=f"Bucketcast-{name}")
    assert (job["GlueVersion"], job["WorkerType"], job["NumberOfWorkers"]) == ("6.0", "G.1X", 10)
    assert (job["Command"]["Name"], job["Command"]["PythonVersion"]) == ("glueetl", "3")
    assert (job["Timeout"], job["MaxRetries"]) == (480, 0)
    # S3 delivers an account's reports at about the same time: a run beyond the limit waits.
    assert job["JobRunQueuingEnabled"] is True
    arguments = job["DefaultArguments"]
    assert own == arguments.keys() & {f"--{option}" for option in DEPLOYED}
    assert arguments["--job-bookmark-option"] == "job-bookmark-disable"
    assert arguments["--enable-auto-scaling"] == "true"
    assert "spark.sql.session.timeZone=UTC" in _join(arguments["--conf"])
    assert "spark.default.parallelism=36" in _join(arguments["--conf"])  # 9 workers of 4 cores
    assert "--extra-py-files" in arguments
    assert "--additional-python-modules" not in arguments  # deprecated, and needs a network


def test_reconcile_alone_reads_the_secrets_of_dynamic_mirrors(make: Make) -> None:
    made = make(TYPICAL.replace('kinds = "off"', 'kinds = "redis,webhook"') + PIPELINE)
    secrets = [
        _join(resource)
        for statement in made.allowing("Pipelinereconcile", "secretsmanager:GetSecretValue")
        for resource in listed(statement["Resource"])
    ]
    dynamic = [name for name in secrets if "/dynamic/" in name]
    assert dynamic == ["arn:?:secretsmanager:?:?:secret:bucketcast/Bucketcast/dynamic/redis-*"]
    assert not made.allowing("Pipelinebackfill", "secretsmanager:GetSecretValue")


def right(call: str) -> str:
    """Return IAM's action for a call, by boto3's name of it."""
    parameters = {"Bucket": "b", "Delete": {"Objects": [{}]}}
    (need,) = Account("", "").needs(Call("", "s3", OPERATIONS[call], parameters))
    return need.action


def test_each_s3_call_is_allowed(pipeline: Synthesised) -> None:
    folders = {"scan": "scanner", "backfill": "backfill", "reconcile": "reconcile"}
    for job, folder in folders.items():
        called = {
            name
            for file in (ROOT / "glue_jobs").rglob("*.py")
            if file.parent.name == folder or file.parent.name not in folders.values()
            for name in _called(file.read_text(), "s3")
        }
        assert {"get_bucket_versioning", "list_object_versions", "put_object"} <= called
        missing = {name for name in called if not pipeline.allowing(f"Pipeline{job}", right(name))}
        assert not missing


def test_all_in_the_bucket_expires(pipeline: Synthesised) -> None:
    (bucket,) = [
        resource
        for logical_id, resource in pipeline.of_type("AWS::S3::Bucket").items()
        if logical_id.startswith("Pipeline")
    ]
    uploads, *rules = bucket["Properties"]["LifecycleConfiguration"]["Rules"]
    assert uploads["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 7}
    assert "Prefix" not in uploads
    days = {rule["Prefix"]: rule["ExpirationInDays"] for rule in rules}
    assert days == {"runs/": 30, "alerts/": 400}
    written = {
        _join(resource).partition("/")[2].partition("/")[0]
        for job in ("scan", "backfill", "reconcile")
        for statement in pipeline.allowing(f"Pipeline{job}", "s3:PutObject")
        for resource in listed(statement["Resource"])
    }
    assert {f"{folder}/" for folder in written} == days.keys()
    assert "BucketEncryption" in bucket["Properties"]


def test_a_schedule_starts_the_job_with_the_tables_options(pipeline: Synthesised) -> None:
    schedule = pipeline.properties("AWS::Scheduler::Schedule")
    assert schedule["ScheduleExpression"] == "rate(1 day)"
    target = schedule["Target"]
    assert json.dumps(target["Arn"]).count(":scheduler:::aws-sdk:glue:startJobRun") == 1
    job_input = json.loads(_join(target["Input"]))
    assert job_input["JobName"] == "Bucketcast-scan"
    assert job_input["JobRunQueuingEnabled"] is True
    run = job_input["Arguments"].pop("--run")
    assert run == "s3://?/runs/scan/uploads/<aws.scheduler.execution-id>"
    assert job_input["Arguments"] == {"--bucket": "uploads", "--alert_excess_versions": "500"}


def test_an_inventory_report_starts_the_scan_that_reads_it(pipeline: Synthesised) -> None:
    rule = pipeline.properties(
        "AWS::Events::Rule", Description="Inventory reports in inventories/archive/weekly"
    )
    detail = rule["EventPattern"]["detail"]
    assert detail["bucket"] == {"name": ["inventories"]}
    assert detail["object"] == {"key": [{"wildcard": "archive/weekly/*/manifest.checksum"}]}
    (target,) = rule["Targets"]
    payload = target["InputTransformer"]["InputTemplate"]
    for name, path in target["InputTransformer"]["InputPathsMap"].items():
        assert path.startswith("$.")
        payload = payload.replace(f"<{name}>", json.dumps(name))  # EventBridge quotes strings
    assert json.loads(payload) == {
        "id": "id",
        "bucket": "bucket",
        "key": "key",
        "arguments": {"--bucket": "archive", "--source": "s3://inventories/archive/weekly"},
    }
    assert target["InputTransformer"]["InputPathsMap"] == {
        "id": "$.id",
        "bucket": "$.detail.bucket.name",
        "key": "$.detail.object.key",
    }
    notification = pipeline.properties("Custom::BucketNotification", Bucket="inventories")
    assert notification["Via"] == "eventbridge"


def test_a_variables_name_in_a_prefix_is_not_replaced(make: Make) -> None:
    """It replaces a name between < and >, also within a string."""
    toml = '[pipeline]\n[scan.archive]\non = "inventory"\nsource = "s3://inventories/archive"\n'
    synthesised = make(toml + 'prefix = "a<id>/"\n')
    rule = synthesised.properties(
        "AWS::Events::Rule", Description="Inventory reports in inventories/archive"
    )
    payload = rule["Targets"][0]["InputTransformer"]["InputTemplate"]
    assert payload.count("<") == payload.count("<id>") + 2 == 3
    filled = payload.replace("<id>", "1").replace("<bucket>", "2").replace("<key>", "3")
    assert json.loads(filled)["arguments"]["--prefix"] == "a<id>/"


def test_one_permission_is_for_the_rules_of_all_scans(make: Make) -> None:
    """A function's policy has 20 KB, and each rule of its own would take 400 bytes of it."""
    scans = "".join(
        f'[scan.bucket{number}]\non = "inventory"\nsource = "s3://reports/bucket{number}"\n'
        for number in range(3)
    )
    synthesised = make(f"[pipeline]\n{scans}")
    (properties,) = [
        permission["Properties"]
        for permission in synthesised.of_type("AWS::Lambda::Permission").values()
        if "ScanStart" in json.dumps(permission["Properties"]["FunctionName"])
    ]
    assert (properties["Action"], properties["Principal"]) == (
        "lambda:InvokeFunction",
        "events.amazonaws.com",
    )
    assert properties["SourceArn"]["Fn::Join"][1][-1] == ":rule/Bucketcast-report-*"
    rules = synthesised.event_rules().values()
    names = {rule["Properties"]["Name"] for rule in rules}
    assert names == {"Bucketcast-runs", *(f"Bucketcast-report-bucket{n}" for n in range(3))}


def test_jobs_run_in_the_configured_vpc(make: Make) -> None:
    network = """
[pipeline]
glue_version = "5.1"
worker_type = "R.8X"
workers = 3
execution_class = "flex"
metadata = "on"
subnet = "subnet-0123456789abcdef0"
availability_zone = "us-east-1a"
security_groups = ["sg-0123456789abcdef0"]
"""
    synthesised = make(TYPICAL + network)
    ((logical_id, connection),) = synthesised.of_type("AWS::Glue::Connection").items()
    settings = connection["Properties"]["ConnectionInput"]
    assert settings["PhysicalConnectionRequirements"]["SubnetId"] == "subnet-0123456789abcdef0"
    job = synthesised.properties("AWS::Glue::Job", Name="Bucketcast-backfill")
    assert job["Connections"] == {"Connections": [{"Ref": logical_id}]}
    assert settings["Name"] == "Bucketcast-pipeline"
    assert (job["GlueVersion"], job["ExecutionClass"]) == ("5.1", "FLEX")
    conf = json.dumps(job["DefaultArguments"]["--conf"])
    assert "spark.sql.catalog.s3md.glue.id" in conf
    assert "spark.default.parallelism=64" in conf
    assert job["DefaultArguments"]["--datalake-formats"] == "iceberg"


def test_the_output_names_the_bucket_and_the_jobs(pipeline: Synthesised) -> None:
    (output,) = [
        value for key, value in pipeline.json["Outputs"].items() if key.startswith("Pipeline")
    ]
    assert json.loads(_join(output["Value"])) == {
        "bucket": "?",
        "jobs": {job: f"Bucketcast-{job}" for job in ("scan", "backfill", "reconcile")},
        "scans": {
            "archive": {"source": "s3://inventories/archive/weekly"},
            "uploads": {"alert_excess_versions": "500"},
        },
    }


def _called(source: str, service: str) -> set[str]:
    """Return the calls of `client("s3").NAME(…)`, and the calls that a paginator makes."""
    calls = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(ast.Call(ast.Name("client"), [ast.Constant(value)]), name) if (
                value == service and name != "get_paginator"
            ):
                calls.add(name)
            case ast.Call(ast.Attribute(_, "get_paginator"), [ast.Constant(value)]):
                calls.add(str(value))
    return calls


def _join(value: Any) -> str:
    """Return a joined string, with ? in place of values that only the deploy knows."""
    if isinstance(value, str):
        return value
    return "".join(part if isinstance(part, str) else "?" for part in value["Fn::Join"][1])
