"""A first deploy that fails leaves nothing behind that would block the next."""

import pytest

from tests.infra.conftest import TYPICAL, Make

WHOLE = (
    TYPICAL
    + """
[alarms]
email = "ops@example.org"
[bucket.reads]
access_events = "on"
[pipeline]
[scan.uploads]
schedule = "rate(1 day)"
[scan.archive]
source = "s3://inventories/archive/weekly"
on = "inventory"
"""
)


def test_what_outlives_its_stack_does_not_outlive_the_roll_back_of_its_making(make: Make) -> None:
    """`Retain` keeps it there too: its name is taken, or its owner is unknown."""
    found = make(WHOLE).json["Resources"]
    kept = {
        name: (each["Type"], each["DeletionPolicy"])
        for name, each in found.items()
        # A queue's policy goes with the queue.
        if each.get("DeletionPolicy", "Delete") != "Delete"
        and each["Type"] != "AWS::SQS::QueuePolicy"
    }
    assert {policy for _, policy in kept.values()} == {"RetainExceptOnCreate"}
    assert {kind for kind, _ in kept.values()} == {
        "AWS::DynamoDB::Table",
        "AWS::S3::Bucket",
        "AWS::SQS::Queue",
    }
    # One that is replaced has been used.
    assert {found[name]["UpdateReplacePolicy"] for name in kept} == {"Retain"}


@pytest.mark.parametrize("kind", ["AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SQS::Queue"])
def test_all_stateful_resources_outlive_the_stack(make: Make, kind: str) -> None:
    # The logs have the reason of failed runs too.
    found = [
        each
        for each in make(WHOLE).of_type(kind).values()
        if each["Properties"].get("QueueName") != "Bucketcast-pipeline-dead"
    ]
    assert {each["DeletionPolicy"] for each in found} == {"RetainExceptOnCreate"}
