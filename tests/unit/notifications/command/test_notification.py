"""`bucketcast notification`."""

import pytest

from bucketcast.notifications import topic_configuration as notification
from bucketcast.notifications.topic_configuration import Notification
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from tests.unit.conftest import Run, cells
from tests.unit.moto_aws import REGION, WEBHOOK, MotoAws

ARN = f"arn:aws:sns:{REGION}:acme:photos"
ONE = Notification(id="one", topic=ARN, key=(("suffix", ".jpg"),), tags=(("k", "v"),))
TWO = Notification(id="two", topic=ARN)
HOOK = Rule(bucket="uploads", arn=WEBHOOK, events=("s3:ObjectCreated:*",))


@pytest.fixture
def stored(aws: MotoAws) -> Rules:
    aws.rules.add(HOOK)
    for each in (TWO, ONE):
        aws.rules.add(notification.rule("uploads", each))
    return aws.rules


def test_ls_and_get_show_them_in_radosgw_admins_fields(stored: Rules, run: Run) -> None:
    assert stored.of("uploads")
    ran = run("notification", "ls", "--bucket", "uploads", "--json")
    assert [each["Id"] for each in ran.document["notifications"]] == ["one", "two"]
    got = run("notification", "get", "--bucket", "uploads", "--notification-id", "one", "--json")
    assert {key: got.document[key] for key in ("TopicArn", "Id", "Events", "Filter")} == {
        "TopicArn": ARN,
        "Id": "one",
        "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"],
        "Filter": {
            "S3Key": {"FilterRules": [{"Name": "suffix", "Value": ".jpg"}]},
            "S3Tags": {"FilterRules": [{"Name": "k", "Value": "v"}]},
        },
    }
    table = cells(run("notification", "ls", "--bucket", "uploads").out)
    assert table[1][:2] == ["one", ARN]
    assert table[1][-1] == "suffix='.jpg' tag k='v'"


def test_get_of_a_missing_notification_fails(stored: Rules, run: Run) -> None:
    assert stored.of("uploads")
    ran = run("notification", "get", "--bucket", "uploads", "--notification-id", "three")
    assert "has no notification three" in ran.said(1)
    assert run("notification", "ls").code == 2


def test_rm_keeps_the_rules_of_targets(stored: Rules, run: Run) -> None:
    for _ in range(2):
        assert (
            run("notification", "rm", "--bucket", "uploads", "--notification-id", "one").code == 0
        )
    assert {rule.name for rule in stored.of("uploads")} == {"", "two"}
    assert run("notification", "rm", "--bucket", "uploads").code == 0
    assert stored.of("uploads") == [HOOK]
