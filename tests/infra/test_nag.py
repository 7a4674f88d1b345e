"""cdk-nag's AwsSolutions pack and cfn-lint find nothing that is not answered with a reason."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from aws_cdk import App, Stack, Validations
from aws_cdk import aws_sqs as sqs
from cdk_nag import AwsSolutionsChecks

from bucketcast_cdk import Bucketcast
from tests.infra.conftest import CHECKED, ROOT, TYPICAL

IN_VPC = """
[notify_webhook.inside]
endpoint = "https://example.org/hook"
[notify_webhook.inside.deploy]
vpc = "vpc-0123456789abcdef0"
subnets = ["subnet-0123456789abcdef0"]
"""
MORE = """
[notify_elasticsearch.domain]
url = "https://search-events.us-east-1.es.amazonaws.com"
index = "events"
auth = "iam"
iam_resource = "arn:aws:es:us-east-1:111122223333:domain/events"
[alarms]
email = "ops@example.org"
[bucket.reads]
access_events = ["get"]
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

NO_FUNCTION_URLS = "E3006 Resource type 'AWS::Lambda::Url' does not exist in 'us-gov-west-1'"
"""There a gateway's URL cannot be deployed, as docs/deploy.md says."""


def test_stack_has_no_findings(tmp_path: Path) -> None:
    found = _findings(_app(tmp_path), tmp_path)
    assert not [(each["ruleName"], each["violatingConstructs"]) for each in found]
    assert _linted(tmp_path / "out", "us-east-1", "cn-north-1", "us-gov-west-1") == {
        NO_FUNCTION_URLS
    }


def test_check_reports_a_finding(tmp_path: Path) -> None:
    app = App(context=CHECKED, outdir=str(tmp_path / "out"))
    sqs.Queue(Stack(app, "Bare"), "Bare")
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    rules = {violation["ruleName"] for violation in _findings(app, tmp_path)}
    assert rules == {"AwsSolutions-SQS3", "AwsSolutions-SQS4"}


def _linted(folder: Path, *regions: str) -> set[str]:
    """Return what cfn-lint finds, with the checkout's settings."""
    words = ["--format", "json", "--regions", *regions, "--"]
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("cfn-lint")),
            *words,
            *map(str, folder.glob("*.template.json")),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=1_200,
    )
    return {f"{each['Rule']['Id']} {each['Message']}" for each in json.loads(done.stdout)}


def _app(folder: Path) -> App:
    config = folder / "bucketcast.toml"
    typical = TYPICAL.replace('kinds = "off"', 'kinds = "webhook"')
    config.write_text(
        'object_facts = "on"\n[gateway]\nfunction_url = "on"\nlisten_concurrency = 10\n'
        + typical
        + IN_VPC
        + MORE
    )
    app = App(context=CHECKED, outdir=str(folder / "out"))
    Bucketcast(Stack(app, "Bucketcast"), "Default", config=config)
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
