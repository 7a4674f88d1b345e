"""A large configuration is within what AWS allows, counted from its templates."""

import json
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Stack

from bucketcast.rules import trail_selectors
from bucketcast_cdk import Bucketcast, quotas
from tests.infra.conftest import CONTEXT

BUCKETS, TARGETS, SCANS = 100, 50, 60
TOP = """
nested = "on"
control = "on"
[runtime]
kinds = "amqp,kafka,webhook"
[alarms]
email = "ops@example.org"
[pipeline]
"""


def large() -> str:
    """100 buckets by EventBridge, all made and with access events, 50 targets and 60 scans."""
    kinds = (
        ("webhook", 'endpoint = "https://example.org/{0}"'),
        ("redis", 'address = "redis.example.org:6379"\nkey = "b{0}"\nformat = "namespace"'),
    )
    names = [f"uploads-of-customer-{number:03}" for number in range(BUCKETS)]
    tables = [f'[bucket.{name}]\nvia = "eventbridge"\naccess_events = "on"\n' for name in names]
    tables += [
        f"[notify_{kind}.customer-{number:02}]\n{settings.format(number)}\n"
        for number in range(TARGETS)
        for kind, settings in (kinds[number % 2],)
    ]
    tables += [
        f'[scan.{name}]\nschedule = "rate(1 day)"\nalert_excess_versions = 500\n'
        if number % 2
        else f'[scan.{name}]\nsource = "s3://inventories/{name}/weekly"\non = "inventory"\n'
        for number, name in enumerate(names[:SCANS])
    ]
    return TOP + "".join(tables)


Templates = dict[str, dict[str, Any]]


def synthesised(text: str, folder: Path) -> Templates:
    config = folder / "bucketcast.toml"
    config.write_text(text)
    app = App(context=CONTEXT, outdir=str(folder / "out"))
    Bucketcast(Stack(app, "Bucketcast"), "Default", config=config)
    app.synth()
    return quotas.templates(folder / "out")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    return synthesised(large(), tmp_path_factory.mktemp("large"))


def of_type(made: Templates, kind: str) -> list[dict[str, Any]]:
    return [
        each
        for template in made.values()
        for each in template["Resources"].values()
        if each["Type"] == kind
    ]


def test_all_of_it_is_there(made: Templates) -> None:
    functions = {
        each["Properties"]["FunctionName"] for each in of_type(made, "AWS::Lambda::Function")
    }
    assert len([name for name in functions if "-customer-" in name]) == TARGETS
    assert len(of_type(made, "Custom::BucketNotification")) == BUCKETS + 1
    rules = [each["Properties"]["Description"] for each in of_type(made, "AWS::Events::Rule")]
    assert len([text for text in rules if text.startswith("Events of bucket")]) == BUCKETS
    assert len([text for text in rules if text.startswith("Access events of")]) == BUCKETS
    assert len([text for text in rules if text.startswith("Inventory reports")]) == SCANS / 2
    assert len(of_type(made, "AWS::Scheduler::Schedule")) == SCANS / 2


def test_templates_of_an_earlier_synthesis_do_not_count(tmp_path: Path) -> None:
    """CDK empties no folder: those of nested stacks stay when `nested` is switched off."""
    made = synthesised("[bucket.uploads]\n", tmp_path)
    for name in ("Bucketcast.template.json", "Bucketcast.assets.json"):
        text = (tmp_path / "out" / name).read_text()
        (tmp_path / "out" / name.replace("Bucketcast", "Other")).write_text(text)
    earlier = tmp_path / "out" / "BucketcastNestedRules1F9345F7.nested.template.json"
    earlier.write_text('{"Resources": {}}')
    assert quotas.templates(tmp_path / "out") == made
    assert list(made) == ["Bucketcast"]


@pytest.mark.parametrize("what", quotas.LIMITS)
def test_it_is_within_awss_limits(made: Templates, what: str) -> None:
    found = [each for each in quotas.counts(made) if each.what == what]
    assert found, "nothing was counted"
    largest = max(found, key=lambda each: each.found)
    assert largest.found <= quotas.LIMITS[what].most, largest


def attached(buckets: int) -> Templates:
    one = {"Type": "Custom::BucketNotification", "Properties": {"Trail": "arn"}}
    return {"Bucketcast": {"Resources": {str(number): one for number in range(buckets)}}}


def test_buckets_with_access_events_share_the_values_of_a_trail() -> None:
    most = 500 - trail_selectors.least_values(0) - (trail_selectors.least_values(1) - 1)
    assert quotas.validation_errors(attached(most)) == []
    (wrong,) = quotas.validation_errors(attached(most + 1))
    assert "501 values in a trail's selectors" in str(wrong)


def test_what_holds_something_is_in_the_first_stack(made: Templates) -> None:
    """A resource that moves to another stack is made anew, and what it holds stays behind."""
    nested = [name for name in made if name != "Bucketcast"]
    assert nested
    for name in nested:
        kinds = {each["Type"] for each in made[name]["Resources"].values()}
        assert not kinds & {
            "AWS::SQS::Queue",
            "AWS::S3::Bucket",
            "AWS::DynamoDB::Table",
            "Custom::BucketNotification",
            "Custom::Targets",
        }


def test_one_statement_lets_all_rules_write(made: Templates) -> None:
    policies = [
        each["Properties"]["PolicyDocument"]["Statement"]
        for each in of_type(made, "AWS::SQS::QueuePolicy")
    ]
    for statements in policies:
        rules = [each for each in statements if "events.amazonaws.com" in json.dumps(each)]
        assert len(rules) <= 1
