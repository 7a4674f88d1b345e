"""Access events: what CloudTrail logs follows the rules, and what it costs is said."""

import json

import pytest

from bucketcast.aws.rules import Rules
from bucketcast.rules import Rule
from tests.unit.cli.conftest import Run
from tests.unit.cli.test_attach import POLICY, admit
from tests.unit.fake_aws import FakeAws, refusal
from tests.unit.fake_buckets import Buckets, EventRules, Trails

WEBHOOK = "arn:minio:sqs::primary:webhook"
ON = ("attach", "uploads", "--access-events", "--trail", "all")
NAME = "Bucketcast-attached-access_uploads"


@pytest.fixture
def trails(aws: FakeAws) -> Trails:
    aws.sqs.create_queue(QueueName="Bucketcast-ingress")
    admit(aws, POLICY)
    aws.s3, aws.events = Buckets(uploads={}), EventRules()
    trails = aws.cloudtrail = Trails("all", "ours")
    return trails


def test_only_what_a_rule_asks_for_is_logged_and_its_price_is_said(
    run: Run, aws: FakeAws, trails: Trails
) -> None:
    run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Get")
    ran = run(*ON)
    assert ran.code == 0
    assert "let the trail all log GetObject ($1.00 per million" in ran.out
    assert trails.logged("all") == ["GetObject"]
    detail = aws.events.patterns[NAME]["detail"]
    assert detail["requestParameters"] == {"bucketName": ["uploads"]}


