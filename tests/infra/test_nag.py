"""cdk-nag's AwsSolutions pack finds nothing that is not answered with a reason."""

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Validations
from aws_cdk import aws_sqs as sqs
from cdk_nag import AwsSolutionsChecks

from bucketcast.config import load
from stacks.bucketcast import Bucketcast
from tests.infra.conftest import CONTEXT, ROOT, TYPICAL

IN_VPC = """
[notify_webhook.inside]
endpoint = "https://example.org/hook"
[notify_webhook.inside.deploy]
vpc = "vpc-0123456789abcdef0"
subnets = ["subnet-0123456789abcdef0"]
"""
MORE = """
[alarms]
email = "ops@example.org"
[bucket.reads]
access_events = "on"
[entry.berlin]
token = "secret:entry"
dialect = "minio"
buckets = ["photos"]
[pipeline]
metadata = "on"
subnet = "subnet-0123456789abcdef0"
availability_zone = "us-east-1a"
security_groups = ["sg-0123456789abcdef0"]
[scan.uploads]
schedule = "rate(1 day)"
[scan.archive]
source = "s3://inventories/archive/weekly"
on = "inventory"
"""


@pytest.mark.parametrize("nested", ["off", "on"])
def test_the_stack_is_clean(tmp_path: Path, nested: str) -> None:
    found = _findings(_app(tmp_path, f'nested = "{nested}"\n'), tmp_path)
    assert not [(each["ruleName"], each["violatingConstructs"]) for each in found]


def test_the_check_is_awake(tmp_path: Path) -> None:
    app = _app(tmp_path)
    sqs.Queue(app.node.find_child("Bucketcast"), "Bare")  # type: ignore[arg-type] # a stack
    found = {violation["ruleName"] for violation in _findings(app, tmp_path)}
    assert found == {"AwsSolutions-SQS3", "AwsSolutions-SQS4"}


def _app(folder: Path, top: str = "") -> App:
    config = folder / "bucketcast.toml"
    typical = TYPICAL.replace('kinds = "off"', 'kinds = "webhook"')
    config.write_text(top + 'object_facts = "on"\ncontrol = "on"\n' + typical + IN_VPC + MORE)
    app = App(context=CONTEXT, outdir=str(folder / "out"))
    Bucketcast(app, "Bucketcast", config=load(config, {}, local=False), root=ROOT)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    return app


def _findings(app: App, folder: Path) -> list[dict[str, Any]]:
    try:
        app.synth()
    except RuntimeError as error:
        if "ValidationFailed" not in str(error):
            raise
    report = folder / "out" / "validation-report.json"
    if not report.exists():
        return []
    plugins = json.loads(report.read_text())["pluginReports"]
    return [violation for plugin in plugins for violation in plugin["violations"]]
