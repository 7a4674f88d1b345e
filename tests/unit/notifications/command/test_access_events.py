"""Access events: what CloudTrail logs follows the rules, and what it costs is said."""

import json
from unittest.mock import Mock

import pytest

from bucketcast.rules import Rule
from bucketcast.state.rules import Rules
from tests.unit.conftest import Run, Watch
from tests.unit.moto_aws import (
    TABLE,
    MotoAws,
    event_patterns,
    logged_calls,
    make_trail,
    notify,
    refusal,
    select,
    selectors,
)
from tests.unit.notifications.command.test_attach import POLICY, admit

WEBHOOK = "arn:minio:sqs::primary:webhook"
ON = ("bucket", "attach", "uploads", "--access-events", "--trail", "all")
NAME = "Bucketcast-attached-access_uploads"


@pytest.fixture(autouse=True)
def trails(aws: MotoAws, watch: Watch) -> Mock:
    """Two trails, and every write of their selectors."""
    aws.sqs.create_queue(QueueName="Bucketcast-ingress")
    admit(aws, POLICY)
    notify("uploads")
    for name in ("all", "ours"):
        make_trail(name)
    return watch(aws.cloudtrail, "put_event_selectors")


def test_only_what_a_rule_asks_for_is_logged_and_its_price_is_reported(run: Run) -> None:
    run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Get")
    ran = run(*ON)
    assert ran.code == 0
    assert "let the trail all log GetObject ($1.00 per million" in ran.out
    assert logged_calls("all") == ["GetObject"]
    detail = event_patterns()[NAME]["detail"]
    assert detail["requestParameters"] == {"bucketName": ["uploads"]}


