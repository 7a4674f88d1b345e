"""Access events: the trail, its log bucket, and the path of its events to the ingress queue."""

import json
from typing import Any

import pytest

from bucketcast.config.trail import selectors
from tests.infra.conftest import Make, Synthesised

ON = '[bucket.uploads]\naccess_events = ["get", "head", "bucket-removal"]\n[bucket.other]\n'
EVENTS = ["s3:ObjectAccessed:Get", "s3:ObjectAccessed:Head", "s3:BucketRemoved:*"]


@pytest.fixture(scope="module")
def found(make: Make) -> Synthesised:
    return make(ON)


def test_stack_without_access_events_has_no_trail(make: Make) -> None:
    made = make('[bucket.uploads]\nvia = "sqs"\naccess_events = []')
    assert made.of_type("AWS::CloudTrail::Trail") == {}
    assert made.event_rules() == {}


def test_trail_logs_the_calls_that_the_bucket_names(found: Synthesised) -> None:
    properties = found.properties("AWS::CloudTrail::Trail")
    assert properties["IsLogging"] is True
    assert "EventSelectors" not in properties
    wanted = json.dumps(selectors({"uploads": tuple(EVENTS)}, "PARTITION"))
    made = json.dumps(properties["AdvancedEventSelectors"])
    joined = {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, ":s3:::uploads/"]]}
    assert made == wanted.replace('"arn:PARTITION:s3:::uploads/"', json.dumps(joined))


def test_trail_of_another_owner_is_left_alone(make: Make) -> None:
    made = make(f"{ON}[trail]\ncreate = false\n")
    assert made.of_type("AWS::CloudTrail::Trail") == {}
    assert len(made.of_type("AWS::S3::Bucket")) == 2
    assert len(made.event_rules()) == 1


def test_log_bucket_of_the_trail_expires_objects(found: Synthesised) -> None:
    buckets = found.properties_of("AWS::S3::Bucket")
    (log,) = [each for each in buckets if "BucketName" not in each]
    (rule,) = log["LifecycleConfiguration"]["Rules"]
    assert (rule["ExpirationInDays"], rule["Status"]) == (7, "Enabled")


def test_access_rule_matches_successful_calls_of_its_bucket(found: Synthesised) -> None:
    (rule,) = [each["Properties"] for each in found.event_rules().values()]
    pattern = rule["EventPattern"]
    assert pattern["detail-type"] == ["AWS API Call via CloudTrail"]
    assert pattern["detail"]["requestParameters"] == {"bucketName": ["uploads"]}
    assert pattern["detail"]["errorCode"] == [{"exists": False}]
    assert pattern["detail"]["eventName"] == ["GetObject", "HeadObject", "DeleteBucket"]
    # Reads of objects are data events: only reads that are management events need more than this.
    assert rule.get("State", "ENABLED") == "ENABLED"


def logged(stack: Synthesised) -> dict[str, list[str]]:
    """Return the access events of the outputs, by bucket."""
    outputs: dict[str, Any] = stack.json["Outputs"]
    made = [
        json.loads(each["Value"]) for key, each in outputs.items() if key.startswith("Attachments")
    ]
    return {each["bucket"]: each["access_events"] for each in made}


def test_outputs_name_the_events(found: Synthesised) -> None:
    assert logged(found) == {"uploads": EVENTS, "other": []}


def test_local_stack_has_the_access_rule_and_no_trail(make: Make) -> None:
    found = make(ON, local=True)
    assert logged(found) == {"uploads": [], "other": []}
    assert found.of_type("AWS::CloudTrail::Trail") == {}
    assert len(found.event_rules()) == 1
