"""A first deploy that fails leaves nothing behind that would block the next."""

from tests.infra.conftest import PIPELINE, TYPICAL, Make

WHOLE = f"""{TYPICAL}
[alarms]
email = "ops@example.org"
[bucket.reads]
access_events = ["get"]
{PIPELINE}"""


def test_retained_resources_are_removed_by_a_rollback(make: Make) -> None:
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
    # The logs have the reason of failed runs too.
    assert kept.keys() == {
        name
        for name, each in found.items()
        if each["Type"] in ("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SQS::Queue")
        and each["Properties"].get("QueueName") != "Bucketcast-pipeline-dead"
    }
    # One that is replaced has been used.
    assert {found[name]["UpdateReplacePolicy"] for name in kept} == {"Retain"}