def test_the_trail_follows_the_rules(run: Run, trails: Mock) -> None:
    run(*ON)
    assert logged_calls("all") == []
    ran = run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Head")
    assert "now logs HeadObject for uploads ($1.00 per million" in ran.err
    assert logged_calls("all") == ["HeadObject"]
    before = trails.call_count
    run("event", "add", "uploads", WEBHOOK, "--event", "delete")
    assert trails.call_count == before
    ran = run("event", "rm", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Head")
    assert "now logs nothing for uploads" in ran.err
    assert logged_calls("all") == []


def test_status_shows_what_is_logged(run: Run, aws: MotoAws) -> None:
    run(*ON)
    assert logged_calls("all") == []
    assert "on: no rule needs any, by all" in run("bucket", "ls").out
    # Not by the command line, which would have changed the trail.
    rule = Rule(bucket="uploads", arn=WEBHOOK, events=("s3:ObjectAccessed:Get",))
    Rules(TABLE, aws.dynamodb).add(rule)
    (seen,) = run("bucket", "ls", "--json").document["buckets"]
    assert seen["access_events"] == {
        "trail": "all",
        "asked": ["GetObject"],
        "managed": True,
        "logged": [],
        "as_asked": False,
        "more_than_asked": False,
    }
    assert "attach again" in run("bucket", "ls").out
    run(*ON)
    assert "on: GetObject, by all" in run("bucket", "ls").out


def test_a_trail_that_logs_more_than_required_is_reported(run: Run) -> None:
    taken = {"Field": "resources.ARN", "StartsWith": [str(number) for number in range(496)]}
    theirs = {"Name": "theirs", "FieldSelectors": [taken]}
    select("all", AdvancedEventSelectors=[theirs])
    run(*ON)
    for prefix in ("in/", "out/"):
        get = ("--event", "s3:ObjectAccessed:Get", "--prefix", prefix)
        ran = run("event", "add", "uploads", WEBHOOK, *get)
        assert ("more than the rules ask for: a trail takes 500 values" in ran.err) == (
            prefix == "out/"
        )
    assert "more than the rules ask for" in run("bucket", "ls").out
    (seen,) = run("bucket", "ls", "--json").document["buckets"]
    assert seen["access_events"]["more_than_asked"] is True


def test_detach_logs_nothing_more_and_leaves_the_rest(run: Run) -> None:
    run("event", "add", "uploads", WEBHOOK, "--event", "get")
    run(*ON)
    assert run("bucket", "detach", "uploads").code == 0
    assert logged_calls("all") == []
    assert len(selectors("all")) == 1
    assert event_patterns() == {}
    run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Head")
    assert logged_calls("all") == []


def test_the_deployments_own_trail_needs_no_name(run: Run, aws: MotoAws) -> None:
    run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Get")
    ran = run("bucket", "attach", "uploads", "--access-events")
    assert ran.code == 1
    assert "name one of CloudTrail's with --trail" in ran.err
    aws.outputs["AccessTrail"] = "ours"
    assert run("bucket", "attach", "uploads", "--access-events").code == 0
    assert logged_calls("ours") == ["GetObject"]


def test_a_bucket_of_the_deploy_follows_its_rules_too(run: Run, aws: MotoAws) -> None:
    aws.outputs["AccessTrail"] = "ours"
    attached = {"bucket": "uploads", "via": "sqs", "access_events": "on"}
    aws.outputs["Attachmentsuploads"] = json.dumps(attached)
    run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Get")
    assert logged_calls("ours") == ["GetObject"]


def test_unusable_trail_leaves_no_changes(run: Run) -> None:
    select("all", EventSelectors=[{"DataResources": [{"Type": "x"}]}])
    run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Get")
    ran = run(*ON)
    assert ran.code == 1
    assert "basic event selectors" in ran.err
    assert event_patterns() == {}
    (seen,) = run("bucket", "ls", "--json").document["buckets"]
    assert seen["access_events"] is None


def test_a_rule_is_active_also_where_the_trail_cannot_be_changed(
    run: Run, aws: MotoAws, watch: Watch
) -> None:
    run(*ON)
    read = watch(aws.cloudtrail, "get_event_selectors")
    read.side_effect = refusal("AccessDenied", "GetEventSelectors")
    ran = run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Get", "--json")
    assert ran.code == 0
    assert "the trail could not be updated" in ran.document["note"]
    assert len(run("event", "ls", "uploads", "--json").document["rules"]) == 1
    assert "not allowed: GetEventSelectors" in run("bucket", "ls").out
    read.side_effect = None
    assert logged_calls("all") == []


def test_a_rule_for_unavailable_events_has_the_hint(run: Run, trails: Mock) -> None:
    ran = run("event", "add", "uploads", WEBHOOK, "--event", "get")
    assert "attach uploads --access-events" in ran.err
    assert "attach uploads --access" not in run("event", "add", "uploads", WEBHOOK).err
    assert not trails.called


def test_default_events_are_refused_with_access_events(run: Run, aws: MotoAws) -> None:
    """The default asks for reads too, which S3 notifies nobody of."""
    run(*ON)
    ran = run("event", "add", "uploads", WEBHOOK)
    assert ran.code == 2
    assert "--event: missing. Access events of uploads are enabled" in ran.err
    assert "$1.00 per million" in ran.err
    assert Rules(TABLE, aws.dynamodb).of("uploads") == []
    assert logged_calls("all") == []
    assert run("event", "add", "uploads", WEBHOOK, "--event", "put,delete,get").code == 0
    assert "GetObject" in logged_calls("all")


def test_a_trail_is_named_for_access_events_only(run: Run, trails: Mock) -> None:
    assert run("bucket", "attach", "uploads", "--trail", "all").code == 2
    assert not trails.called


def test_the_owner_of_an_organizations_trail_gets_the_selectors_to_add(
    run: Run, aws: MotoAws, trails: Mock
) -> None:
    aws.outputs |= {"AccessTrail": "all", "TrailSelectors": "off"}
    ran = run("bucket", "attach", "uploads", "--access-events")
    assert "the trail all has to log the calls that rules need, which only its owner" in ran.out
    assert NAME in event_patterns()
    ran = run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Get")
    assert "note: the trail all has to log GetObject, which only its owner can select" in ran.err
    assert "on, if its owner selected them: GetObject, by all" in run("bucket", "ls").out
    (seen,) = run("bucket", "ls", "--json").document["buckets"]
    assert seen["access_events"] == {
        "trail": "all",
        "asked": ["GetObject"],
        "managed": False,
        "logged": [],
        "as_asked": None,
        "more_than_asked": False,
    }
    assert run("bucket", "detach", "uploads").code == 0
    assert NAME not in event_patterns()
    assert not trails.called