def test_the_trail_follows_the_rules(run: Run, trails: Trails) -> None:
    run(*ON)
    assert trails.logged("all") == []
    ran = run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Head")
    assert "now logs HeadObject for uploads ($1.00 per million" in ran.err
    assert trails.logged("all") == ["HeadObject"]
    before = trails.writes
    run("event", "add", "uploads", WEBHOOK, "--event", "delete")
    assert trails.writes == before
    ran = run("event", "rm", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Head")
    assert "now logs nothing for uploads" in ran.err
    assert trails.logged("all") == []


def test_status_says_what_is_logged(run: Run, aws: FakeAws, trails: Trails) -> None:
    run(*ON)
    assert trails.logged("all") == []
    assert "on: no rule needs any, by all" in run("status").out
    # Not by the command line, which would have told the trail.
    rule = Rule(bucket="uploads", arn=WEBHOOK, events=("s3:ObjectAccessed:Get",))
    Rules("rules", aws.dynamodb).add(rule)
    (seen,) = run("status", "--json").document["buckets"]
    assert seen["access_events"] == {
        "trail": "all",
        "asked": ["GetObject"],
        "managed": True,
        "logged": [],
        "as_asked": False,
        "more_than_asked": False,
    }
    assert "attach again" in run("status").out
    run(*ON)
    assert "on: GetObject, by all" in run("status").out


def test_that_more_is_logged_than_asked_for_is_said(run: Run, trails: Trails) -> None:
    taken = {"Field": "resources.ARN", "StartsWith": [str(number) for number in range(496)]}
    theirs = {"Name": "theirs", "FieldSelectors": [taken]}
    trails.selectors["all"] = {"AdvancedEventSelectors": [theirs]}
    run(*ON)
    for prefix in ("in/", "out/"):
        get = ("--event", "s3:ObjectAccessed:Get", "--prefix", prefix)
        ran = run("event", "add", "uploads", WEBHOOK, *get)
        assert ("more than the rules ask for: a trail takes 500 values" in ran.err) == (
            prefix == "out/"
        )
    assert "more than the rules ask for" in run("status").out
    (seen,) = run("status", "--json").document["buckets"]
    assert seen["access_events"]["more_than_asked"] is True


def test_detach_logs_nothing_more_and_leaves_the_rest(
    run: Run, aws: FakeAws, trails: Trails
) -> None:
    run("event", "add", "uploads", WEBHOOK, "--event", "get")
    run(*ON)
    assert run("detach", "uploads").code == 0
    assert trails.logged("all") == []
    assert len(trails.selectors["all"]["AdvancedEventSelectors"]) == 1
    assert aws.events.patterns == {}
    run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Head")
    assert trails.logged("all") == []


def test_the_deployments_own_trail_needs_no_name(run: Run, aws: FakeAws, trails: Trails) -> None:
    run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Get")
    ran = run("attach", "uploads", "--access-events")
    assert ran.code == 1
    assert "name one of CloudTrail's with --trail" in ran.err
    aws.outputs["AccessTrail"] = "ours"
    assert run("attach", "uploads", "--access-events").code == 0
    assert trails.logged("ours") == ["GetObject"]


def test_a_bucket_of_the_deploy_follows_its_rules_too(
    run: Run, aws: FakeAws, trails: Trails
) -> None:
    aws.outputs["AccessTrail"] = "ours"
    told = {"bucket": "uploads", "via": "sqs", "access_events": "on"}
    aws.outputs["Wiringuploads"] = json.dumps(told)
    run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Get")
    assert trails.logged("ours") == ["GetObject"]


def test_what_cannot_be_shared_leaves_nothing_behind(
    run: Run, aws: FakeAws, trails: Trails
) -> None:
    trails.selectors["all"] = {"EventSelectors": [{"DataResources": [{"Type": "x"}]}]}
    run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Get")
    ran = run(*ON)
    assert ran.code == 1
    assert "basic event selectors" in ran.err
    assert aws.events.patterns == {}
    (seen,) = run("status", "--json").document["buckets"]
    assert seen["access_events"] is None


def test_a_rule_is_in_force_also_where_the_trail_cannot_be_told(
    run: Run, aws: FakeAws, trails: Trails
) -> None:
    run(*ON)

    def denied(**_: object) -> None:
        raise refusal("AccessDenied", "GetEventSelectors")

    aws.cloudtrail.get_event_selectors = denied
    ran = run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Get", "--json")
    assert ran.code == 0
    assert "the trail could not be updated" in ran.document["note"]
    assert len(run("event", "ls", "uploads", "--json").document["rules"]) == 1
    assert "not allowed: GetEventSelectors" in run("status").out
    assert trails.logged("all") == []


def test_a_rule_for_nothing_else_says_how_to_get_them(run: Run, trails: Trails) -> None:
    ran = run("event", "add", "uploads", WEBHOOK, "--event", "get")
    assert "attach uploads --access-events" in ran.err
    assert "attach uploads --access" not in run("event", "add", "uploads", WEBHOOK).err
    assert trails.writes == 0


def test_reads_that_cost_money_are_asked_for_by_name(
    run: Run, aws: FakeAws, trails: Trails
) -> None:
    """The default asks for reads too, which S3 notifies nobody of."""
    run(*ON)
    ran = run("event", "add", "uploads", WEBHOOK)
    assert ran.code == 2
    assert "--event: missing. Access events of uploads are enabled" in ran.err
    assert "$1.00 per million" in ran.err
    assert Rules("rules", aws.dynamodb).of("uploads") == []
    assert trails.logged("all") == []
    assert run("event", "add", "uploads", WEBHOOK, "--event", "put,delete,get").code == 0
    assert "GetObject" in trails.logged("all")


def test_a_trail_is_named_for_access_events_only(run: Run, trails: Trails) -> None:
    assert run("attach", "uploads", "--trail", "all").code == 2
    assert trails.writes == 0


def test_the_owner_of_an_organizations_trail_is_asked_for_what_rules_need(
    run: Run, aws: FakeAws, trails: Trails
) -> None:
    aws.outputs |= {"AccessTrail": "all", "TrailSelectors": "off"}
    ran = run("attach", "uploads", "--access-events")
    assert "the trail all has to log the calls that rules need, which only its owner" in ran.out
    assert NAME in aws.events.patterns
    ran = run("event", "add", "uploads", WEBHOOK, "--event", "s3:ObjectAccessed:Get")
    assert "note: the trail all has to log GetObject, which only its owner can select" in ran.err
    assert "on, if its owner selected them: GetObject, by all" in run("status").out
    (told,) = run("status", "--json").document["buckets"]
    assert told["access_events"] == {
        "trail": "all",
        "asked": ["GetObject"],
        "managed": False,
        "logged": [],
        "as_asked": None,
        "more_than_asked": False,
    }
    assert run("detach", "uploads").code == 0
    assert NAME not in aws.events.patterns
    assert trails.writes == 0
