"""`bucketcast notification`, and `bucketcast import ceph`, which makes them."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bucketcast.destination import TopicArn
from bucketcast.notifications import topic_configuration as notification
from bucketcast.notifications.topic_configuration import Notification
from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from bucketcast.topics.aws.table import TopicTable
from bucketcast.users.aws import Users
from tests.unit.conftest import Run, cells
from tests.unit.dynamic_targets.account import DYNAMIC
from tests.unit.moto_aws import REGION, TABLE, MotoAws

ARN = f"arn:aws:sns:{REGION}:acme:photos"
ONE = Notification(id="one", topic=ARN, key=(("suffix", ".jpg"),), tags=(("k", "v"),))
TWO = Notification(id="two", topic=ARN)
HOOK = Rule(bucket="uploads", arn="arn:minio:sqs::primary:webhook", events=("s3:ObjectCreated:*",))


@pytest.fixture
def stored(aws: MotoAws) -> Rules:
    rules = Rules(TABLE, aws.dynamodb)
    rules.add(HOOK)
    for each in (TWO, ONE):
        rules.add(notification.rule("uploads", each))
    return rules


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
    assert (ran.code, "has no notification three" in ran.err) == (1, True)
    assert run("notification", "ls").code == 2


def test_rm_keeps_the_rules_of_targets(stored: Rules, run: Run) -> None:
    for _ in range(2):
        assert (
            run("notification", "rm", "--bucket", "uploads", "--notification-id", "one").code == 0
        )
    assert {rule.name for rule in stored.of("uploads")} == {"", "two"}
    assert run("notification", "rm", "--bucket", "uploads").code == 0
    assert stored.of("uploads") == [HOOK]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    topic: dict[str, Any] = {
        "owner": "acme$ann",
        "name": "photos",
        "arn": "arn:aws:sns:default:acme:photos",
        "dest": {"push_endpoint": "", "push_endpoint_args": "", "persistent": False},
        "opaqueData": "me",
    }
    expected = {"TopicArn": topic["arn"], "Id": "one", "Events": [], "Filter": {}}
    documents = {"topics.json": [topic], "uploads.json": {"notifications": [expected]}}
    for name, document in documents.items():
        (tmp_path / name).write_text(json.dumps(document))
    return [str(tmp_path / name) for name in documents]


def test_import_prints_what_it_would_create_and_creates_it(
    aws: MotoAws, run: Run, files: list[str]
) -> None:
    aws.sqs.create_queue(QueueName="Bucketcast-ingress")
    aws.outputs["Attachments0"] = json.dumps({"bucket": "uploads", "via": "sqs"})
    aws.outputs["DynamicTargets0"] = msgspec.json.encode(DYNAMIC).decode()
    words = ("import", "ceph", *files, "--bucket", "uploads")
    ran = run(*words, "--dry-run")
    assert ran.code == 0, ran.err
    assert "Would create notification one of uploads" in ran.out
    assert TopicTable(TABLE, aws.dynamodb).topic(TopicArn("", "acme", "photos")) is None
    ran = run(*words)
    assert "is for administrators only: there is no user ann of tenant 'acme'" in ran.err
    run("user", "add", "ann", "--tenant", "acme")
    for _ in range(2):
        ran = run(*words)
        assert ran.code == 0, ran.err
        assert "administrators" not in ran.err
    made = TopicTable(TABLE, aws.dynamodb).topic(TopicArn("", "acme", "photos"))
    (ann,) = Users("Bucketcast", TABLE, aws.dynamodb, aws.secretsmanager).all()
    assert made
    assert made.owner_id == ann.id
    assert (made.arn, made.owner, made.opaque_data) == (ARN, "ann", "me")
    (rule,) = Rules(TABLE, aws.dynamodb).of("uploads")
    assert notification.notification(rule) == Notification(id="one", topic=ARN)


def test_unsupported_topics_are_listed_and_none_is_created(
    aws: MotoAws, run: Run, tmp_path: Path
) -> None:
    aws.outputs["DynamicTargets0"] = msgspec.json.encode(DYNAMIC).decode()

    def topic(name: str, endpoint: str) -> dict[str, Any]:
        dest = {"push_endpoint": endpoint, "push_endpoint_args": "", "persistent": False}
        return {"owner": "ann", "name": name, "arn": f"arn:aws:sns:x::{name}", "dest": dest}

    logins = [topic(f"login{number}", f"kafka://u:hunter2@b{number}") for number in (1, 2)]
    file = tmp_path / "topics.json"
    file.write_text(json.dumps([topic("open", ""), *logins]))
    ran = run("import", "ceph", str(file))
    assert ran.code == 1
    for number in (1, 2):
        assert f"arn:aws:sns:{REGION}::login{number}: use-ssl: found false beside a" in ran.err
    assert "hunter2" not in ran.err
    assert TopicTable(TABLE, aws.dynamodb).page(None, 9) == ([], "")


def test_notification_of_a_missing_topic_is_refused(run: Run, files: list[str]) -> None:
    ran = run("import", "ceph", files[1], "--bucket", "uploads")
    assert ran.code == 1
    assert "uploads: there is no topic arn:aws:sns:default:acme:photos" in ran.err
